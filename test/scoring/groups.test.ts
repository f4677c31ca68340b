/** Groups and deletions of their models at the same time (docs/spec/scoring.md#groups). */
import t from 'tap';
import type { Command } from '../../src/model/commands/command.ts';
import type { RecordsChange } from '../../src/model/commands/records.ts';
import { informationId, modelId, SCORING_MODELS, SCORING_RECORDS } from '../../src/model/entities/scoring/model.ts';
import { createGroup, leftGroup, listGroups } from '../../src/scoring/groups.ts';
import { listModels, removeModel } from '../../src/scoring/records.ts';
import { FakePlatform } from '../api/helpers/fake-platform.ts';

const ASKER = { tenant: 2, user: 'u' };
const GROUP = { groupName: 'g', models: ['m'], primaryModel: 'm' };

function setUp() {
  const fake = new FakePlatform();
  const platform = fake.platform();
  const stored = { name: 'm', blob: 'k', bytes: 1, compiledBytes: 1, isActive: true, createdAt: 0 };
  fake.put(SCORING_MODELS, modelId('pmml', 'm'), JSON.stringify(stored));
  fake.put(SCORING_RECORDS, informationId('pmml', 'm'), '{"description":"","inputFields":[],"outputFields":[]}');
  const remove = (parts: typeof platform) => removeModel(parts, ASKER, 'pmml', 'm', () => leftGroup(parts, ASKER, 'm'));
  /** Does something else just before the first change of that record. */
  const before = (id: string, work: () => Promise<unknown>): typeof platform => {
    let isDone = false;
    const request = async (command: Command): Promise<unknown> => {
      const { changes = [] } = command.body as RecordsChange;
      if (!isDone && changes.some((change) => change.id === id)) {
        isDone = true;
        await work();
      }
      return platform.commands.request(command);
    };
    return { ...platform, commands: { request } } as typeof platform;
  };
  return { platform, remove, before };
}

t.test('a group that takes a model while that is being deleted loses it again', async (t) => {
  const { platform, remove, before } = setUp();
  await remove(before(modelId('pmml', 'm'), () => createGroup(platform, ASKER, GROUP)));
  t.strictSame(await listModels(platform, 2, 'pmml'), []);
  t.strictSame(await listGroups(platform, 2), []);
});

t.test('a group is not stored with a model that was deleted meanwhile', async (t) => {
  const { platform, remove, before } = setUp();
  await t.rejects(
    createGroup(
      before('group\ng', () => remove(platform)),
      ASKER,
      GROUP,
    ),
    {
      code: 'scoring/model-not-found',
    },
  );
  t.strictSame(await listGroups(platform, 2), []);
});
