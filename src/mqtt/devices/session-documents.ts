/** Durable MQTT sessions: changes go through the journal to the session's actor, reads come from the documents. */
import type { SessionState } from '../../actors/handlers/sessions/session.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { CommandKind } from '../../model/commands/kinds.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { SessionMessage } from '../../model/commands/sessions.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { MarkChange } from '../../model/sessions/marks.ts';
import type {
  SessionChange,
  SessionReceiptStore,
  SessionStore,
  StoredMessage,
  StoredSession,
} from '../sessions/application.ts';

/** Stored messages of one session that are loaded at most; the session's own bound is far below. */
const MESSAGES_MAX = 100_000;

export class SessionDocuments implements SessionStore {
  readonly #commands: CommandPort;
  readonly #documents: DocumentReader;
  readonly #now: () => number;
  readonly #receipts: SessionReceiptStore | undefined;

  /** @param options.receipts in a cluster. */
  constructor(options: {
    commands: CommandPort;
    documents: DocumentReader;
    now: () => number;
    receipts?: SessionReceiptStore;
  }) {
    this.#commands = options.commands;
    this.#documents = options.documents;
    this.#now = options.now;
    this.#receipts = options.receipts;
  }

  async load(
    tenant: number,
    key: string,
    holderAfter?: (former: string) => string,
  ): Promise<StoredSession | undefined> {
    const text = await this.#documents.get('session', tenant, key);
    if (text === undefined) return undefined;
    const entries = await this.#documents.list('sessionMessage', tenant, `${key}\n`, { limit: MESSAGES_MAX });
    const messages = entries.map(({ id, value }): StoredMessage => {
      const {
        topic,
        payload,
        qos,
        isReleased = false,
        mark,
      } = JSON.parse(value) as Omit<SessionMessage, 'session' | 'id'>;
      const message = {
        id: Number(id.slice(key.length + 1)),
        topic,
        payload: Buffer.from(payload, 'base64'),
        qos,
        isReleased,
      };
      return mark === undefined ? message : { ...message, mark };
    });
    // Behind the messages: what is acknowledged while they are read is there or here.
    const state = JSON.parse((await this.#documents.get('session', tenant, key)) ?? text) as SessionState;
    const holder = holderAfter?.(state.holder ?? '');
    const elsewhere = await this.#receipts?.read(tenant, key, state.receivesIn ?? [], { holder, since: state.since });
    return {
      subscriptions: new Map(state.subscriptions),
      messages,
      received: [...state.received, ...(elsewhere?.received ?? [])],
      expirySeconds: state.expirySeconds,
      disconnectedAt: state.disconnectedAt,
      ...(elsewhere === undefined ? {} : { partly: elsewhere.partly }),
      ...(state.holder === undefined ? {} : { holder: state.holder }),
      ...(state.receivesIn === undefined ? {} : { receiptShards: state.receivesIn }),
      ...(state.acknowledged === undefined ? {} : { acknowledged: state.acknowledged }),
    };
  }

  async save(tenant: number, key: string, change: SessionChange): Promise<void> {
    const { subscriptions, expirySeconds, disconnectedAt, holder, after } = change;
    await this.#send(COMMAND.SESSION_SAVE, tenant, key, {
      subscriptions: [...subscriptions],
      expirySeconds,
      disconnectedAt,
      holder,
      after,
    });
  }

  async remove(
    tenant: number,
    key: string,
    { holder, after }: Pick<SessionChange, 'holder' | 'after'> = {},
  ): Promise<void> {
    await this.#send(COMMAND.SESSION_REMOVE, tenant, key, { holder, after });
  }

  async addMessage(tenant: number, key: string, message: StoredMessage, holder?: string): Promise<void> {
    await this.#send(COMMAND.SESSION_MESSAGE_ADD, tenant, key, {
      id: message.id,
      topic: message.topic,
      payload: Buffer.from(message.payload).toString('base64'),
      qos: message.qos,
      ...(message.isReleased === true ? { isReleased: true } : {}),
      ...(message.mark === undefined ? {} : { mark: message.mark }),
      holder,
    });
  }

  async removeMessage(tenant: number, key: string, id: number, marks?: MarkChange, holder?: string): Promise<void> {
    await this.#send(COMMAND.SESSION_MESSAGE_REMOVE, tenant, key, { id, marks, holder });
  }

  async release(
    tenant: number,
    key: string,
    packetId: number,
    shards?: readonly number[],
    holder?: string,
  ): Promise<void> {
    await this.#send(COMMAND.SESSION_RELEASE, tenant, key, { id: packetId, shards, holder });
  }

  async #send(kind: CommandKind, tenant: number, session: string, body: object): Promise<void> {
    await this.#commands.request({
      kind,
      tenant,
      key: `s:${session}`,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: this.#now(),
      body: { session, ...body },
    });
  }
}
