/**
 * Commands that give space back, changes of retention rules and deletions by filters, while the disk is nearly full or
 * the journal at its bound: a few of each tenant are taken all the same, as retention's own are. What the commands
 * write themselves is bounded by their number; what a large deletion writes afterwards, a tombstone for each entity, by
 * the reserve: below it nothing is let through and such deletions stand still (docs/internals/projector.md).
 */
import type { Command } from '../../model/commands/command.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { RecordIntake } from './record-intake.ts';

/** Limits that are passed: those that removal ends. */
const PASSED: ReadonlySet<string | undefined> = new Set(['disk/free-bytes', 'clickhouse/free-bytes', 'journal/bytes']);
/** Commands of a tenant at once, and how often another one comes: none writes more than 1 MiB, most 2 KiB. */
const BURST_MAX = 20;
const EVERY_MS = 10_000;

/** Free bytes that are left to the commits and merges of what was taken before. */
export const reserveBytesOf = (diskFreeMinBytes: number): number => diskFreeMinBytes / 2;

export interface FreeingCommandsOptions {
  readonly commands: CommandPort & {
    /** As `request`; the journal's bound and a full disk do not refuse it. */
    requestBeyondBound<Answer>(command: Command): Promise<Answer>;
  };
  readonly intake: Pick<RecordIntake, 'refusal'>;
  readonly freeBytes: () => number;
  /** With less free space nothing is taken any more. */
  readonly reserveBytes: number;
  /** Growing, ms. */
  readonly now: () => number;
}

export class FreeingCommands implements CommandPort {
  readonly #options: FreeingCommandsOptions;
  /** Tenant -> what it may still write, and since when. Only of tenants that were let pass once. */
  readonly #left = new Map<number, { count: number; at: number }>();

  constructor(options: FreeingCommandsOptions) {
    this.#options = options;
  }

  /** @throws PlatformError as any write, when the tenant has had its share. */
  request<Answer>(command: Command): Promise<Answer> {
    const { commands, intake, freeBytes, reserveBytes } = this.#options;
    const { refusal } = intake;
    const isPassed = PASSED.has(refusal) && freeBytes() >= reserveBytes && this.#take(command.tenant);
    return isPassed ? commands.requestBeyondBound<Answer>(command) : commands.request<Answer>(command);
  }

  #take(tenant: number): boolean {
    const now = this.#options.now();
    const { count, at } = this.#left.get(tenant) ?? { count: BURST_MAX, at: now };
    const gained = Math.floor((now - at) / EVERY_MS);
    const left = Math.min(BURST_MAX, count + gained);
    if (left === 0) return false;
    this.#left.set(tenant, { count: left - 1, at: at + gained * EVERY_MS });
    return true;
  }
}
