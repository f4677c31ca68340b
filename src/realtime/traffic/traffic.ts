/**
 * The live sample of MQTT traffic: each watcher has a filter and gets at most 50 messages a second, with the number of
 * those that it does not get. Without watchers it is a flag that connections look at.
 */
import type {
  TrafficBatch,
  TrafficClient,
  TrafficFilter,
  TrafficKind,
  TrafficMessage,
  TrafficTap,
  TrafficWatching,
} from '../../ports/traffic.ts';
import { matchesTopic } from './filter.ts';
import { shownPayload } from './shown-payload.ts';

/** Between two batches of a watcher, and messages of a batch: 50 a second. */
const BATCH_MS = 200;
const BATCH_MESSAGES_MAX = 10;
const WATCHERS_OF_TENANT_MAX = 10;
const WATCHERS_MAX = 100;
const ERROR_LENGTH_MAX = 500;
/** Of a topic, a client id and a user: devices choose them, of up to 64 KB. */
const NAME_LENGTH_MAX = 1_024;

/** A message on its way to watchers: made into text for the first that wants it. */
interface Passing {
  readonly client: TrafficClient;
  readonly kind: TrafficKind;
  readonly topic: string | undefined;
  readonly shown: () => TrafficMessage;
}

class Watcher {
  readonly #filter: TrafficFilter;
  readonly #levels: readonly string[] | undefined;
  readonly #take: (batch: TrafficBatch) => void;
  #messages: TrafficMessage[] = [];
  #matched = 0;

  constructor(filter: TrafficFilter, take: (batch: TrafficBatch) => void) {
    this.#filter = filter;
    this.#levels = filter.topic?.split('/');
    this.#take = take;
  }

  /** @returns whether it waits for a batch now. */
  offer(passing: Passing): boolean {
    if (!this.#passes(passing)) return false;
    this.#matched += 1;
    if (this.#messages.length < BATCH_MESSAGES_MAX) this.#messages.push(passing.shown());
    return true;
  }

  /** What another node has sampled. */
  add({ matched, messages }: TrafficBatch): void {
    this.#matched += matched;
    this.#messages.push(...messages.slice(0, BATCH_MESSAGES_MAX - this.#messages.length));
  }

  #passes({ client: { principal, clientId, link }, kind, topic }: Passing): boolean {
    const filter = this.#filter;
    if (filter.kind !== undefined && filter.kind !== kind) return false;
    if (filter.device !== undefined && filter.device !== String(link?.source)) return false;
    if (filter.client !== undefined && !clientId.includes(filter.client) && !principal.userName.includes(filter.client))
      return false;
    return this.#levels === undefined || topic === undefined || matchesTopic(this.#levels, topic);
  }

  flush(): void {
    if (this.#matched === 0) return;
    const batch = { matched: this.#matched, dropped: this.#matched - this.#messages.length, messages: this.#messages };
    this.#matched = 0;
    this.#messages = [];
    this.#take(batch);
  }
}

export interface TrafficOptions {
  readonly node: string;
  readonly now: () => number;
  /** Runs it once, later; the process may end before. */
  readonly later: (run: () => void, ms: number) => void;
}

/** A watcher of this node, for the other nodes of a cluster. */
export interface OwnWatch {
  readonly tenant: number;
  readonly filter: TrafficFilter;
  /** Takes what another node has sampled for it. */
  readonly add: (batch: TrafficBatch) => void;
}

export class Traffic implements TrafficTap, TrafficWatching {
  isWatched = false;
  /** Told when a watcher of this node comes or goes. */
  onChanged: (() => void) | undefined;
  readonly #options: TrafficOptions;
  readonly #watchers = new Map<number, Set<Watcher>>();
  readonly #own = new Set<OwnWatch>();
  #isDue = false;

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /** Watchers of this node, without those that other nodes have. */
  get own(): ReadonlySet<OwnWatch> {
    return this.#own;
  }

  hasRoom(tenant: number, count: number): boolean {
    const ofTenant = [...this.#own].filter((watch) => watch.tenant === tenant).length;
    return ofTenant + count <= WATCHERS_OF_TENANT_MAX && this.#own.size + count <= WATCHERS_MAX;
  }

  watch(tenant: number, filter: TrafficFilter, take: (batch: TrafficBatch) => void): () => void {
    const { watcher, end } = this.#begin(tenant, filter, take);
    const own: OwnWatch = {
      tenant,
      filter,
      add: (batch) => {
        watcher.add(batch);
        this.#due();
      },
    };
    this.#own.add(own);
    this.onChanged?.();
    return () => {
      end();
      if (this.#own.delete(own)) this.onChanged?.();
    };
  }

  /** Samples for a watcher of another node. @returns ends it. */
  watchFor(tenant: number, filter: TrafficFilter, take: (batch: TrafficBatch) => void): () => void {
    return this.#begin(tenant, filter, take).end;
  }

  message(kind: 'in' | 'out', client: TrafficClient, message: Parameters<TrafficTap['message']>[2]): void {
    const watchers = this.#watchers.get(client.principal.tenantNumber);
    if (watchers === undefined) return;
    const { payload, qos } = message;
    const topic = message.topic.toString();
    this.#offer(watchers, { client, kind, topic }, () => ({
      topic: topic.slice(0, NAME_LENGTH_MAX),
      qos,
      size: payload.length,
      ...shownPayload(topic, payload),
    }));
  }

  error(client: TrafficClient, { code, message }: { readonly code: string; readonly message: string }): void {
    const watchers = this.#watchers.get(client.principal.tenantNumber);
    if (watchers === undefined) return;
    this.#offer(watchers, { client, kind: 'error', topic: undefined }, () => ({
      error: { code, message: message.slice(0, ERROR_LENGTH_MAX) },
    }));
  }

  #offer(watchers: ReadonlySet<Watcher>, of: Omit<Passing, 'shown'>, content: () => Partial<TrafficMessage>): void {
    let made: TrafficMessage | undefined;
    const shown = (): TrafficMessage => (made ??= { ...this.#head(of), ...content() });
    for (const watcher of watchers) if (watcher.offer({ ...of, shown })) this.#due();
  }

  #head({ client: { principal, clientId, link }, kind }: Omit<Passing, 'shown'>): TrafficMessage {
    const source = link?.source ?? 0;
    return {
      at: this.#options.now(),
      node: this.#options.node,
      kind,
      clientId: clientId.slice(0, NAME_LENGTH_MAX),
      user: principal.userName.slice(0, NAME_LENGTH_MAX),
      ...(source === 0 ? {} : { source: String(source) }),
    };
  }

  #begin(
    tenant: number,
    filter: TrafficFilter,
    take: (batch: TrafficBatch) => void,
  ): { readonly watcher: Watcher; readonly end: () => void } {
    const watcher = new Watcher(filter, take);
    const ofTenant = this.#watchers.get(tenant) ?? new Set();
    this.#watchers.set(tenant, ofTenant.add(watcher));
    this.isWatched = true;
    const end = (): void => {
      ofTenant.delete(watcher);
      if (ofTenant.size === 0 && this.#watchers.get(tenant) === ofTenant) this.#watchers.delete(tenant);
      this.isWatched = this.#watchers.size > 0;
    };
    return { watcher, end };
  }

  #due(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#options.later(() => {
      this.#isDue = false;
      for (const watchers of this.#watchers.values()) for (const watcher of watchers) watcher.flush();
    }, BATCH_MS);
  }
}
