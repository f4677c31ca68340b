/**
 * When a device was last heard, on whatever node. Each node keeps in memory what it has heard itself; all that is
 * written is older (jobs/availability/monitor.ts). A read asks all other members at once: after a take-over the
 * tenant's owner knows less than those that heard. One request is under way to each; devices that are asked for
 * meanwhile go together in the next. Nothing is asked for but by reads, and nothing kept.
 *
 * Who does not answer in time is left out for a while. Then the answer is that of the others: the tenant's owner was
 * told within a second.
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';
import type { ShardLeases } from '../../ports/cluster/leases.ts';

const SUBJECT = 'last-heard';
const REQUEST_TIMEOUT_MS = 250;
/** How long a node is left out that did not answer. */
const PAUSE_MS = 1_000;
/** Devices of one request, and those that wait for the next one: below the smallest message that NATS is set up for. */
const WAITING_MAX = 10_000;

export interface HeardElsewhereOptions {
  readonly messages: NodeMessages;
  readonly leases: Pick<ShardLeases, 'members'>;
  /** What this node has in memory. */
  readonly lastHeardHere: (device: number) => number | undefined;
  readonly refusals: Refusals;
  readonly log: Log;
  /** Monotonic, ms. */
  readonly now?: () => number;
  readonly waitingMax?: number;
  readonly timeoutMs?: number;
}

interface Asked {
  readonly time: Promise<number>;
  readonly tell: (time: number) => void;
}

/** What is asked of one other node. */
interface Inquiry {
  /** By device; they wait for the request that is under way. */
  waiting: Map<number, Asked>;
  isUnderWay: boolean;
  /** It is not asked before. */
  pausedUntil: number;
}

export class HeardElsewhere {
  readonly #options: HeardElsewhereOptions;
  readonly #now: () => number;
  /** By node; of those that are no members any more nothing stays. */
  readonly #inquiries = new Map<string, Inquiry>();

  constructor(options: HeardElsewhereOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    options.messages.answer(SUBJECT, (payload) => {
      const devices = JSON.parse(Buffer.from(payload).toString()) as number[];
      return Buffer.from(JSON.stringify(devices.map((device) => options.lastHeardHere(device) ?? 0)));
    });
  }

  /** Never rejects: without the others it is what this node knows. */
  async lastHeard(device: number): Promise<number | undefined> {
    const { messages, leases, lastHeardHere } = this.#options;
    const others = leases.members.filter(({ nodeId }) => nodeId !== messages.nodeId);
    if (this.#inquiries.size > others.length) this.#forget(new Set(others.map(({ nodeId }) => nodeId)));
    const times = await Promise.all(others.map(({ nodeId }) => this.#ask(nodeId, device)));
    const newest = Math.max(lastHeardHere(device) ?? 0, ...times);
    return newest > 0 ? newest : undefined;
  }

  /** @returns 0 when it is not known. */
  #ask(nodeId: string, device: number): number | Promise<number> {
    const inquiry = this.#inquiries.get(nodeId) ?? {
      waiting: new Map<number, Asked>(),
      isUnderWay: false,
      pausedUntil: Number.NEGATIVE_INFINITY,
    };
    this.#inquiries.set(nodeId, inquiry);
    if (this.#now() < inquiry.pausedUntil) return 0;
    const known = inquiry.waiting.get(device);
    if (known) return known.time;
    if (inquiry.waiting.size >= (this.#options.waitingMax ?? WAITING_MAX)) {
      this.#options.refusals.count('availability/last-heard', UNATTRIBUTED);
      return 0;
    }
    let tell: (time: number) => void = () => undefined;
    const time = new Promise<number>((resolve) => {
      tell = resolve;
    });
    inquiry.waiting.set(device, { time, tell });
    if (!inquiry.isUnderWay) void this.#run(nodeId, inquiry);
    return time;
  }

  async #run(nodeId: string, inquiry: Inquiry): Promise<void> {
    const { messages, log, timeoutMs = REQUEST_TIMEOUT_MS } = this.#options;
    inquiry.isUnderWay = true;
    while (inquiry.waiting.size > 0) {
      const asked = inquiry.waiting;
      inquiry.waiting = new Map();
      let times: number[] = [];
      try {
        const answer = await messages.request(
          nodeId,
          SUBJECT,
          Buffer.from(JSON.stringify([...asked.keys()])),
          timeoutMs,
        );
        times = JSON.parse(Buffer.from(answer).toString()) as number[];
      } catch (error) {
        log.debug(
          { node: nodeId, error: (error as Error).message, pauseMs: PAUSE_MS },
          'a node does not tell when devices were last heard; it is left out',
        );
        inquiry.pausedUntil = this.#now() + PAUSE_MS;
        for (const { tell } of inquiry.waiting.values()) tell(0);
        inquiry.waiting = new Map();
      }
      let index = 0;
      for (const { tell } of asked.values()) {
        tell(times[index] ?? 0);
        index += 1;
      }
    }
    inquiry.isUnderWay = false;
  }

  #forget(members: ReadonlySet<string>): void {
    for (const [nodeId, { isUnderWay }] of this.#inquiries)
      if (!members.has(nodeId) && !isUnderWay) this.#inquiries.delete(nodeId);
  }
}
