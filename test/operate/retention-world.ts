/** What retention runs stand on in tests: a clock, records and a store. */
import type { Command } from '../../src/model/commands/command.ts';
import type { DocumentReader } from '../../src/ports/document-reader.ts';
import type { RecordsChange } from '../../src/model/commands/records.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { isAsExpected } from '../../src/model/commands/record-change.ts';
import { RUN_PREFIX } from '../../src/model/entities/retention.ts';
import type {
  RetentionRun,
  RetentionState,
  RetentionStore,
  RetentionTarget,
} from '../../src/model/entities/retention.ts';
import { ClockTrust } from '../../src/operate/clock-trust.ts';
import { RetentionRunner, newestRetentionDay } from '../../src/jobs/retention/runner.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const NOON = Date.UTC(2026, 4, 10, 12);
const quiet = { debug() {}, info() {}, warn() {}, error() {} } as never;

/** Records with compare and set; each tenant has ten old events that go three at a time. */
export class World {
  now = NOON;
  /** How far the wall clock was set forward; the steady clock counts what is left. */
  setForwardMs = 0;
  /** Times since 1970 at which machines started; the newest is this one's. */
  boot = NOON - HOUR_MS;
  freeBytes = 1e12;
  isEarly = false;
  tenants = [2];
  foreign = new Set<number>();
  readonly records = new Map<string, string>();
  readonly audits: string[] = [];
  readonly refused: string[] = [];
  events = Array.from({ length: 10 }, (_, index) => index + 1);
  /** Called for each that is gone, with what is left. */
  onRemoved: (left: number) => void | Promise<void> = () => undefined;
  /** Told before each change of records; may throw. */
  onRequest: () => void = () => undefined;
  /** Thrown by the next calls, in turn. */
  failures: (Error | undefined)[] = [];
  private id = 1_000;
  store: RetentionStore = {
    next: async (_tenant: number, target: RetentionTarget, after: string) => {
      this.fail();
      const found = target.dataType === 'EVENT' ? this.events.filter((id) => id > Number(after)).slice(0, 3) : [];
      return found.length === 0 ? undefined : { through: String(found[found.length - 1]), count: found.length };
    },
    remove: async (_tenant, _target, after, through, isWanted) => {
      const isOfPart = (id: number): boolean => id > Number(after) && id <= Number(through);
      for (let id = this.events.find(isOfPart); id !== undefined; id = this.events.find(isOfPart)) {
        if (!(await isWanted())) return this.events.filter(isOfPart).length;
        this.events = this.events.filter((other) => other !== id);
        await this.onRemoved(this.events.length);
      }
      // After the removal: what a crash in between looks like.
      this.fail();
      return 0;
    },
  };

  private fail(): void {
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
  }

  request(command: Command): void {
    this.onRequest();
    const { changes, audits = [] } = command.body as RecordsChange;
    const key = (id: string): string => `${command.tenant}/${id}`;
    for (const change of changes) {
      const { id } = change;
      if (!isAsExpected(change, this.records.get(key(id))))
        throw new PlatformError('general/changed-meanwhile', { collection: 'retentionRule', id });
    }
    for (const { id, value } of changes) {
      if (value === undefined) this.records.delete(key(id));
      else this.records.set(key(id), value);
    }
    this.audits.push(...audits.map(({ text }) => text));
  }

  runner(defaultDays = 60): RetentionRunner {
    const world = this;
    const commands = { request: async <Answer>(command: Command): Promise<Answer> => world.request(command) as Answer };
    const refusals = { count: (limit: string) => void world.refused.push(limit) };
    const documents: DocumentReader = {
      get: (_collection, tenant, id) => world.records.get(`${tenant}/${id}`),
      getMany: () => [],
      list: (_collection, tenant, prefix, { limit }) =>
        [...world.records]
          .filter(([key]) => key.startsWith(`${tenant}/${prefix}`))
          .sort()
          .slice(0, limit)
          .map(([key, value]) => ({ id: key.slice(String(tenant).length + 1), value })),
    };
    const clock = new ClockTrust({
      commands,
      documents,
      refusals,
      log: quiet,
      now: () => world.now,
      differenceMaxMs: DAY_MS,
      settleMs: DAY_MS,
      steady: { boot: String(world.boot), now: () => world.now - world.setForwardMs - world.boot },
      newestKnown: () => newestRetentionDay(documents, world.tenants),
    });
    return new RetentionRunner({
      commands,
      documents,
      clock,
      store: this.store,
      ids: {
        nextInOrder: async () => {
          world.id += 1;
          return world.id;
        },
      } as never,
      tenants: () => world.tenants,
      isMine: (tenant) => !world.foreign.has(tenant),
      hour: 2,
      defaultDays,
      refusals,
      log: quiet,
      now: () => world.now,
      disk: {
        freeBytes: () => world.freeBytes,
        warnBytes: 1e9,
        get isEarly() {
          return world.isEarly;
        },
      },
    });
  }

  setForward(ms: number): void {
    this.now += ms;
    this.setForwardMs += ms;
  }

  /** The machine starts, with the clock of the world. */
  reboot(): void {
    this.boot = this.now;
    this.setForwardMs = 0;
  }

  runs(tenant = 2): RetentionRun[] {
    return [...this.records]
      .filter(([key]) => key.startsWith(`${tenant}/${RUN_PREFIX}`))
      .sort()
      .map(([, value]) => JSON.parse(value) as RetentionRun);
  }

  state(tenant = 2): RetentionState {
    return JSON.parse(this.records.get(`${tenant}/state`) ?? '{}') as RetentionState;
  }
}

export async function stepAll(runner: RetentionRunner): Promise<number> {
  for (let steps = 1; steps < 1_000; steps += 1) if (!(await runner.step())) return steps;
  throw new Error('it does not end');
}
