/**
 * A tunnel: two ends, and bytes that go both ways in their order. An end that takes no more has the other end stopped;
 * what arrives all the same is held, up to a bound. Neither end needs to be there at first.
 */
import type { Shares } from '../pacing/shares.ts';
import { BYTES_OF_TUNNEL_LIMIT, CLOSE, STALLED_LIMIT } from './limits.ts';
import type { TunnelLimits } from './limits.ts';

/** A WebSocket, or the way to another node. Every call is harmless after its end. */
export interface TunnelEnd {
  /** Takes the bytes. @returns false: no more, until the end calls `drained` of its tunnel. */
  send(bytes: Uint8Array): boolean;
  /** Stops what comes from this end. @returns false when it cannot be stopped. */
  pause(): boolean;
  resume(): void;
  /** Closes it behind what it has taken. */
  end(code: number, reason: string): void;
  /** Closes it at once. */
  destroy(): void;
}

export type TunnelSide = 'client' | 'device';
const OTHER: Readonly<Record<TunnelSide, TunnelSide>> = { client: 'device', device: 'client' };

/** Pieces in which bytes go to an end: it has at most one more than it asks for. */
const PIECE_BYTES = 65_536;

interface Side {
  end: TunnelEnd | undefined;
  isEnded: boolean;
  /** The end has said that it takes no more, or is not there yet. */
  isBlocked: boolean;
  /** Reading from it has been stopped. */
  isPaused: boolean;
  /** What waits for this end. */
  readonly held: Uint8Array[];
  heldBytes: number;
  /** Handed to this end. */
  sentBytes: number;
}

export interface TunnelOptions {
  /** Who is counted for it. */
  readonly tenant: number;
  readonly userName: string;
  readonly bytes: Shares;
  readonly limits: TunnelLimits;
  /** A bound has ended it. */
  readonly onRefused: (limit: string) => void;
  /** Called once, when both ends are closed or were told to. */
  readonly onEnded: (reason: string) => void;
}

export class Tunnel {
  readonly #options: TunnelOptions;
  readonly #sides: Readonly<Record<TunnelSide, Side>> = { client: newSide(), device: newSide() };
  readonly #attachTimers = new Map<TunnelSide, NodeJS.Timeout>();
  #endTimer: NodeJS.Timeout | undefined;
  #endReason: string | undefined;
  #endCode: number = CLOSE.normal;
  #isOver = false;
  /** When the last byte came; `performance.now()`. */
  movedAt = performance.now();

  constructor(options: TunnelOptions) {
    this.#options = options;
  }

