/**
 * Tunnels of remote access between nodes: the client of a tunnel is on the node whose name is at the end of its key, the
 * device's connection may be on any other.
 *
 *     device -> A: WebSocket   A -> B: `tunnel-join`  (request; B joins its client's tunnel, or says why not)
 *     A <-> B: bytes           `tunnel-data`          (requests, one at a time for each direction)
 *                              `tunnel-go`            (one-way: the other side takes more; a lost one costs a second)
 *     one end closes           `tunnel-end`           (request behind the last bytes)
 *     client of a posted key   B -> all: `tunnel-client` (a device that waits with that key joins B),
 *                              `tunnel-used`          (that key is used)
 *
 * The answer to `tunnel-data` says whether the other side takes more, so that a slow end stops the sender on the other
 * node. Each part has a number, and is sent again when its answer does not come: none is lost or taken twice while NATS
 * is away for a moment. An empty part now and then asks whether the other side is still there. A node that dies answers
 * nothing: its tunnels end after `GIVE_UP_MS`.
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import type { ErrorCode } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { JoinRequest, LocalTunnels, TunnelsElsewhere, WaitingClient } from '../../remote-access/elsewhere.ts';
import { CLOSE } from '../../remote-access/limits.ts';
import type { Tunnel, TunnelEnd, TunnelSide } from '../../remote-access/tunnel.ts';
import type { Member } from '../../ports/cluster/leases.ts';
import { nodeEnd } from './node-end.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';

const SUBJECT = {
  join: 'tunnel-join',
  data: 'tunnel-data',
  go: 'tunnel-go',
  end: 'tunnel-end',
  client: 'tunnel-client',
  used: 'tunnel-used',
} as const;
const TIMEOUT_MS = 5_000;
/** Below the smallest message that NATS is set up for. */
const PART_BYTES = 262_144;
/** Above it the tunnel is told to stop. */
const QUEUE_BYTES = 262_144;
const RETRY_MS = 500;
/** A part without an answer after this time ends the tunnel. */
const GIVE_UP_MS = 15_000;
/** A side that takes no more is asked again; `tunnel-go` says it sooner. */
const ASK_AGAIN_MS = 1_000;
/** An idle tunnel is asked for. */
const ASK_IDLE_MS = 10_000;
/** The last bytes of a tunnel that ends have to be sent within it. */
const END_MS = 10_000;
const LIMIT = 'remote-access/relay';

/** What the first byte of an answer to a part says. */
const STATE = { gone: 0, more: 1, full: 2 } as const;
const ANSWERS = [Buffer.of(STATE.gone), Buffer.of(STATE.more), Buffer.of(STATE.full)] as const;

export interface TunnelRelayOptions {
  readonly messages: NodeMessages;
  readonly leases: { readonly members: readonly Member[] };
  readonly refusals: Refusals;
  readonly log: Log;
  /** ms; tests have shorter ones. */
  readonly giveUpMs?: number;
  readonly askIdleMs?: number;
}

/** A join: who comes, and how its node calls its side. */
interface Join {
  readonly link: string;
  readonly user: Omit<JoinRequest['user'], 'ownRoles'> & { readonly isDevice: boolean };
  readonly connectionKey: string;
  readonly postedFor?: string;
  readonly postedTo?: JoinRequest['postedTo'];
}
type Joined =
  | { readonly link: string }
  | { readonly error: ErrorCode; readonly details: Record<string, string | number> };

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const parsed = <Value>(payload: Uint8Array): Value => JSON.parse(Buffer.from(payload).toString()) as Value;

export class TunnelRelay implements TunnelsElsewhere {
  readonly keyEnd: string;
  readonly #options: TunnelRelayOptions;
  /** By number. Bound: the tunnels of this node, one link each. */
  readonly #links = new Map<string, Link>();
  #linkCount = 0;

  constructor(options: TunnelRelayOptions) {
    this.#options = options;
    this.keyEnd = nodeEnd(options.messages.nodeId);
  }

