/**
 * Counts and pages that leave rows out before versions are merged, against a plain evaluation, over random versions of
 * entities.
 */
import t from 'tap';
import { auditRow, deletedRow, entityRow, managedObjectRow } from '../../../src/actors/runtime/rows.ts';
import { HistoryFilter } from '../../../src/history/filter.ts';
import type { MutableTable } from '../../../src/history/filter.ts';
import { countDocuments } from '../../../src/history/totals.ts';
import type { HistoryReader, HistoryStatement } from '../../../src/ports/history-reader.ts';
import type { HistoryRow } from '../../../src/ports/stores/history-writer.ts';
import type { JournalCommand } from '../../../src/ingest/journal/command-record.ts';
import { parseMembers } from '../../../src/model/documents/json-document.ts';
import { openClickHouse } from '../../helpers/stores/clickhouse.ts';
import { Random } from '../../smartrest/random.ts';

const { client, writer } = await openClickHouse(t);
const history = {
  query: ({ sql, params }: HistoryStatement) => client.query(sql, params),
} as unknown as HistoryReader;
const MONTH_MS = 31 * 86_400_000;
const BEGIN = Date.UTC(2024, 0, 1);

type Doc = Record<string, string | number | object>;
/** The last version of each entity; deleted ones are none. */
const latest = new Map<MutableTable, Map<string, Doc>>();

/** A version of an entity. Members that no version changes come with the first. */
function rowOf(table: MutableTable, command: JournalCommand, id: string, source: number, doc: Doc): HistoryRow {
  const members = parseMembers(JSON.stringify(doc));
  if (table === 'managed_objects') return managedObjectRow(command, id, members, []);
  if (table === 'audits') return auditRow(command, id, members);
  return entityRow(command, table, { id, source, members });
}

t.test('conditions on what all versions share, and on what they do not', async (t) => {
  const random = new Random();
  const { seed } = random;
  const time = (ms: number): string => new Date(ms).toISOString();
  const tables: MutableTable[] = ['managed_objects', 'events', 'alarms', 'operations', 'audits'];
  let seq = 0;
  for (const table of tables) {
    const stored = new Map<string, Doc>();
    latest.set(table, stored);
    const inserts: string[][] = [[], [], []];
    for (let number = 1; number <= 200; number += 1) {
      const id = String(number);
      const source = 1 + random.below(3);
      const created = BEGIN + random.below(3) * MONTH_MS + number * 1_000;
      const fixed = {
        type: random.pick(['a', 'b']),
        time: time(created),
        creationTime: time(created),
        source: { id: String(source) },
        user: random.pick(['u', 'v']),
        application: 'x',
        ...(random.below(2) === 0 ? { bulkOperationId: '7' } : {}),
      };
      const versions = table === 'audits' ? 1 : 1 + random.below(3);
      for (let version = 0; version < versions; version += 1) {
        seq += 1;
        const command = { tenant: 5, seq, shard: 0, receivedAt: created } as unknown as JournalCommand;
        const doc = {
          ...fixed,
          status: random.pick(['ACTIVE', 'CLEARED']),
          name: random.pick(['n', 'm']),
          lastUpdated: time(created + version * MONTH_MS),
          ...(random.below(2) === 0 ? { c8y_X: {} } : {}),
        };
        const row = rowOf(table, command, id, source, doc);
        // Once more what was sent before a crash.
        for (const part of random.below(4) === 0 ? [0, 1] : [random.below(3)]) inserts[part].push(row.text);
        stored.set(id, doc);
      }
      if (table === 'audits' || random.below(4) > 0) continue;
      seq += 1;
      const members = parseMembers(JSON.stringify(fixed));
      inserts[random.below(3)].push(
        deletedRow(
          { tenant: 5, seq, shard: 0, receivedAt: created + 1 } as never,
          table,
          id,
          table === 'managed_objects' ? undefined : source,
          members,
        ).text,
      );
      stored.delete(id);
    }
    for (const rows of inserts) await writer.insertRows(table, rows);
  }
  type Condition = readonly [
    tables: string,
    add: (filter: HistoryFilter) => void,
    holds: (id: string, doc: any) => boolean,
  ];
  const border = BEGIN + MONTH_MS;
  const conditions: readonly Condition[] = [
    ['events alarms operations', (filter) => filter.id('source', '2'), (_id, { source }) => source.id === '2'],
    ['events alarms operations', (filter) => filter.idIn('source', ['1', '3']), (_id, { source }) => source.id !== '2'],
    ['audits', (filter) => filter.text('source', '2'), (_id, { source }) => source.id === '2'],
    ['events alarms audits managed_objects', (filter) => filter.text('type', 'a'), (_id, { type }) => type === 'a'],
    ['alarms audits', (filter) => filter.textIn('type', ['b']), (_id, { type }) => type === 'b'],
    ['audits', (filter) => filter.text('user', 'u'), (_id, { user }) => user === 'u'],
    ['operations', (filter) => filter.id('bulk', '7'), (_id, { bulkOperationId }) => bulkOperationId === '7'],
    ['alarms operations', (filter) => filter.text('status', 'ACTIVE'), (_id, { status }) => status === 'ACTIVE'],
    ['managed_objects', (filter) => filter.text('name', 'n'), (_id, { name }) => name === 'n'],
    [
      'managed_objects',
      (filter) => filter.idIn('id', ['3', '4', '50', '51', '52', '199']),
      (id) => ['3', '4', '50', '51', '52', '199'].includes(id),
    ],
    [
      'managed_objects events alarms operations',
      (filter) => filter.fragment('c8y_X'),
      (_id, doc) => doc.c8y_X !== undefined,
    ],
    [
      'managed_objects events alarms operations',
      (filter) => filter.time('creation_time', border, undefined),
      (_id, { creationTime }) => Date.parse(creationTime) >= border,
    ],
    [
      'managed_objects events alarms',
      (filter) => filter.time('last_updated', undefined, border),
      (_id, { lastUpdated }) => Date.parse(lastUpdated) <= border,
    ],
    [
      'events alarms audits',
      (filter) => filter.time('time', undefined, border),
      (_id, doc) => Date.parse(doc.time) <= border,
    ],
  ];
  for (const table of tables) {
    const own = conditions.filter(([names]) => names.split(' ').includes(table));
    const sets = [
      [],
      ...own.map((one) => [one]),
      ...Array.from({ length: 20 }, () => own.filter(() => random.below(3) === 0)),
    ];
    for (const set of sets) {
      const filter = new HistoryFilter(5);
      for (const [, add] of set) add(filter);
      const want = [...(latest.get(table) as Map<string, Doc>)]
        .filter(([id, doc]) => set.every(([, , holds]) => holds(id, doc)))
        .map(([id]) => Number(id));
      t.equal(
        await countDocuments({ history }, table, filter),
        want.length,
        `seed ${seed}: ${table} ${filter.clauses(table)}`,
      );
      const found = await client.query<{ id: number }>(
        `SELECT id FROM ${table} FINAL ${filter.clauses(table)} ORDER BY id`,
        filter.params,
      );
      t.same(
        found.map(({ id }) => Number(id)),
        want,
        `seed ${seed}: ${table} ${filter.clauses(table)}`,
      );
    }
  }
});
