/** The version of the tables is checked before them and written after them. */
import t from 'tap';
import { SCHEMA_VERSION } from '../../src/store/clickhouse/schema.ts';
import { withSchema } from '../../src/store/schema-version.ts';

function start(stored: string | undefined, isCutOff = false): { steps: string[]; started: Promise<void> } {
  const steps: string[] = [];
  const started = withSchema({
    documents: { get: () => stored },
    place: 'the cluster',
    makeTables: async () => {
      if (isCutOff) throw new Error('cut off');
      steps.push('tables');
    },
    save: async () => {
      steps.push('version');
    },
  });
  return { steps, started };
}

t.test('the tables of a newer version are not touched', async (t) => {
  const { steps, started } = start(String(SCHEMA_VERSION + 1));
  await t.rejects(started, {
    message: `the cluster has schema ${SCHEMA_VERSION + 1}; this version of Millrace knows ${SCHEMA_VERSION}`,
  });
  t.same(steps, []);
});

t.test('the version is written after its tables, and not when they are not made', async (t) => {
  for (const stored of [undefined, '1', String(SCHEMA_VERSION)]) {
    const { steps, started } = start(stored);
    await started;
    t.same(steps, ['tables', 'version']);
  }
  const { steps, started } = start('1', true);
  await t.rejects(started, { message: 'cut off' });
  t.same(steps, []);
});
