/** The versions of tables and journal are checked before the tables are made and written after them. */
import t from 'tap';
import { COMMAND, JOURNAL_FORMAT } from '../../src/model/commands/kinds.ts';
import { SCHEMA_VERSION } from '../../src/store/clickhouse/schema.ts';
import { VERSION_DOCUMENTS, withVersions } from '../../src/store/schema-version.ts';

/** Kinds of commands of each format of the journal. A row stays as it is: a new kind takes a new format. */
const KINDS_OF_FORMAT: Readonly<Record<number, number>> = { 1: 48 };

interface Stored {
  readonly schema?: number;
  readonly journalFormat?: number;
}

function start(stored: Stored, isCutOff = false): { steps: string[]; started: Promise<void> } {
  const steps: string[] = [];
  const started = withVersions({
    documents: { get: (_collection, _tenant, id) => stored[id as keyof Stored]?.toString() },
    place: 'the cluster',
    makeTables: async () => {
      if (isCutOff) throw new Error('cut off');
      steps.push('tables');
    },
    save: async () => {
      steps.push('versions');
    },
  });
  return { steps, started };
}

t.test('the tables of a newer version are not touched', async (t) => {
  for (const [stored, message] of [
    [
      { schema: SCHEMA_VERSION + 1 },
      `the cluster has schema ${SCHEMA_VERSION + 1}; this version of Millrace knows ${SCHEMA_VERSION}: start the newer version again, or restore a backup of this one`,
    ],
    [
      { schema: SCHEMA_VERSION, journalFormat: JOURNAL_FORMAT + 1 },
      `the cluster has a journal of format ${JOURNAL_FORMAT + 1}; this version of Millrace knows ${JOURNAL_FORMAT}: start the newer version again, or restore a backup of this one`,
    ],
  ] as const) {
    const { steps, started } = start(stored);
    await t.rejects(started, { message });
    t.same(steps, []);
  }
});

t.test('the versions are written after the tables, and not when they are not made', async (t) => {
  for (const stored of [{}, { schema: 1 }, { schema: SCHEMA_VERSION, journalFormat: JOURNAL_FORMAT }]) {
    const { steps, started } = start(stored);
    await started;
    t.same(steps, ['tables', 'versions']);
  }
  const { steps, started } = start({ schema: 1 }, true);
  await t.rejects(started, { message: 'cut off' });
  t.same(steps, []);
  t.same(
    VERSION_DOCUMENTS.map(({ id, value }) => [id, value]),
    [
      ['schema', String(SCHEMA_VERSION)],
      ['journalFormat', String(JOURNAL_FORMAT)],
    ],
  );
});

t.test('a kind of command that is added raises the format of the journal', async (t) => {
  t.equal(JOURNAL_FORMAT, Math.max(...Object.keys(KINDS_OF_FORMAT).map(Number)));
  t.equal(Object.keys(COMMAND).length, KINDS_OF_FORMAT[JOURNAL_FORMAT]);
});
