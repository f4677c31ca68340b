/** Trainings as records: what is one change with a model, and what an interruption is shown as (docs/spec/scoring.md#clustering). */
import t from 'tap';
import { Turns } from '../../../src/pacing/turns.ts';
import { SCORING_RECORDS } from '../../../src/model/entities/scoring/model.ts';
import { changeRecords } from '../../../src/records/records.ts';
import type { Guard, RecordParts } from '../../../src/scoring/records.ts';
import { Trainings } from '../../../src/scoring/training/trainings.ts';
import { FakePlatform, NOW } from '../../api/helpers/fake-platform.ts';
import { until, untilTurn } from '../../helpers/until.ts';

const TENANT = 2;

/** @param train called with the text of the series */
function setUp(
  train: (text: string) => Promise<unknown>,
  deploy?: (records: RecordParts, others: Guard) => Promise<unknown>,
) {
  const fake = new FakePlatform();
  let now = NOW;
  const records = { ...(fake.platform() as unknown as RecordParts), now: () => now };
  const trainings = new Trainings({
    pool: {
      run: (async ({ kind, text }: { kind: string; text: Uint8Array }) =>
        kind === 'series' ? { kind: 'series', count: 1 } : train(Buffer.from(text).toString())) as never,
    },
    uploadTurns: new Turns({
      refusals: { count: () => undefined },
      running: { all: 1 },
      waiting: { all: 9, ofUser: 9 },
      limits: { all: 'a', ofUser: 'b' },
    }),
    blobs: fake.blobs,
    refusals: { count: () => undefined },
    log: fake.platform().log,
    deploy: (async (parts: RecordParts, _asker: unknown, _upload: unknown, others: Guard) =>
      deploy?.(parts, others)) as never,
  });
  const begin = (autoDeploy: boolean, tenant = TENANT, text = '{}') =>
    trainings.begin(records, { tenant, user: 'u' }, async () => Buffer.from(text), autoDeploy);
  const statusOf = async (name: string) => (await trainings.load(records, TENANT, name)).status;
  return { fake, records, trainings, begin, statusOf, later: (ms: number) => (now += ms) };
}

const TRAINED = { kind: 'trained', clusters: Buffer.from('[{"centroid":[1],"members":["a"]}]') };

t.test('one whose node has ended is shown as a failure after a minute', async (t) => {
  let finish = (_: unknown): void => undefined;
  const { trainings, begin, statusOf, later, records } = setUp(() => new Promise((done) => (finish = done)));
  const name = await begin(false);
  later(59_000);
  t.equal(await statusOf(name), 'IN_PROGRESS');
  later(2_000);
  t.match(await trainings.load(records, TENANT, name), { status: 'FAILURE', errorMessage: /server ended/ });
  finish(TRAINED);
  await trainings.stop();
  t.match(
    await trainings.load(records, TENANT, name),
    { status: 'FAILURE', errorMessage: /server ended/ },
    'a success that comes late does not change it',
  );
});

t.test('success and the model are one change', async (t) => {
  const seen: unknown[] = [];
  const { trainings, begin, statusOf, records } = setUp(
    async () => TRAINED,
    async (parts, others) => {
      const changes = await others();
      seen.push(changes.map(({ collection, value }) => [collection, JSON.parse(value ?? '{}').status]));
      await changeRecords(parts, TENANT, changes);
      return { model: {} };
    },
  );
  const name = await begin(true);
  await until('it has succeeded', async () => (await statusOf(name)) === 'SUCCESS');
  t.same(seen, [[[SCORING_RECORDS, 'SUCCESS']]]);
  t.same(await trainings.clusters(records, TENANT, name), [{ centroid: [1], members: ['a'] }]);
});

t.test('a model that is refused fails the training', async (t) => {
  const { begin, statusOf, trainings, records } = setUp(
    async () => TRAINED,
    async () => ({ annotated: new Uint8Array() }),
  );
  const name = await begin(true);
  await until('it has failed', async () => (await statusOf(name)) === 'FAILURE');
  t.match(await trainings.load(records, TENANT, name), { errorMessage: /does not take the model/ });
  t.rejects(trainings.clusters(records, TENANT, name), { code: 'scoring/model-not-found' });
});

t.test('a fault of the server is not shown with its text', async (t) => {
  const { begin, trainings, records } = setUp(() => Promise.reject(new Error('ENOENT: /srv/millrace/data')));
  const name = await begin(false);
  await trainings.stop();
  t.match(await trainings.load(records, TENANT, name), { status: 'FAILURE', errorMessage: /^internal error$/ });
});

t.test("a tenant's trainings do not hold up another's", async (t) => {
  const running = new Map<string, () => void>();
  const { begin, statusOf, trainings } = setUp((text) => new Promise((done) => running.set(text, () => done(TRAINED))));
  const first = await begin(false, TENANT, 'a1');
  await begin(false, TENANT, 'a2');
  await begin(false, TENANT + 1, 'b1');
  await untilTurn('both tenants train', () => running.size === 2);
  t.same([...running.keys()], ['a1', 'b1'], "the tenant's second one has not begun to use its time");
  for (const next of ['a1', 'a2', 'b1']) {
    await untilTurn(`${next} trains`, () => running.has(next));
    running.get(next)?.();
  }
  await trainings.stop();
  t.equal(await statusOf(first), 'SUCCESS');
});
