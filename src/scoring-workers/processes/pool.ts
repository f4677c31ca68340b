/**
 * Worker processes, each with one task at a time. They begin with the first task and end when they have been idle for
 * long. Tenants take turns; which process does a task is its user's choice. docs/internals/scoring.md#processes
 */
import type { Turns } from '../../pacing/turns.ts';
import type { WorkerProcess } from './worker-process.ts';
import { WorkerEnded } from './worker-process.ts';

/** A process and what its user knows about it. */
export interface Slot<State> {
  readonly process: WorkerProcess;
  readonly state: State;
}

export interface PoolOptions<State> {
  /** Processes at most; the turns let as many tasks run at once. */
  readonly max: number;
  readonly turns: Turns;
  readonly start: () => Slot<State>;
  /** A process that had no task for this long ends. */
  readonly idleMsMax: number;
}

/** Who asks. */
export interface PoolUser {
  readonly tenant: number;
  readonly user: string;
  readonly signal?: AbortSignal | undefined;
}

interface Held<State> extends Slot<State> {
  isBusy: boolean;
  /** When its last task ended, in milliseconds. */
  idleSince: number;
}

const SWEEP_MS = 15_000;

export class ProcessPool<State> {
  readonly #options: PoolOptions<State>;
  /** The one that has been idle for longest comes first. */
  readonly #slots = new Set<Held<State>>();
  /** Tasks whose turn has come while `inIdle` has the last process. */
  readonly #waiting: (() => void)[] = [];
  #sweep: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: PoolOptions<State>) {
    this.#options = options;
  }

  /** Idle ones first, those that have been idle for longest. */
  get slots(): readonly Slot<State>[] {
    return [...this.#slots];
  }

  /**
   * Does work in a process, when its turn has come.
   * @param choose one of the idle processes; undefined for a new one. Without room for a new one, the process
   * that has been idle for longest gives way when `mayReplace`, and takes the work otherwise.
   * @throws PlatformError `general/busy` when too much waits; what `work` throws.
   */
  async use<Result>(
    { tenant, user, signal }: PoolUser,
    { choose, mayReplace }: { choose: (idle: readonly Slot<State>[]) => Slot<State> | undefined; mayReplace: boolean },
    work: (slot: Slot<State>) => Promise<Result>,
  ): Promise<Result> {
    await this.#options.turns.begin(tenant, user, signal);
    try {
      const slot = await this.#next(choose, mayReplace);
      try {
        return await work(slot);
      } finally {
        this.#giveBack(slot);
      }
    } finally {
      this.#options.turns.end(tenant, user);
    }
  }

  /** Work in each process that is idle, one after another; what is busy is left out. Errors end the process. */
  async inIdle(work: (slot: Slot<State>) => Promise<void>): Promise<void> {
    for (const slot of [...this.#slots]) {
      if (slot.isBusy || !slot.process.isAlive) continue;
      slot.isBusy = true;
      try {
        await work(slot);
      } catch {
        // It ends below with all that it holds, which is what the work was for.
        slot.process.kill('stopped');
      } finally {
        this.#giveBack(slot);
      }
    }
  }

  /** One process more that waits for its first task, where there is room. */
  warm(): void {
    if (this.#isStopped || this.#slots.size >= this.#options.max) return;
    this.#add(false);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#sweep);
    for (const wake of this.#waiting.splice(0)) wake();
    const slots = [...this.#slots];
    for (const { process } of slots) process.kill('stopped');
    await Promise.all(slots.map(({ process }) => process.ended()));
  }

  async #next(
    choose: (idle: readonly Slot<State>[]) => Slot<State> | undefined,
    mayReplace: boolean,
  ): Promise<Held<State>> {
    for (;;) {
      if (this.#isStopped) throw new WorkerEnded('stopped', 'the server is stopping');
      const slot = this.#take(choose, mayReplace);
      if (slot !== undefined) return slot;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** @returns undefined while none is idle */
  #take(
    choose: (idle: readonly Slot<State>[]) => Slot<State> | undefined,
    mayReplace: boolean,
  ): Held<State> | undefined {
    for (const slot of this.#slots) if (!slot.process.isAlive) this.#slots.delete(slot);
    const idle = [...this.#slots].filter(({ isBusy }) => !isBusy);
    const chosen = choose(idle) as Held<State> | undefined;
    if (chosen !== undefined) {
      chosen.isBusy = true;
      return chosen;
    }
    if (this.#slots.size < this.#options.max) return this.#add(true);
    // The turns let no more tasks run than there are processes, but `inIdle` works without a turn.
    const [oldest] = idle;
    if (oldest === undefined) return undefined;
    if (!mayReplace) {
      oldest.isBusy = true;
      return oldest;
    }
    this.#slots.delete(oldest);
    oldest.process.kill('stopped');
    return this.#add(true);
  }

  #add(isBusy: boolean): Held<State> {
    const slot = { ...this.#options.start(), isBusy, idleSince: Date.now() };
    this.#slots.add(slot);
    this.#sweep ??= setInterval(() => this.#endIdle(), SWEEP_MS).unref();
    return slot;
  }

  #giveBack(slot: Held<State>): void {
    slot.isBusy = false;
    slot.idleSince = Date.now();
    // To the end, unless it has given way meanwhile.
    if (this.#slots.delete(slot) && slot.process.isAlive) this.#slots.add(slot);
    this.#waiting.shift()?.();
  }

  #endIdle(): void {
    const endedBefore = Date.now() - this.#options.idleMsMax;
    for (const slot of [...this.#slots]) {
      if (slot.isBusy || (slot.process.isAlive && slot.idleSince > endedBefore)) continue;
      this.#slots.delete(slot);
      slot.process.kill('stopped');
    }
    if (this.#slots.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }
}
