/**
 * The two disks whose free space a node of a cluster watches: that of its data directory, and that of ClickHouse, which
 * is what fills up.
 */
import type { Log } from '../../ports/log.ts';
import { DiskGuard } from '../../operate/disk-guard.ts';
import type { DiskLimit } from '../../operate/disk-guard.ts';

/** All nodes ask, over the network. */
const HISTORY_EVERY_MS = 2_000;
/** A connection that was idle may be closed at the moment it is used: only what goes on is told. */
const HISTORY_UNREAD_TOLD_AT = 3;

export interface ClusterDisksOptions {
  /** Data directory of the node. */
  readonly data: string;
  readonly freeBytesMin: number;
  /** Below it the log warns of the data directory's disk; retention warns of ClickHouse's, for all nodes. */
  readonly warnBytes: number;
  /** What ClickHouse says of its own. */
  readonly historyFreeBytes: () => Promise<number>;
  /** ms between two questions for it. Default 2,000. */
  readonly historyEveryMs?: number;
  readonly log: Log;
}

type DiskPart = { readonly ready: boolean; readonly freeBytes: number; readonly refusal?: DiskLimit };

export class ClusterDisks {
  readonly #local: DiskGuard;
  readonly #history: DiskGuard;

  constructor({ data, freeBytesMin, warnBytes, historyFreeBytes, historyEveryMs, log }: ClusterDisksOptions) {
    this.#local = new DiskGuard({ path: data, freeBytesMin, warnBytes, log });
    this.#history = new DiskGuard({
      path: 'ClickHouse',
      limit: 'clickhouse/free-bytes',
      everyMs: historyEveryMs ?? HISTORY_EVERY_MS,
      unreadToldAt: HISTORY_UNREAD_TOLD_AT,
      freeBytesMin,
      freeBytesOf: historyFreeBytes,
      log,
    });
  }

  /** Which limit refuses writes now. */
  get refusal(): DiskLimit | undefined {
    return this.#local.refusal ?? this.#history.refusal;
  }
  /** Where there is least. */
  get freeBytes(): number {
    return Math.min(this.#local.freeBytes, this.#history.freeBytes);
  }
  get localFreeBytes(): number {
    return this.#local.freeBytes;
  }
  get historyFreeBytes(): number {
    return this.#history.freeBytes;
  }

  /**
   * Whether all nodes refuse writes: then none does better, none is out of service for it, and reads and what gives
   * space back stay within reach.
   */
  get isFullForAll(): boolean {
    return this.#history.refusal !== undefined;
  }

  /** For /health/ready. Nodes of one machine have one disk with ClickHouse. */
  get local(): DiskPart {
    return { ...partOf(this.#local), ...(this.isFullForAll ? { ready: true } : {}) };
  }
  get history(): DiskPart {
    return { ...partOf(this.#history), ready: true };
  }

  /** Looks at both. The tables have to be there. */
  async start(): Promise<void> {
    await Promise.all([this.#local.start(), this.#history.start()]);
  }

  stop(): void {
    this.#local.stop();
    this.#history.stop();
  }
}

const partOf = ({ refusal, freeBytes }: DiskGuard): DiskPart => ({
  ready: refusal === undefined,
  freeBytes,
  ...(refusal === undefined ? {} : { refusal }),
});
