/** DELETE by filters: who watches is told of every measurement before the store deletes them. */
import t from 'tap';
import { DataDeletion } from '../../src/actors/data-deletion.ts';
import type { JournalCommand } from '../../src/ingest/command-record.ts';
import type { HistoryWriter } from '../../src/ingest/history-writer.ts';
import { COMMAND } from '../../src/model/command.ts';
import type { Notification } from '../../src/model/command.ts';
import { PROCESSING_MODE } from '../../src/model/processing-mode.ts';
import type { ProcessingMode } from '../../src/model/processing-mode.ts';

function run(options: { filter?: Record<string, string>; mode?: ProcessingMode; isWatched?: boolean } = {}): Promise<string[]> {
  const { filter = { source: '5' }, mode = PROCESSING_MODE.PERSISTENT, isWatched = true } = options;
  const steps: string[] = [];
  const pages = [[{ id: 7, source: 5 }, { id: 8, source: 6 }], [{ id: 9, source: 5 }], []];
  const history = {
    selectMeasurements: (tenant: number, _filter: unknown, seq: number, afterId: number) => {
      steps.push(`select ${tenant} ${seq} ${afterId}`);
      return Promise.resolve(pages.shift() ?? []);
    },
    deleteMeasurements: (tenant: number, _filter: unknown, seq: number) => Promise.resolve(void steps.push(`delete ${tenant} ${seq}`)),
  } as unknown as HistoryWriter;
  const bus = {
    hasSubscribers: () => isWatched, subscribe: () => () => undefined,
    publish: ({ tenant, area, source, action, text }: Notification) => void steps.push(`${action} ${tenant} ${area} ${source} ${text()}`),
  };
  const command: JournalCommand = { kind: COMMAND.DATA_DELETE, tenant: 2, key: 't', mode, receivedAt: 1, seq: 3, shard: 0, body: { table: 'measurements', filter } } as never;
  return new DataDeletion({ history, bus, commands: { requestBeyondBound: () => Promise.resolve() } }).run(command).then(() => steps);
}

t.test('each measurement, page by page, then the deletion', async (t) => {
  t.same(await run(), ['select 2 3 0', 'DELETE 2 measurements 5 "7"', 'DELETE 2 measurements 6 "8"', 'select 2 3 8', 'DELETE 2 measurements 5 "9"',
    'select 2 3 9', 'delete 2 3']);
});

t.test('nothing is looked for when nobody may be told', async (t) => {
  t.same(await run({ isWatched: false }), ['delete 2 3']);
  t.same(await run({ mode: PROCESSING_MODE.QUIESCENT }), ['delete 2 3']);
  t.same(await run({ filter: { id: '7' } }), ['delete 2 3'], 'the route has told it');
});
