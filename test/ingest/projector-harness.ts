/** A projector over real journal and documents, with a history store and a quarantine that outlive its process. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { JournalCommand } from '../../src/ingest/journal/command-record.ts';
import { Projector } from '../../src/ingest/projector/projector.ts';
import type { Quarantine } from '../../src/ports/stores/quarantine.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Log } from '../../src/ports/log.ts';
import { QuarantineFile } from '../../src/store/files/quarantine.ts';
import { NOW, silentLog } from '../actors/platform.ts';
import type { Platform } from '../actors/platform.ts';
import { quickDirectory } from '../helpers/until.ts';
import type { FakeHistory } from './fake-history.ts';

export const HOUR_MS = 3_600_000;

export interface Running {
  platform: Platform;
  projector: Projector;
  positions: number[];
  inserted: string[];
  deletions: number[];
}

/** One process: recovers, then projects into `history`. */
export async function start(
  t: Test,
  platform: Platform,
  history: FakeHistory,
  options: {
    rowsMax?: number;
    intervalMs?: number;
    quarantine?: Quarantine;
    log?: Log;
    beforeDeletion?: (command: JournalCommand) => Promise<void>;
  } = {},
): Promise<Running> {
  const positions: number[] = [];
  const inserted: string[] = [];
  const deletions: number[] = [];
  await platform.recover();
  const { actors, documents } = platform;
  const dead = <Value>(run: () => Promise<Value>): Promise<Value> =>
    documents.isCrashed ? new Promise<Value>(() => undefined) : run();
  const projector: Projector = new Projector({
    journal: platform.journal,
    progress: platform.memory,
    rowsMax: options.rowsMax ?? 1_000,
    intervalMs: options.intervalMs ?? HOUR_MS,
    log: options.log ?? silentLog,
    uncertainTries: 3,
    quarantine: options.quarantine ?? (await newQuarantine(t)),
    history: {
      insertMeasurements: (columns, token) => dead(() => history.insertMeasurements(columns, token)),
      storedMeasurements: (columns) => dead(() => history.storedMeasurements(columns)),
      insertRows: (table, texts) => dead(() => history.insertRows(table, texts)),
      deleteMeasurements: (deletion) => dead(() => history.deleteMeasurements(deletion)),
      selectMeasurements: (...filter) => history.selectMeasurements(...filter),
      select: (tenant, table, filter) => history.select(tenant, table, filter),
    },
    runDeletion: (command) =>
      dead(async () => {
        await options.beforeDeletion?.(command);
        const { table, filter } = command.body as { table: string; filter: Record<string, string> };
        if (table === 'measurements') {
          await history.deleteMeasurements({ tenant: 1, filter, seq: command.seq, receivedAt: command.receivedAt });
          return;
        }
        deletions.push(command.seq);
        for (const { id, source } of await history.select(1, table, filter)) {
          await platform
            .request({
              kind: table === 'events' ? COMMAND.EVENT_DELETE : COMMAND.ALARM_DELETE,
              key: source,
              body: { id: String(id) },
            })
            .catch(() => undefined);
        }
      }),
    onPosition: (position) => {
      positions.push(position);
      platform.journal.trim(Math.min(position, actors.committedSeq));
    },
    onInserted: (table, rows) => {
      inserted.push(`${table} ${rows}`);
    },
  });
  platform.onGroup = (...group) => {
    projector.offer(...group);
  };
  await projector.start();
  // Not awaited: what a process that is gone began never ends.
  t.teardown(() => {
    void projector.stop();
  });
  return { platform, projector, positions, inserted, deletions };
}

export const visible = ({ platform, projector }: Running): Promise<void> =>
  projector.visible(platform.group.lastAppendedSeq, 20_000);

/** Measurements numbered from `first`, each with one value that is its number. */
export async function measure(platform: Platform, first: number, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => platform.measure(5, [first + index])));
}

export const range = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

export const event = (id: number, source = 5) => ({
  kind: COMMAND.EVENT_CREATE,
  key: source,
  body: { id: String(id), type: 'T', time: NOW, doc: '{"type":"T"}' },
});

/** A path for the quarantine's file, gone after the test. */
export function quarantinePath(t: Test): string {
  const directory = quickDirectory();
  t.teardown(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return join(directory, 'quarantine.jsonl');
}

const newQuarantine = (t: Test): Promise<QuarantineFile> => QuarantineFile.open(quarantinePath(t));
