/** From the traffic of MQTT to the sessions that watch it (docs/reference/own-requests.md, Traffic). */
import { formatTime } from '../../model/documents/iso-time.ts';
import type { TrafficBatch, TrafficWatching } from '../../ports/traffic.ts';
import type { TrafficChannel } from './channel.ts';
import { deliveryOf } from './message.ts';
import type { Outgoing } from './message.ts';

interface Watching {
  enqueue(message: Outgoing): void;
}

const payloadOf = ({ matched, dropped, messages }: TrafficBatch): string =>
  JSON.stringify({
    matched,
    dropped,
    messages: messages.map(({ at, source, ...message }) => ({
      time: formatTime(at),
      ...(source === undefined ? {} : { source: { id: source } }),
      ...message,
    })),
  });

export class TrafficRoutes {
  readonly #traffic: TrafficWatching;
  readonly #nextId: () => number;
  /** Bounded by the watchers that `traffic` takes. */
  readonly #ends = new Map<Watching, Map<string, () => void>>();

  /** @param nextId numbers the messages. */
  constructor(traffic: TrafficWatching, nextId: () => number) {
    this.#traffic = traffic;
    this.#nextId = nextId;
  }

  add(tenant: number, { text, traffic }: TrafficChannel, watching: Watching): void {
    const ends = this.#ends.get(watching) ?? new Map<string, () => void>();
    this.#ends.set(watching, ends);
    const end = this.#traffic.watch(tenant, traffic, (batch) => {
      const [id, payload] = [this.#nextId(), payloadOf(batch)];
      watching.enqueue({ delivery: ({ data }) => deliveryOf(text, id, data, payload) });
    });
    ends.set(text, end);
  }

  remove({ text }: TrafficChannel, watching: Watching): void {
    const ends = this.#ends.get(watching);
    ends?.get(text)?.();
    ends?.delete(text);
    if (ends?.size === 0) this.#ends.delete(watching);
  }
}
