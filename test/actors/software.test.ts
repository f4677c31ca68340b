/** The list of software of a device (docs/spec/software.md#lists): found or made once, changed by its own actor. */
import t from 'tap';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { SOFTWARE_BYTES_MAX, SOFTWARE_PACKAGES_MAX } from '../../src/model/entities/software.ts';
import { openPlatform } from './platform.ts';
import type { Platform } from './platform.ts';

const entry = (name: string, version: string, more: object = {}) => ({ name, version, ...more });

const ensure = async (platform: Platform, id: string): Promise<string> =>
  (await platform.request<{ id: string }>({ kind: COMMAND.SOFTWARE_LIST_ENSURE, key: 5, body: { id } })).id;

function changer(platform: Platform, id: string) {
  return async (how: string, ...packages: object[]): Promise<unknown> => {
    const body = { steps: [{ how, packages: JSON.stringify(packages) }] };
    await platform.request({ kind: COMMAND.SOFTWARE_CHANGE, key: Number(id), body });
    return platform.get('managedObject', id)?.['c8y_SoftwareList'];
  };
}

for (const isAsync of [false, true]) {
  t.test(`a list, on a store that answers ${isAsync ? 'later' : 'at once'}`, async (t) => {
    const platform = openPlatform(t, { isAsync });
    await platform.create('5');
    await t.rejects(platform.request({ kind: COMMAND.SOFTWARE_LIST_ENSURE, key: 6, body: { id: '7' } }), {
      code: 'source/not-found',
    });
    t.same(await Promise.all([ensure(platform, '10'), ensure(platform, '11')]), ['10', '10'], 'made once');
    t.equal(await ensure(platform, '12'), '10');
    t.match(platform.get('managedObject', '10'), { type: 'c8y_InstalledSoftwareList', owner: 'ada' });
    t.same(platform.ids('children'), ['5\nchildAdditions\n10']);
    const change = changer(platform, '10');
    const both = [entry('a', '1', { softwareType: 'apt' }), entry('a', '1', { softwareType: 'snap', x: 1 })];
    t.same(await change('set', ...both), both);
    t.same(await change('add', entry('a', '2', { softwareType: 'apt' }), entry('b', '1')), [
      entry('a', '2', { softwareType: 'apt' }),
      both[1],
      entry('b', '1'),
    ]);
    t.same(await change('remove', entry('a', '1'), entry('c', '1')), [
      entry('a', '2', { softwareType: 'apt' }),
      entry('b', '1'),
    ]);
    t.same(await change('remove', { name: 'a' }), [entry('b', '1')], 'every version');
    t.same(
      await change('add', entry('b', '2'), entry('k', '1'), entry('k', '2'), entry('k', '2', { url: 'u' })),
      [entry('b', '2'), entry('k', '1'), entry('k', '2', { url: 'u' })],
      'versions that come together stay',
    );
    t.same(await change('set'), []);
    await t.rejects(change('set', ...Array.from({ length: SOFTWARE_PACKAGES_MAX + 1 }, () => ({}))), {
      code: 'software/packages',
    });
    await t.rejects(change('add', entry('x'.repeat(SOFTWARE_BYTES_MAX), '1')), { code: 'software/list-bytes' });
    t.same(await change('add'), [], 'nothing of it is taken');
    await platform.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: 10, body: {} });
    t.same(platform.ids('softwareList'), [], 'deleted');
    t.equal(await ensure(platform, '13'), '13');
    const link = { kind: 'childAdditions', child: '13', parent: '5' };
    await platform.request({ kind: COMMAND.CHILD_REMOVE, key: 5, body: link });
    t.equal(await ensure(platform, '14'), '14', 'unlinked');
    await platform.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: 5, body: {} });
    t.same([platform.ids('softwareList'), platform.ids('managedObject')], [[], ['13']], 'with its device');
  });
}
