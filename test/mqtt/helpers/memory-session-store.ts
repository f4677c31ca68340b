/** SessionStore in memory. Every change takes effect at a later turn of the event loop, as a durable one would. */
import { changedMarks } from '../../../src/model/sessions/marks.ts';
import type { MarkChange } from '../../../src/model/sessions/marks.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import type {
  SessionChange,
  SessionStore,
  StoredMessage,
  StoredSession,
} from '../../../src/mqtt/sessions/application.ts';

interface Entry {
  subscriptions: Map<string, 0 | 1 | 2>;
  messages: Map<number, StoredMessage>;
  received: Set<number>;
  acknowledged: string[];
  expirySeconds: number;
  disconnectedAt: number;
  holder?: string;
}

export class MemorySessionStore implements SessionStore {
  readonly entries = new Map<string, Entry>();
  readonly calls: string[] = [];
  /** Set to make every call fail. */
  failure: Error | undefined = undefined;
  /** Set to keep calls from taking effect until it resolves. */
  gate: Promise<void> | undefined = undefined;
  #last: Promise<unknown> = Promise.resolve();

  load(tenant: number, key: string, holderAfter?: (former: string) => string): Promise<StoredSession | undefined> {
    return this.#change(`load ${tenant}/${key}`, () => {
      const entry = this.entries.get(`${tenant}/${key}`);
      if (entry === undefined) return undefined;
      const { subscriptions, messages, received } = entry;
      holderAfter?.(entry.holder ?? '');
      return {
        ...entry,
        subscriptions: new Map(subscriptions),
        messages: [...messages.values()],
        received: [...received],
      };
    });
  }

  save(
    tenant: number,
    key: string,
    { subscriptions, expirySeconds, disconnectedAt, holder, after }: SessionChange,
  ): Promise<void> {
    const change = {
      subscriptions: new Map(subscriptions),
      expirySeconds,
      disconnectedAt,
      ...(holder === undefined ? {} : { holder }),
    };
    return this.#change(`save ${tenant}/${key}`, () => {
      this.#check(tenant, key, holder, after);
      Object.assign(this.#entry(tenant, key), change);
    });
  }

  remove(tenant: number, key: string, { holder, after }: Pick<SessionChange, 'holder' | 'after'> = {}): Promise<void> {
    return this.#change(`remove ${tenant}/${key}`, () => {
      if (this.entries.has(`${tenant}/${key}`)) this.#check(tenant, key, holder, after);
      this.entries.delete(`${tenant}/${key}`);
    });
  }

  addMessage(tenant: number, key: string, message: StoredMessage, ofHolder?: string): Promise<void> {
    return this.#change(`add ${message.id}`, () => {
      this.#check(tenant, key, ofHolder);
      const { id, topic, payload, qos, isReleased, mark } = message;
      this.#entry(tenant, key).messages.set(id, {
        id,
        topic,
        payload: Uint8Array.from(payload),
        qos,
        isReleased,
        mark,
      });
    });
  }

  removeMessage(tenant: number, key: string, id: number, marks?: MarkChange, ofHolder?: string): Promise<void> {
    return this.#change(`drop ${id}`, () => {
      this.#check(tenant, key, ofHolder);
      const entry = this.#entry(tenant, key);
      entry.messages.delete(id);
      if (marks !== undefined) entry.acknowledged = changedMarks(entry.acknowledged, marks);
    });
  }

  release(
    tenant: number,
    key: string,
    packetId: number,
    _shards?: readonly number[],
    ofHolder?: string,
  ): Promise<void> {
    return this.#change(`release ${packetId}`, () => {
      this.#check(tenant, key, ofHolder);
      this.#entry(tenant, key).received.delete(packetId);
    });
  }

  /** What the application does with a QoS 2 message. */
  addReceived(tenant: number, key: string, packetId: number): void {
    this.#entry(tenant, key).received.add(packetId);
  }

  #isOf(tenant: number, key: string, holder: string | undefined, after = holder): boolean {
    const stored = this.entries.get(`${tenant}/${key}`)?.holder;
    return holder === undefined || stored === holder || (stored ?? '') === after;
  }

  #check(tenant: number, key: string, holder: string | undefined, after?: string): void {
    if (!this.#isOf(tenant, key, holder, after)) throw new PlatformError('mqtt/session-elsewhere', { session: key });
  }

  #entry(tenant: number, key: string): Entry {
    const name = `${tenant}/${key}`;
    let entry = this.entries.get(name);
    if (entry === undefined) {
      entry = {
        subscriptions: new Map(),
        messages: new Map(),
        received: new Set(),
        acknowledged: [],
        expirySeconds: 0,
        disconnectedAt: 0,
      };
      this.entries.set(name, entry);
    }
    return entry;
  }

  #change<T>(call: string, effect: () => T): Promise<T> {
    this.calls.push(call);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const { gate } = this;
    const result = this.#last
      .then(() => gate)
      .then(
        () =>
          new Promise<void>((resolve) => {
            setImmediate(resolve);
          }),
      )
      .then(effect);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
