/** Bounds of all request bodies together: what clients send may not take the memory of the server, however many they are. */

/** Bytes of bodies of requests without a complete answer. */
const BYTES_MAX = 128 * 1024 * 1024;
/** Bodies of which a part has come, at once. */
const BODIES_MAX = 10_000;
/** Bytes of one body while its sender's password is being checked; the rest stays with the client until then. */
export const BYTES_BEFORE_LOGIN_MAX = 1024 * 1024;
/** Bodies of which the rest waits at once. Each has a part in memory and a connection whose end is not seen. */
const PAUSED_MAX = 100;
/** How long. */
const PAUSED_MS_MAX = 10_000;

/** Names of the limits, as in answers and counters. */
export const BODY_LIMIT = { BYTES: 'http/bodies-bytes', BODIES: 'http/bodies', BEFORE_LOGIN: 'http/bodies-before-login-bytes' } as const;
export type BodyLimit = (typeof BODY_LIMIT)[keyof typeof BODY_LIMIT];

export class BodyBudget {
  readonly bytesMax: number;
  readonly bodiesMax: number;
  readonly pausedMsMax: number;
  private takenBytes = 0;
  private takenBodies = 0;
  private pausedBodies = 0;

  /** @param options.largestBytes the largest body that is taken at all: it has to fit. */
  constructor(options: {
    readonly bytesMax?: number | undefined; readonly bodiesMax?: number | undefined; readonly pausedMsMax?: number | undefined; readonly largestBytes: number;
  }) {
    this.pausedMsMax = options.pausedMsMax ?? PAUSED_MS_MAX;
    this.bytesMax = options.bytesMax ?? Math.max(BYTES_MAX, options.largestBytes);
    this.bodiesMax = options.bodiesMax ?? BODIES_MAX;
  }

  get bytes(): number {
    return this.takenBytes;
  }

  get bodies(): number {
    return this.takenBodies;
  }

  /** @returns false when there is no room: nothing is taken then. */
  takeBytes(count: number): boolean {
    if (this.takenBytes + count > this.bytesMax) return false;
    this.takenBytes += count;
    return true;
  }

  giveBytes(count: number): void {
    this.takenBytes -= count;
  }

  /** A body begins that did not come in one piece. @returns false when there are too many. */
  takeBody(): boolean {
    if (this.takenBodies >= this.bodiesMax) return false;
    this.takenBodies += 1;
    return true;
  }

  giveBody(): void {
    this.takenBodies -= 1;
  }

  /** Bodies that are not read on before it is known who sends them. */
  get paused(): number {
    return this.pausedBodies;
  }

  /** @returns false when too many wait already. */
  takePause(): boolean {
    if (this.pausedBodies >= PAUSED_MAX) return false;
    this.pausedBodies += 1;
    return true;
  }

  givePause(): void {
    this.pausedBodies -= 1;
  }
}
