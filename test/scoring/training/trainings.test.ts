/** Trainings as records: what is one change with a model, and what an interruption is shown as (docs/spec/scoring.md#clustering). */
import t from 'tap';
import { SCORING_RECORDS } from '../../../src/model/entities/scoring/model.ts';
import { changeRecords } from '../../../src/records/records.ts';
import type { Guard, RecordParts } from '../../../src/scoring/records.ts';
import { Trainings } from '../../../src/scoring/training/trainings.ts';
import { FakePlatform, NOW } from '../../api/helpers/fake-platform.ts';
import { until } from '../../helpers/until.ts';

const TENANT = 2;

function setUp(train: () => Promise<unknown>, deploy?: (records: RecordParts, others: Guard) => Promise<unknown>) {
  const fake = new FakePlatform();
  let now = NOW;
  const records = { ...(fake.platform() as unknown as RecordParts), now: () => now };
  const trainings = new Trainings({
    pool: {
      run: (async ({ kind }: { kind: string }) =>
        kind === 'series' ? { kind: 'series', count: 1 } : train()) as never,
    },
    blobs: fake.blobs,
    refusals: { count: () => undefined },
    log: fake.platform().log,
    deploy: (async (parts: RecordParts, _asker: unknown, _upload: unknown, others: Guard) =>
      deploy?.(parts, others)) as never,
  });
  const begin = (autoDeploy: boolean) =>
    trainings.begin(records, { tenant: TENANT, user: 'u' }, async () => Buffer.from('{}'), autoDeploy);
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