  get tenant(): number {
    return this.#options.tenant;
  }
  get userName(): string {
    return this.#options.userName;
  }
  get isOver(): boolean {
    return this.#isOver || this.#endReason !== undefined;
  }
  get limits(): TunnelLimits {
    return this.#options.limits;
  }
  /** Another one with the same holder and bounds: for what is said inside of this one. */
  inner(onEnded: (reason: string) => void): Tunnel {
    return new Tunnel({ ...this.#options, onEnded });
  }
  /** Both ends have been there. */
  get isJoined(): boolean {
    return this.#sides.client.end !== undefined && this.#sides.device.end !== undefined;
  }
  /** Handed to an end so far. */
  sentBytes(to: TunnelSide): number {
    return this.#sides[to].sentBytes;
  }

  /** The end has permission to come: it has to within the time. */
  expect(side: TunnelSide): void {
    const timer = setTimeout(
      () => this.close(CLOSE.normal, `the ${side} has left before its connection was open`),
      this.#options.limits.attachMs,
    ).unref();
    clearTimeout(this.#attachTimers.get(side));
    this.#attachTimers.set(side, timer);
  }

  /** An end that comes when the tunnel is over is closed as the other one. */
  attach(name: TunnelSide, end: TunnelEnd): void {
    clearTimeout(this.#attachTimers.get(name));
    this.#attachTimers.delete(name);
    const side = this.#sides[name];
    if (this.isOver || side.end !== undefined) {
      end.end(this.isOver ? this.#endCode : CLOSE.normal, this.#endReason ?? `there is another ${name}`);
      return;
    }
    side.end = end;
    side.isBlocked = false;
    this.movedAt = performance.now();
    this.drained(name);
  }

  /** Bytes from an end; they belong to the tunnel from now on. */
  received(from: TunnelSide, bytes: Uint8Array): void {
    if (this.#isOver || this.#sides[from].isEnded || bytes.length === 0) return;
    this.movedAt = performance.now();
    const to = this.#sides[OTHER[from]];
    if (to.isEnded) return;
    const rest = to.isBlocked || to.heldBytes > 0 ? bytes : this.#sendPieces(to, bytes);
    if (rest === undefined) return;
    this.#hold(to, rest);
    this.#stop(from);
  }

  /** The end takes more. */
  drained(name: TunnelSide): void {
    const side = this.#sides[name];
    if (this.#isOver || side.end === undefined || side.isEnded) return;
    side.isBlocked = false;
    while (side.held.length > 0) {
      const [bytes] = side.held;
      const rest = this.#sendPieces(side, bytes);
      this.#release(side, bytes.length - (rest?.length ?? 0));
      if (rest !== undefined) {
        side.held[0] = rest;
        return;
      }
      side.held.shift();
      if (side.isBlocked) return;
    }
    if (this.#endReason === undefined) this.#go(OTHER[name]);
    else this.#finish();
  }

  /** The end has closed by itself: the other end gets the last bytes, and is closed. @param code of the other end. */
  ended(name: TunnelSide, reason: string, code: number = CLOSE.normal): void {
    const side = this.#sides[name];
    if (side.isEnded) return;
    side.isEnded = true;
    this.#drop(side);
    this.close(code, reason);
  }

  /** Closes both ends behind what they are still to get. */
  close(code: number, reason: string): void {
    if (this.isOver) {
      if (!this.#isOver) this.#finish();
      return;
    }
    this.#endReason = reason;
    this.#endCode = code;
    for (const timer of this.#attachTimers.values()) clearTimeout(timer);
    this.#endTimer = setTimeout(() => {
      this.#options.onRefused(STALLED_LIMIT);
      this.#over();
    }, this.#options.limits.endMs).unref();
    this.#finish();
  }

  /** As `close`; a bound is in the way, and what is held is dropped. */
  refuse(code: number, limit: string, reason: string): void {
    if (this.#isOver) return;
    this.#options.onRefused(limit);
    for (const side of Object.values(this.#sides)) this.#drop(side);
    this.close(code, `${limit}: ${reason}`);
  }

  /** Closes the ends that have everything. */
  #finish(): void {
    for (const side of Object.values(this.#sides)) {
      if (side.isEnded || side.heldBytes > 0) continue;
      side.isEnded = true;
      side.end?.end(this.#endCode, this.#endReason ?? '');
    }
    if (Object.values(this.#sides).every(({ isEnded }) => isEnded)) this.#over();
    // An end that is not there will not take anything.
    else if (Object.values(this.#sides).every(({ isEnded, end }) => isEnded || end === undefined)) this.#over();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#endTimer);
    for (const side of Object.values(this.#sides)) {
      this.#drop(side);
      if (!side.isEnded) side.end?.destroy();
      side.isEnded = true;
    }
    this.#options.onEnded(this.#endReason ?? '');
  }

  /** @returns what the end does not take now. */
  #sendPieces(side: Side, bytes: Uint8Array): Uint8Array | undefined {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      if (side.isBlocked) return bytes.subarray(at);
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      side.sentBytes += piece.length;
      if (side.end?.send(piece) !== true) side.isBlocked = true;
    }
    return undefined;
  }

  #hold(side: Side, bytes: Uint8Array): void {
    const { tenant, userName, limits } = this.#options;
    if (side.heldBytes + bytes.length > limits.heldBytesOfTunnel) {
      const reason = `more than ${limits.heldBytesOfTunnel} bytes wait for an end that does not read`;
      this.refuse(CLOSE.policy, BYTES_OF_TUNNEL_LIMIT, reason);
      return;
    }
    const limit = this.#options.bytes.take(tenant, userName, bytes.length);
    if (limit !== undefined) {
      this.refuse(CLOSE.tryAgain, limit, 'too many bytes of tunnels wait for ends that do not read');
      return;
    }
    side.held.push(bytes);
    side.heldBytes += bytes.length;
  }

  #release(side: Side, bytes: number): void {
    if (bytes === 0) return;
    side.heldBytes -= bytes;
    this.#options.bytes.give(this.tenant, this.userName, bytes);
  }

  #drop(side: Side): void {
    this.#release(side, side.heldBytes);
    side.held.length = 0;
  }

  #stop(name: TunnelSide): void {
    const side = this.#sides[name];
    if (side.isPaused || side.isEnded) return;
    side.isPaused = side.end?.pause() === true;
  }

  #go(name: TunnelSide): void {
    const side = this.#sides[name];
    if (!side.isPaused) return;
    side.isPaused = false;
    side.end?.resume();
  }
}

const newSide = (): Side => ({
  end: undefined,
  isEnded: false,
  isBlocked: true,
  isPaused: false,
  held: [],
  heldBytes: 0,
  sentBytes: 0,
});
