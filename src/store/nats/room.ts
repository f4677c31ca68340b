/**
 * How much JetStream still takes for files. Journal and files lie in the same store, and only the journal's stream has
 * a bound of its own: files that fill the store stop all writes. So they leave what the journal may still take. See
 * docs/internals/nats.md, "Blobs".
 */
import type { AccountLimits } from '@nats-io/jetstream';
import type { Log } from '../../ports/log.ts';
import type { NatsConnection } from './connection.ts';
import { askMonitors } from './durability.ts';

/** Uploads look again when what is known is older. */
const AGE_MAX_MS = 2_000;
/** Monitoring ports that did not tell are asked again. */
const SILENT_MONITORS_MS = 60_000;

export const ROOM_REMEDY =
  'open the monitoring ports of NATS and name them with --nats-monitor, give the account of NATS a limit (max_file), or set ' +
  '--tenant-files-max-bytes';

export interface NatsRoomOptions {
  readonly connection: NatsConnection;
  /** As in NatsDurabilityOptions. */
  readonly servers: string;
  readonly monitors: string | undefined;
  readonly replicas: number;
  /** What the journal's stream may have, and what it has. */
  readonly journalBytesMax: number;
  readonly journalBytes: () => number;
}

/** `bytes` is below 0 when the journal could not take any more what it may have. */
export interface FoundRoom {
  readonly bytes: number;
  readonly maxBytes: number;
  readonly of: 'account' | 'server';
}

/**
 * @returns undefined where neither the account has a limit nor a monitoring port tells. @throws when JetStream does not
 * answer.
 */
export async function findNatsRoom(
  { connection, servers, monitors, replicas, journalBytesMax, journalBytes }: NatsRoomOptions,
  areMonitorsAsked = true,
): Promise<FoundRoom | undefined> {
  const kept = Math.max(0, journalBytesMax - journalBytes());
  const ofAccount = roomOfAccount((await connection.manager.getAccountInfo()) as AccountUsage, replicas);
  if (ofAccount !== undefined) return { bytes: ofAccount.room - kept, maxBytes: ofAccount.max, of: 'account' };
  if (!areMonitorsAsked) return undefined;
  const storages = Array.from(
    (await askMonitors({ servers, monitors })).asked.values(),
    ({ storage }) => storage,
  ).filter((storage) => storage !== undefined);
  if (storages.length === 0) return undefined;
  // A copy lies on one server, and any of them may have it.
  const [least] = storages.sort((a, b) => a.max - a.used - (b.max - b.used));
  return { bytes: least.max - least.used - kept, maxBytes: least.max, of: 'server' };
}

interface Usage {
  readonly storage: number;
  readonly limits: Pick<AccountLimits, 'max_storage'>;
}
interface AccountUsage extends Usage {
  readonly tiers?: Readonly<Record<string, Usage>>;
}

/** Of one copy. The limit of an account counts all copies; that of a tier counts one, and its use all. */
function roomOfAccount(account: AccountUsage, replicas: number): { max: number; room: number } | undefined {
  const tier = account.tiers?.[`R${replicas}`];
  const {
    limits: { max_storage: limit },
    storage,
  } = tier ?? account;
  if (limit === undefined || limit <= 0) return undefined;
  const max = tier === undefined ? limit / replicas : limit;
  return { max, room: max - storage / replicas };
}

export interface FilesRoomOptions extends NatsRoomOptions {
  /** All files together, where nothing tells how much JetStream takes; Infinity when each tenant has a bound. */
  readonly unknownBytesMax: number;
  /** Bytes of all files. */
  readonly filesBytes: () => Promise<number>;
  readonly log: Log;
}

/** What a node knows of it, brought up to date by uploads. */
export class NatsFilesRoom {
  readonly #options: FilesRoomOptions;
  #freeBytes = Number.POSITIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #silentAt = Number.NEGATIVE_INFINITY;
  #isKnown = false;
  #looking: Promise<void> | undefined;

  constructor(options: FilesRoomOptions) {
    this.#options = options;
  }

  /** Looks once, and says when nothing tells the size. */
  static async open(options: FilesRoomOptions): Promise<NatsFilesRoom> {
    const room = new NatsFilesRoom(options);
    await room.look();
    if (!room.#isKnown && Number.isFinite(options.unknownBytesMax)) {
      options.log.info(
        { bytes: options.unknownBytesMax, remedy: ROOM_REMEDY },
        'nothing tells how much NATS may store: the files of all tenants together are bounded to the size of the journal (journal-max-bytes)',
      );
    }
    return room;
  }

  get freeBytes(): number {
    return this.#freeBytes;
  }

  /**
   * @param bytes that are about to be written here. @returns undefined when what is known is new. Never rejects: then
   * what was known stays.
   */
  look(bytes = 0): Promise<void> | undefined {
    this.#freeBytes -= bytes;
    if (performance.now() - this.#lookedAt < AGE_MAX_MS) return undefined;
    this.#looking ??= this.#look()
      .catch((error: Error) => {
        this.#options.log.debug({ error: error.message }, 'NATS did not tell how much it stores');
      })
      .finally(() => {
        this.#lookedAt = performance.now();
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const areMonitorsAsked = performance.now() - this.#silentAt > SILENT_MONITORS_MS;
    const found = await findNatsRoom(this.#options, areMonitorsAsked);
    if (found !== undefined) {
      this.#isKnown = true;
      this.#freeBytes = found.bytes;
      return;
    }
    if (areMonitorsAsked) this.#silentAt = performance.now();
    const { unknownBytesMax, filesBytes } = this.#options;
    // Who told once is away for now.
    if (!this.#isKnown && Number.isFinite(unknownBytesMax)) this.#freeBytes = unknownBytesMax - (await filesBytes());
  }
}