  get linkCount(): number {
    return this.#links.size;
  }

  start(local: LocalTunnels): void {
    const { messages } = this.#options;
    messages.answer(SUBJECT.join, (payload, from) => this.#joined(parsed(payload), from, local));
    messages.answer(SUBJECT.data, (payload, from) => {
      const bytes = Buffer.from(payload);
      const end = bytes.indexOf('\n');
      const [link, number] = bytes.subarray(0, end).toString().split(' ');
      return ANSWERS[this.#linkOf(link, from)?.received(Number(number), bytes.subarray(end + 1)) ?? STATE.gone];
    });
    messages.answer(SUBJECT.end, (payload, from) => {
      const { link, reason, code } = parsed<{ link: string; reason: string; code?: number }>(payload);
      this.#linkOf(link, from)?.otherEnded(reason, code);
      return ANSWERS[STATE.gone];
    });
    messages.listen(SUBJECT.go, (payload, from) => this.#linkOf(Buffer.from(payload).toString(), from)?.go());
    messages.listen(SUBJECT.client, (payload, from) => {
      if (from !== messages.nodeId) local.clientWaits(parsed(payload));
    });
    messages.listen(SUBJECT.used, (payload, from) => {
      if (from !== messages.nodeId) local.keyUsed(parsed(payload));
    });
  }

  async join(request: JoinRequest, tunnel: Tunnel): Promise<boolean> {
    const { messages, leases } = this.#options;
    const others = [...new Set(leases.members.map(({ nodeId }) => nodeId))].filter((one) => one !== messages.nodeId);
    const named = others.filter((nodeId) => request.connectionKey.endsWith(nodeEnd(nodeId)));
    const asked = request.postedFor === undefined ? named : others;
    for (const nodeId of asked) if (await this.#askToJoin(nodeId, request, tunnel)) return true;
    return false;
  }

  clientWaits(client: WaitingClient): void {
    this.#options.messages.broadcast(SUBJECT.client, json(client));
  }

  keyUsed(client: WaitingClient): void {
    this.#options.messages.broadcast(SUBJECT.used, json(client));
  }

  close(): void {
    for (const link of [...this.#links.values()]) link.end(CLOSE.goingAway, 'the server is stopping');
  }

  async #askToJoin(nodeId: string, request: JoinRequest, tunnel: Tunnel): Promise<boolean> {
    const { user, ...asked } = request;
    const { ownRoles, ...others } = user;
    const link = this.#newLink(nodeId, tunnel, 'client');
    const join: Join = {
      link: link.id,
      user: { ...others, isDevice: ownRoles !== undefined },
      ...asked,
    };
    let answer: Joined;
    try {
      answer = parsed<Joined>(await this.#options.messages.request(nodeId, SUBJECT.join, json(join), TIMEOUT_MS));
    } catch (error) {
      link.forget();
      // Of a posted key every node is asked, also one that is just leaving.
      if (asked.postedFor !== undefined) return false;
      this.#options.refusals.count(LIMIT, UNATTRIBUTED);
      this.#options.log.warn(
        { node: nodeId, error: (error as Error).message, limit: LIMIT },
        'the node of the client of a tunnel cannot be asked',
      );
      throw refusedBy(LIMIT);
    }
    if ('link' in answer) {
      link.opened(answer.link);
      tunnel.attach('client', link);
      return true;
    }
    link.forget();
    if (answer.error === 'remote-access/key') return false;
    throw new PlatformError(answer.error, answer.details);
  }

  async #joined(join: Join, from: string, local: LocalTunnels): Promise<Uint8Array> {
    const { user, link: otherLink, ...others } = join;
    const { isDevice, ...named } = user;
    try {
      const tunnel = await local.join({ ...others, user: { ...named, ...(isDevice ? { ownRoles: new Set() } : {}) } });
      const link = this.#newLink(from, tunnel, 'device');
      link.opened(otherLink);
      // The answer leaves before the first bytes.
      setImmediate(() => tunnel.attach('device', link));
      return json({ link: link.id } satisfies Joined);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      return json({ error: error.code, details: error.details as Record<string, string | number> } satisfies Joined);
    }
  }

  #newLink(nodeId: string, tunnel: Tunnel, side: TunnelSide): Link {
    this.#linkCount += 1;
    const id = String(this.#linkCount);
    const link = new Link({
      id,
      nodeId,
      tunnel,
      side,
      relay: this.#options,
      onForgotten: () => this.#links.delete(id),
    });
    this.#links.set(id, link);
    return link;
  }

  #linkOf(id: string, from: string): Link | undefined {
    const link = this.#links.get(id);
    return link?.nodeId === from ? link : undefined;
  }
}

/** How an end is closed. */
interface LastWord {
  readonly code: number;
  readonly reason: string;
}

/** One side of a tunnel whose other side is on another node. */
class Link implements TunnelEnd {
  readonly id: string;
  readonly nodeId: string;
  readonly #tunnel: Tunnel;
  readonly #side: TunnelSide;
  readonly #relay: TunnelRelayOptions;
  readonly #onForgotten: () => void;
  /** Its number on the other node. */
  #other = '';
  readonly #queue: Uint8Array[] = [];
  #queueBytes = 0;
  #isSending = false;
  #sentNumber = 0;
  #takenNumber = 0;
  /** What comes from the other node is not to come now. */
  #isPaused = false;
  #mustTellGo = false;
  /** Why it is to end when everything is sent. */
  #lastWord: LastWord | undefined;
  /** What is not sent yet is not to be sent. */
  #isCut = false;
  #isForgotten = false;
  #wake: AbortController | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: {
    readonly id: string;
    readonly nodeId: string;
    readonly tunnel: Tunnel;
    readonly side: TunnelSide;
    readonly relay: TunnelRelayOptions;
    readonly onForgotten: () => void;
  }) {
    this.id = options.id;
    this.nodeId = options.nodeId;
    this.#tunnel = options.tunnel;
    this.#side = options.side;
    this.#relay = options.relay;
    this.#onForgotten = options.onForgotten;
  }

  /** The other node has its side. */
  opened(other: string): void {
    this.#other = other;
    this.#idleTimer = setInterval(() => void this.#pump(true), this.#relay.askIdleMs ?? ASK_IDLE_MS).unref();
  }

  /** Nothing more is sent or taken. */
  forget(): void {
    if (this.#isForgotten) return;
    this.#isForgotten = true;
    clearInterval(this.#idleTimer);
    this.#queue.length = 0;
    this.#queueBytes = 0;
    this.#wake?.abort();
    this.#onForgotten();
  }

  send(bytes: Uint8Array): boolean {
    if (this.#isForgotten || this.#lastWord !== undefined) return false;
    this.#queue.push(bytes);
    this.#queueBytes += bytes.length;
    void this.#pump(false);
    return this.#queueBytes < QUEUE_BYTES;
  }

  pause(): boolean {
    this.#isPaused = true;
    return true;
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.#mustTellGo || this.#isForgotten) return;
    this.#mustTellGo = false;
    this.#relay.messages.send(this.nodeId, SUBJECT.go, Buffer.from(this.#other));
  }

  end(code: number, reason: string): void {
    if (this.#isForgotten || this.#lastWord !== undefined) return;
    this.#lastWord = { code, reason };
    setTimeout(() => this.destroy(), END_MS).unref();
    void this.#pump(false);
  }

  destroy(): void {
    if (this.#isForgotten) return;
    this.#isCut = true;
    this.#lastWord ??= { code: CLOSE.normal, reason: 'the other end was cut off' };
    this.#wake?.abort();
    void this.#pump(false);
  }

  /** A part of the other node. @returns whether it takes more. */
  received(number: number, bytes: Buffer): number {
    if (this.#isForgotten) return STATE.gone;
    // Why it is over comes with its last word.
    if (this.#tunnel.isOver) return STATE.full;
    if (bytes.length > 0 && number > this.#takenNumber) {
      this.#takenNumber = number;
      // A copy: the payload is part of what was read from the connection.
      this.#tunnel.received(this.#side, Buffer.from(bytes));
    }
    if (!this.#isPaused) return STATE.more;
    this.#mustTellGo = true;
    return STATE.full;
  }

  /** The other node takes more. */
  go(): void {
    this.#wake?.abort();
  }

  /** @param code what the end on this node is closed with. */
  otherEnded(reason: string, code?: number): void {
    this.forget();
    this.#tunnel.ended(this.#side, reason, code);
  }

  /** Sends what waits, a part at a time. @param asks with an empty part when nothing waits. */
  async #pump(asks: boolean): Promise<void> {
    if (this.#isSending || this.#isForgotten || this.#other === '') return;
    this.#isSending = true;
    let mustAsk = asks;
    while (!this.#isForgotten && !this.#isCut && (this.#queueBytes > 0 || mustAsk)) {
      const part = this.#takePart();
      const state = await this.#sendPart(part);
      if (this.#isForgotten) break;
      if (state === STATE.gone) {
        this.otherEnded('the other end has closed the connection');
        break;
      }
      mustAsk = state === STATE.full;
      if (mustAsk) await this.#waitForGo();
      else if (this.#queueBytes < QUEUE_BYTES) this.#tunnel.drained(this.#side);
    }
    this.#isSending = false;
    if (this.#lastWord !== undefined) await this.#sayLastWord(this.#lastWord);
  }

  #takePart(): Uint8Array {
    const pieces: Uint8Array[] = [];
    let length = 0;
    while (this.#queue.length > 0 && (length === 0 || length + this.#queue[0].length <= PART_BYTES)) {
      const piece = this.#queue.shift() as Uint8Array;
      pieces.push(piece);
      length += piece.length;
    }
    this.#queueBytes -= length;
    return Buffer.concat(pieces);
  }

  /** @returns what the other node says; `gone` when it has not answered for too long. */
  async #sendPart(part: Uint8Array): Promise<number> {
    if (part.length > 0) this.#sentNumber += 1;
    const payload = Buffer.concat([Buffer.from(`${this.#other} ${this.#sentNumber}\n`), part]);
    const { messages, refusals, log, giveUpMs = GIVE_UP_MS } = this.#relay;
    const since = performance.now();
    for (;;) {
      try {
        return (await messages.request(this.nodeId, SUBJECT.data, payload, TIMEOUT_MS))[0];
      } catch (error) {
        if (this.#isForgotten) return STATE.gone;
        if (performance.now() - since < giveUpMs) {
          await pause(RETRY_MS);
          continue;
        }
        refusals.count(LIMIT, UNATTRIBUTED);
        log.warn(
          { node: this.nodeId, error: (error as Error).message, limit: LIMIT },
          'a tunnel ends: the node of its other end does not answer',
        );
        return STATE.gone;
      }
    }
  }

  async #waitForGo(): Promise<void> {
    this.#wake = new AbortController();
    try {
      await pause(ASK_AGAIN_MS, undefined, { signal: this.#wake.signal });
    } catch {
      // It takes more.
    }
    this.#wake = undefined;
  }

  async #sayLastWord({ code, reason }: LastWord): Promise<void> {
    if (this.#isForgotten) return;
    this.forget();
    try {
      await this.#relay.messages.request(
        this.nodeId,
        SUBJECT.end,
        json({ link: this.#other, reason, code }),
        TIMEOUT_MS,
      );
    } catch (error) {
      // The other node sees it when it next asks for this link.
      this.#relay.log.debug(
        { node: this.nodeId, error: (error as Error).message },
        'the end of a tunnel was not told to the node of its other end',
      );
    }
  }
}
