/**
 * MQTT traffic on every node of a cluster: each node tells the others which watchers it has, and samples for theirs. What is
 * lost with a message of NATS is missing in the sample. A node that has gone is forgotten after its watchers were not told
 * again.
 */
import type { TrafficBatch, TrafficFilter } from '../../ports/traffic.ts';
import type { OwnWatch, Traffic } from '../../realtime/traffic/traffic.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';

const WATCHES = 'traffic.watches';
const SAMPLE = 'traffic.sample';
const TELL_EVERY_MS = 5_000;
/** Without word from a node its watchers count as gone. */
const FORGET_MS = 3 * TELL_EVERY_MS;
/** Of one node; it has no more itself. */
const WATCHES_MAX = 100;

interface Told {
  readonly id: number;
  readonly tenant: number;
  readonly filter: TrafficFilter;
}

/** Watchers of another node. */
interface Elsewhere {
  readonly ends: Map<number, () => void>;
  timer: NodeJS.Timeout | undefined;
}

export class TrafficRelay {
  readonly #traffic: Traffic;
  readonly #messages: NodeMessages;
  readonly #ids = new Map<OwnWatch, number>();
  readonly #nodes = new Map<string, Elsewhere>();
  #lastId = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Begins to tell other nodes, and to sample for them. */
  constructor(traffic: Traffic, messages: NodeMessages) {
    this.#traffic = traffic;
    this.#messages = messages;
    traffic.onChanged = () => this.#tell();
    messages.listen(WATCHES, (payload, from) => {
      if (from !== messages.nodeId) this.#follow(from, JSON.parse(Buffer.from(payload).toString()) as Told[]);
    });
    messages.listen(SAMPLE, (payload) => {
      const { id, batch } = JSON.parse(Buffer.from(payload).toString()) as { id: number; batch: TrafficBatch };
      // It may have ended meanwhile.
      for (const [watch, own] of this.#ids) if (own === id) watch.add(batch);
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
    for (const { timer } of this.#nodes.values()) clearTimeout(timer);
  }

  /** Tells all watchers of this node, and again while there are any. */
  #tell(): void {
    clearTimeout(this.#timer);
    const { own } = this.#traffic;
    for (const watch of this.#ids.keys()) if (!own.has(watch)) this.#ids.delete(watch);
    const told = [...own].map((watch): Told => {
      const id = this.#ids.get(watch) ?? (this.#lastId += 1);
      this.#ids.set(watch, id);
      return { id, tenant: watch.tenant, filter: watch.filter };
    });
    this.#messages.broadcast(WATCHES, Buffer.from(JSON.stringify(told)));
    if (told.length > 0) this.#timer = setTimeout(() => this.#tell(), TELL_EVERY_MS).unref();
  }

  #send(node: string, id: number, batch: TrafficBatch): void {
    const payload = Buffer.from(JSON.stringify({ id, batch }));
    const { matched } = batch;
    const isSent = payload.length <= this.#messages.payloadBytesMax;
    this.#messages.send(
      node,
      SAMPLE,
      isSent ? payload : Buffer.from(JSON.stringify({ id, batch: { matched, dropped: matched, messages: [] } })),
    );
  }

  #follow(node: string, told: readonly Told[]): void {
    const elsewhere = this.#nodes.get(node) ?? { ends: new Map<number, () => void>(), timer: undefined };
    this.#nodes.set(node, elsewhere);
    const { ends } = elsewhere;
    const ids = new Set(told.map(({ id }) => id));
    for (const [id, end] of ends) {
      if (ids.has(id)) continue;
      end();
      ends.delete(id);
    }
    for (const { id, tenant, filter } of told.slice(0, WATCHES_MAX)) {
      if (ends.has(id)) continue;
      ends.set(
        id,
        this.#traffic.watchFor(tenant, filter, (batch) => this.#send(node, id, batch)),
      );
    }
    clearTimeout(elsewhere.timer);
    if (ends.size === 0) this.#nodes.delete(node);
    else elsewhere.timer = setTimeout(() => this.#follow(node, []), FORGET_MS).unref();
  }
}
