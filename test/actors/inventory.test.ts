/** Managed objects, their links and external IDs. */
import t from 'tap';
import type { Test } from 'tap';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { ChildKind } from '../../src/model/commands/links.ts';
import type { CommandKind } from '../../src/model/commands/kinds.ts';
import type { RecordChange } from '../../src/model/commands/records.ts';
import { idKey, subscriptionKey } from '../../src/model/entities/notifications/subscription.ts';
import type { NotificationSubscription } from '../../src/model/entities/notifications/subscription.ts';
import type { Platform } from './platform.ts';
import { NOW, openPlatform, until } from './platform.ts';

const TIME = new Date(NOW).toISOString();
const LATER = NOW + 60_000;
const link = (platform: Platform, parent: string, child: string, kind: ChildKind = 'childDevices') =>
  platform.request({ kind: COMMAND.CHILD_ADD, key: Number(parent), body: { kind, child, parent } });
const unlink = (platform: Platform, parent: string, child: string, kind: ChildKind = 'childDevices') =>
  platform.request({ kind: COMMAND.CHILD_REMOVE, key: Number(parent), body: { kind, child, parent } });
const update = (platform: Platform, id: string, doc: string, extra: object = {}) =>
  platform.request({
    kind: COMMAND.MANAGED_OBJECT_UPDATE,
    key: Number(id),
    receivedAt: LATER,
    body: { doc, mayChangeOwner: false, ...extra },
  });
const remove = (platform: Platform, id: string) =>
  platform.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: Number(id), body: {} });
const bind = (platform: Platform, id: string, type: string, externalId: string) =>
  platform.request({
    kind: COMMAND.EXTERNAL_ID_BIND,
    key: `x:${type}\n${externalId}`,
    body: { type, externalId, managedObject: id },
  });
const ensure = (platform: Platform, externalId: string, id: string, extra: object = {}) =>
  platform.request<{ id: string; created: boolean }>({
    kind: COMMAND.DEVICE_ENSURE,
    key: `x:c8y_Serial\n${externalId}`,
    body: { type: 'c8y_Serial', externalId, id, owner: 'ada', doc: '{"name":"d","c8y_IsDevice":{}}', ...extra },
  });

t.test('create: as sent, with what the server keeps', async (t) => {
  const platform = openPlatform(t);
  const sent =
    '{"10":1.0,"2":{},"id":"99","self":"x","creationTime":"x","lastUpdated":"x",' +
    '"childDevices":[],"deviceParents":{},"type":"T","n":null}';
  const { doc } = await platform.create('5', sent);
  t.equal(doc, `{"id":"5","10":1.0,"2":{},"type":"T","owner":"ada","creationTime":"${TIME}","lastUpdated":"${TIME}"}`);
  t.equal(platform.stored.get('managedObject', 1, '5'), doc);
  t.equal((await platform.create('5', '{"other":1}')).doc, doc, 'a second one with this id changes nothing');
  t.match((await platform.create('6', '{"owner":"bob"}')).doc, '"owner":"bob"');
  t.same(
    platform.notifications.map(({ area, source, action }) => `${area} ${source} ${action}`),
    ['managedobjects 5 CREATE', 'managedobjects 6 CREATE'],
  );
  t.match(JSON.parse(platform.rows[0].text), {
    id: 5,
    type: 'T',
    owner: 'ada',
    fragments: ['10', '2'],
    parents: [],
    doc,
    deleted: 0,
    version: 1,
  });
});

t.test('update: merge, null, kept members, owner, only when absent, nothing new', async (t) => {
  const platform = openPlatform(t);
  await platform.create('5', '{"a":1,"b":{"x":1,"y":2},"c":3}');
  const check = async (sent: string, want: object, extra: object = {}): Promise<void> => {
    const { doc } = await update(platform, '5', sent, extra);
    t.match(JSON.parse(doc), want, sent);
    t.equal(platform.stored.get('managedObject', 1, '5'), doc);
  };
  await check('{"b":{"z":1},"c":null,"d":4}', {
    a: 1,
    b: { z: 1, x: undefined },
    c: undefined,
    d: 4,
    creationTime: TIME,
    lastUpdated: new Date(LATER).toISOString(),
  });
  await check('{"id":"9","self":"s","creationTime":"x","lastUpdated":null,"childAssets":1,"owner":"eve"}', {
    id: '5',
    owner: 'ada',
    creationTime: TIME,
    self: undefined,
  });
  await check('{"owner":"eve"}', { owner: 'eve' }, { mayChangeOwner: true });
  await check('{"a":7,"e":8}', { a: 1, e: 8 }, { onlyWhenAbsent: true });
  const before = platform.notifications.length;
  await check('{}', { a: 1 });
  await check('{"a":1,"nothing":null,"id":"9"}', { a: 1 });
  t.equal(platform.notifications.length, before, 'no notification without a change');
  await t.rejects(update(platform, '6', '{"a":1}'), { code: 'inventory/not-found' });
  await t.rejects(update(platform, '5', '{'), { code: 'general/bad-json' });
});

t.test('templates of a collection change only by a command that says so, and rows do not delete it', async (t) => {
  const platform = openPlatform(t);
  const [two, one] = ['com_platform_model_smartrest_csv_CsvSmartRestTemplate', 'c8y_SmartRestTemplate'];
  const other = 'com_cumulocity_model_smartrest_csv_CsvSmartRestTemplate';
  await platform.create('5', `{"${two}":{"a":1}}`);
  await platform.create('6', `{"${one}":{"rows":"x"},"c8y_IsDeviceGroup":{}}`);
  const fixed = { code: 'smartrest/fixed-collection' };
  for (const [id, name, text] of [
    ['5', two, '{"a":2}'],
    ['5', two, 'null'],
    ['5', other, '{"a":2}'],
    ['6', one, '{"rows":"y"}'],
  ])
    await t.rejects(update(platform, id, `{"${name}":${text}}`, { mayChangeOwner: true }), fixed, `${id} ${name}`);
  await update(platform, '5', `{"name":"n","${two}":{"a":1},"${other}":null}`);
  t.match(await update(platform, '5', `{"${two}":{"a":2}}`, { mayChangeTemplates: true }), { doc: /"a":2/ });
  await platform.create('7', '{"c8y_IsDeviceGroup":{}}');
  await link(platform, '7', '5', 'childAdditions');
  const removeByRows = (id: string): Promise<unknown> =>
    platform.request({
      kind: COMMAND.MANAGED_OBJECT_DELETE,
      key: Number(id),
      body: { forceCascade: true, keepsCollections: true },
    });
  await t.rejects(removeByRows('6'), fixed);
  await removeByRows('7');
  await until(() => platform.ids('parents').length === 0);
  t.same(platform.ids('managedObject'), ['5', '6']);
  await remove(platform, '5');
});

t.test('child links: both sides, each once, no cycles, only what exists', async (t) => {
  const platform = openPlatform(t);
  for (const id of ['1', '2', '3', '10']) await platform.create(id);
  await link(platform, '1', '2');
  await link(platform, '1', '2');
  await link(platform, '2', '3', 'childAssets');
  await link(platform, '1', '3', 'childAdditions');
  t.same(platform.ids('children'), ['1\nchildAdditions\n3', '1\nchildDevices\n2', '2\nchildAssets\n3']);
  t.same(platform.ids('parents'), ['2\nchildDevices\n1', '3\nchildAdditions\n1', '3\nchildAssets\n2']);
  const parentsOf3 = platform.rows
    .map(({ text }) => JSON.parse(text) as { id: number; parents: number[] })
    .filter(({ id }) => id === 3)
    .at(-1)?.parents;
  t.same(parentsOf3?.sort(), [1, 2]);
  for (const [parent, child] of [
    ['1', '1'],
    ['2', '1'],
    ['3', '1'],
    ['3', '2'],
  ]) {
    for (const kind of ['childDevices', 'childAssets', 'childAdditions'] as const) {
      await t.rejects(link(platform, parent, child, kind), { code: 'inventory/cycle' }, `${child} below ${parent}`);
    }
  }
  await t.rejects(link(platform, '1', '99'), { code: 'inventory/not-found' });
  await t.rejects(link(platform, '99', '1'), { code: 'inventory/not-found' });
  await t.rejects(unlink(platform, '1', '10'), { code: 'inventory/not-a-child' });
  await t.rejects(unlink(platform, '99', '1'), { code: 'inventory/not-found' });
  platform.notifications.length = 0;
  await unlink(platform, '2', '3', 'childAssets');
  await unlink(platform, '1', '3', 'childAdditions');
  t.match(
    platform.notifications,
    [
      { area: 'managedobjects', source: '2', action: 'UPDATE', text: platform.stored.get('managedObject', 1, '2') },
      { area: 'managedobjects', source: '1', action: 'UPDATE' },
    ],
    'the parents changed',
  );
  t.same(platform.ids('parents'), ['2\nchildDevices\n1']);
  await link(platform, '3', '1');
  t.same(platform.ids('pending', '', 0), []);
  const created = await platform.create('4', '{}', { parent: { id: '2', kind: 'childDevices' } });
  t.match(created.doc, '"id":"4"');
  t.ok(platform.ids('parents').includes('4\nchildDevices\n2'), 'the answer comes when the link is made');
});

t.test('deletion: links on both sides, child additions, external IDs, data', async (t) => {
  const platform = openPlatform(t);
  for (const id of ['1', '2', '3', '4', '22']) await platform.create(id);
  await link(platform, '1', '2');
  await link(platform, '2', '3');
  await link(platform, '2', '4', 'childAdditions');
  await link(platform, '22', '3');
  await bind(platform, '2', 'T', 'a');
  await bind(platform, '2', 'T', 'line\nfeed');
  await bind(platform, '22', 'T', 'b');
  const commands: string[] = [];
  platform.onGroup = (_firstSeq, _lastSeq, records) => {
    commands.push(records.toString('latin1'));
  };
  await remove(platform, '2');
  for (const source of ['2', '4'])
    t.ok(
      commands.some((text) => text.includes(`{"source":"${source}"}`)),
      'its measurements, events, alarms and operations go too',
    );
  t.same(platform.ids('managedObject'), ['1', '22', '3'], 'with its child additions');
  t.same(platform.ids('children'), ['22\nchildDevices\n3']);
  t.same(platform.ids('parents'), ['3\nchildDevices\n22']);
  t.same(platform.ids('externalId'), ['T\nb']);
  t.same(platform.ids('externalIdsOf'), ['22\nT\nb']);
  t.same(platform.ids('pending', '', 0), []);
  t.match(
    platform.notifications.filter(({ action }) => action === 'DELETE'),
    [{ source: '2', text: '"2"' }, { source: '4' }],
  );
  await t.rejects(remove(platform, '2'), { code: 'inventory/not-found' });
  await t.rejects(update(platform, '2', '{"a":1}'), { code: 'inventory/not-found' });
});

t.test('links and deletions that race leave no dangling side', async (t) => {
  for (let round = 0; round < 20; round += 1) {
    const platform = openPlatform(t);
    for (const id of ['1', '2', '3']) await platform.create(id);
    const racing = [
      () => link(platform, '1', '2'),
      () => remove(platform, '2'),
      () => link(platform, '2', '3', 'childAssets'),
      () => bind(platform, '2', 'T', 'a'),
      () => link(platform, '3', '1'),
      () => remove(platform, round % 2 === 0 ? '1' : '3'),
    ];
    for (let index = racing.length - 1; index > 0; index -= 1) {
      const other = (round * 7 + index * 3) % (index + 1);
      [racing[index], racing[other]] = [racing[other], racing[index]];
    }
    await Promise.allSettled(
      racing.map(async (run, index) => {
        for (let turn = 0; turn < (round * index) % 5; turn += 1)
          await new Promise((resolve) => {
            setImmediate(resolve);
          });
        return run();
      }),
    );
    await platform.settled();
    const objects = new Set(platform.ids('managedObject'));
    const sides = (entries: string[], isParentFirst: boolean): string[] =>
      entries
        .map((entry) => {
          const [first, kind, second] = entry.split('\n');
          return isParentFirst ? `${first} ${kind} ${second}` : `${second} ${kind} ${first}`;
        })
        .sort();
    const children = sides(platform.ids('children'), true);
    t.same(children, sides(platform.ids('parents'), false), `round ${round}`);
    t.ok(
      children.every((entry) => objects.has(entry.split(' ')[0]) && objects.has(entry.split(' ')[2])),
      `round ${round}: ${children.join()}`,
    );
    t.same(platform.ids('externalId').length, platform.ids('externalIdsOf').length);
    t.equal(platform.ids('externalId').length > 0, false, 'object 2 is gone, so its external ID is');
    t.same(platform.ids('pending', '', 0), []);
  }
});

/** Whether somebody is below himself, by the notes of one side. */
const hasCycle = (parents: readonly string[]): boolean => {
  const above = (id: string, seen: readonly string[]): boolean =>
    seen.includes(id) ||
    parents.filter((entry) => entry.startsWith(`${id}\n`)).some((entry) => above(entry.split('\n')[2], [...seen, id]));
  return parents.some((entry) => above(entry.split('\n')[0], []));
};

t.test('follow-ups that overtake each other leave no one-sided link or external ID', async (t) => {
  const platform = openPlatform(t);
  for (const id of ['1', '2']) await platform.create(id);
  const body = { kind: 'childDevices', child: '2', parent: '1' };
  const late = (kind: CommandKind): Promise<unknown> => platform.request({ kind, key: 2, body });
  await late(COMMAND.PARENT_ADD);
  t.same(platform.ids('parents'), [], 'what the parent does not have');
  await link(platform, '1', '2');
  await late(COMMAND.PARENT_REMOVE);
  t.same(platform.ids('parents'), ['2\nchildDevices\n1'], 'what the parent has again');
  const note = (kind: CommandKind): Promise<unknown> =>
    platform.request({ kind, key: 2, body: { type: 'a', externalId: 'x', managedObject: '2' } });
  await note(COMMAND.EXTERNAL_ID_NOTE);
  t.same(platform.ids('externalIdsOf'), [], 'what is not bound');
  await bind(platform, '2', 'a', 'x');
  await note(COMMAND.EXTERNAL_ID_FORGET);
  t.same(platform.ids('externalIdsOf'), ['2\na\nx'], 'what is bound again');
});

t.test('what is above a parent is looked through only for a child that has children', async (t) => {
  const platform = openPlatform(t);
  for (const id of ['1', '2', '3', '4']) await platform.create(id);
  await link(platform, '1', '2');
  const { list } = platform.stored;
  let climbs = 0;
  platform.stored.list = (...asked: Parameters<typeof list>) => {
    if (asked[0] === 'parents' && asked[2] === '2\n') climbs += 1;
    return list.apply(platform.stored, asked);
  };
  await link(platform, '2', '3');
  t.equal(climbs, 0);
  await link(platform, '3', '4');
  await unlink(platform, '2', '3');
  await link(platform, '2', '3');
  t.ok(climbs > 0);
});

t.test('links that are made at once make no cycle, and have two sides', async (t) => {
  for (const isAsync of [false, true]) {
    for (let count = 2; count <= 4; count += 1) {
      const platform = openPlatform(t, { isAsync });
      const ids = Array.from({ length: count }, (_, index) => String(index + 1));
      for (const id of ids) await platform.create(id);
      await Promise.allSettled(ids.map((id, index) => link(platform, id, ids[(index + 1) % count], 'childAssets')));
      await platform.settled();
      const parents = platform.ids('parents');
      t.notOk(hasCycle(parents), `${count} links`);
      t.same(
        parents.map((entry) => entry.split('\n').reverse().join('\n')).sort(),
        platform.ids('children').sort(),
        'the same at both sides',
      );
      t.same(platform.ids('pending', '', 0), []);
      if (!isAsync) t.equal(parents.length, count - 1, 'all but one');
    }
  }
});

for (const isAsync of [false, true]) {
  t.test(`links that are taken back, but for those that others have asked for, asynchronous: ${isAsync}`, async (t) => {
    const platform = openPlatform(t, { isAsync });
    for (const id of ['1', '2', '3', '4', '5']) await platform.create(id);
    const all = (kind: CommandKind, children: string[], maker: string) =>
      platform.request({ kind, key: 1, body: { kind: 'childAssets', children, parent: '1', maker } });
    const children = (): string[] => platform.ids('children').map((id) => id.slice('1\nchildAssets\n'.length));
    await link(platform, '1', '2', 'childAssets');
    await all(COMMAND.CHILD_ADD, ['2', '3', '4', '5'], 'by 7');
    await all(COMMAND.CHILD_ADD, ['4', '99'], 'by 8');
    await link(platform, '1', '5', 'childAssets');
    await all(COMMAND.CHILD_REMOVE, ['2', '3', '4', '5', '99'], 'by 7');
    t.same(children(), ['2', '4', '5'], 'there before, asked for by another command for several and for one');
    await all(COMMAND.CHILD_REMOVE, ['2', '4', '5'], 'by 8');
    t.same(children(), ['2', '4', '5']);
    t.same(platform.ids('parents').length, 3);
    t.same(platform.ids('pending', '', 0), []);
  });
}

t.test('a link that is asked for again is answered when its child has decided', async (t) => {
  const platform = openPlatform(t);
  await platform.create('1');
  const all = (maker: string) =>
    platform.request({
      kind: COMMAND.CHILD_ADD,
      key: 1,
      body: { kind: 'childAssets', children: ['98', '99'], parent: '1', maker },
    });
  await Promise.all([
    all('by 7'),
    all('by 8').then(() => t.same(platform.ids('children'), [], 'none of them is there')),
  ]);
  t.same(platform.ids('parents'), []);
});

t.test('several links of one parent: all or none', async (t) => {
  const platform = openPlatform(t);
  for (const id of ['1', '2', '3', '4']) await platform.create(id);
  const all = (kind: CommandKind, children: string[]) =>
    platform.request({ kind, key: 2, body: { kind: 'childAssets', children, parent: '2' } });
  await link(platform, '1', '2', 'childAssets');
  for (const own of ['1', '2'])
    await t.rejects(all(COMMAND.CHILD_ADD, ['3', own, '4']), { code: 'inventory/cycle', details: { child: own } });
  t.same(platform.ids('children'), ['1\nchildAssets\n2']);
  platform.notifications.length = 0;
  await all(COMMAND.CHILD_ADD, ['3', '4', '99']);
  t.same(
    platform.ids('children'),
    ['1\nchildAssets\n2', '2\nchildAssets\n3', '2\nchildAssets\n4'],
    'a child that is gone undoes its own',
  );
  t.same(platform.ids('parents'), ['2\nchildAssets\n1', '3\nchildAssets\n2', '4\nchildAssets\n2']);
  await all(COMMAND.CHILD_REMOVE, ['3', '4']);
  t.same([platform.ids('children'), platform.ids('parents')], [['1\nchildAssets\n2'], ['2\nchildAssets\n1']]);
  t.same(platform.ids('pending', '', 0), []);
});

t.test('an object that is made for a link goes again when the link is refused', async (t) => {
  const platform = openPlatform(t);
  await platform.create('1', '{}', { parent: { id: '99', kind: 'childAssets', isRequired: true } });
  await platform.create('2', '{}', { parent: { id: '99', kind: 'childAssets' } });
  t.same(platform.ids('managedObject'), ['2']);
  t.same(platform.ids('pending', '', 0), []);
});

t.test('external IDs: one object each', async (t) => {
  const platform = openPlatform(t);
  await platform.create('1');
  await platform.create('2');
  await bind(platform, '1', 'T', 'a');
  for (const id of ['1', '2']) await t.rejects(bind(platform, id, 'T', 'a'), { code: 'identity/duplicate' });
  await bind(platform, '2', 'U', 'a');
  await t.rejects(bind(platform, '9', 'T', 'b'), { code: 'inventory/not-found' });
  const unbind = (type: string, externalId: string) =>
    platform.request({
      kind: COMMAND.EXTERNAL_ID_UNBIND,
      key: `x:${type}\n${externalId}`,
      body: { type, externalId, managedObject: '' },
    });
  await t.rejects(unbind('T', 'b'), { code: 'identity/not-found' });
  await unbind('T', 'a');
  t.same([platform.ids('externalId'), platform.ids('externalIdsOf')], [['U\na'], ['2\nU\na']]);
  await bind(platform, '2', 'T', 'a');
  const taken = await Promise.allSettled(['1', '2', '1', '2'].map((id) => bind(platform, id, 'T', 'raced')));
  t.equal(taken.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const length of [1_700, 2_000, 60_000]) {
    const bound = await bind(platform, '1', 'long', 'x'.repeat(length)).then(
      () => 'taken',
      (error: { code: string }) => error.code,
    );
    t.equal(bound, length < 1_800 ? 'taken' : 'validation/invalid-field', `${length} bytes`);
  }
  await platform.create('77', '{}');
});

t.test('a serial of a registered or announced device is bound by that device, and by who claims nothing', async (t) => {
  const platform = openPlatform(t);
  await platform.create('1');
  const change = (tenant: number, changes: readonly RecordChange[]): Promise<unknown> =>
    platform.request({ kind: COMMAND.RECORDS_CHANGE, tenant, key: 't', body: { changes } });
  await change(
    0,
    ['t\n1\nexpected', 't\n2\nelsewhere'].map((id) => ({
      collection: 'deviceRequest',
      id,
      expected: undefined,
      value: '1',
    })),
  );
  await platform.request({
    kind: COMMAND.USER_PUT,
    key: 't',
    body: { userName: 'device_known', roles: [], doc: '{}' },
  });
  const claim = (claimant: string, type: string, externalId: string): Promise<unknown> =>
    platform.request({
      kind: COMMAND.EXTERNAL_ID_BIND,
      key: `x:${type}\n${externalId}`,
      body: { type, externalId, managedObject: '1', claimant },
    });
  for (const serial of ['known', 'expected']) {
    await t.rejects(claim('device_thief', 'c8y_Serial', serial), {
      code: 'identity/reserved',
      message: new RegExp(serial),
    });
    await t.rejects(ensure(platform, serial, '21', { claimant: 'device_thief' }), { code: 'identity/reserved' });
    await claim('device_thief', 'my_Type', serial);
  }
  t.same(platform.ids('externalId'), ['my_Type\nexpected', 'my_Type\nknown']);
  t.same(platform.ids('managedObject'), ['1'], 'nothing is made');
  t.match(await ensure(platform, 'known', '21', { claimant: 'device_known', owner: 'device_known' }), {
    created: true,
  });
  t.match(
    await ensure(platform, 'known', '22', { claimant: 'device_thief' }),
    { id: '21', created: false },
    'which is bound: others decide about it',
  );
  for (const serial of ['elsewhere', 'free', 'a:b']) await claim('device_thief', 'c8y_Serial', serial);
  await bind(platform, '1', 'c8y_Serial', 'expected');
});

t.test('the first message of a device creates it once, whoever else is first', async (t) => {
  const platform = openPlatform(t);
  const answers = await Promise.all(['11', '12', '13', '14'].map((id) => ensure(platform, 's1', id)));
  t.same(
    answers.map(({ created }) => created),
    [true, false, false, false],
  );
  t.same(new Set(answers.map(({ id }) => id)), new Set(['11']));
  t.same(platform.ids('managedObject'), ['11']);
  t.same(platform.ids('externalIdsOf'), ['11\nc8y_Serial\ns1']);
  t.match(platform.get('managedObject', '11'), { name: 'd', owner: 'ada', c8y_IsDevice: {} });
  t.same(await ensure(platform, 's1', '15', { doc: '{"name":"new"}' }), { id: '11', created: false });
  t.match(platform.get('managedObject', '11'), { name: 'd' });
  await ensure(platform, 's1', '15', { doc: '{"name":"new"}', updateExisting: true });
  t.match(platform.get('managedObject', '11'), { name: 'new' });
  t.same(await ensure(platform, 's1', '16', { mustOwn: true }), { id: '11', created: false });
  await t.rejects(ensure(platform, 's1', '16', { mustOwn: true, owner: 'device_s1' }), { code: 'identity/duplicate' });
  await ensure(platform, 'child', '20', { parent: { id: '11', kind: 'childDevices' } });
  t.same(platform.ids('parents'), ['20\nchildDevices\n11']);
  await remove(platform, '11');
  t.same(await ensure(platform, 's1', '21'), { id: '21', created: true }, 'a deleted device comes back as a new one');
});

const cascade = (platform: Platform, id: string, body: object) =>
  platform.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: Number(id), body });

/**
 * Group 1 with subgroup 2, which has device 4 with child device 5; device 3 is in 1 and in group 9; 6 is an asset of
 * device 3.
 */
async function openHierarchy(t: Test): Promise<Platform> {
  const platform = openPlatform(t);
  for (const id of ['1', '9']) await platform.create(id, '{"type":"c8y_DeviceGroup"}');
  await platform.create('2', '{"c8y_IsDeviceGroup":{}}');
  for (const id of ['3', '4', '5']) await platform.create(id, '{"c8y_IsDevice":{}}');
  await platform.create('6');
  await link(platform, '1', '2', 'childAssets');
  for (const parent of ['1', '9']) await link(platform, parent, '3', 'childAssets');
  await link(platform, '2', '4', 'childAssets');
  await link(platform, '4', '5');
  await link(platform, '3', '6', 'childAssets');
  return platform;
}

t.test('deletion of a hierarchy: by flags, other parents count', async (t) => {
  const check = async (id: string, body: object, left: string[]): Promise<void> => {
    const platform = await openHierarchy(t);
    await cascade(platform, id, body);
    t.same(platform.ids('managedObject'), left, `${id} ${JSON.stringify(body)}`);
    for (const side of ['children', 'parents'] as const) {
      t.ok(
        platform.ids(side).every((entry) => left.includes(entry.split('\n')[0]) && left.includes(entry.split('\n')[2])),
        side,
      );
    }
    t.same(platform.ids('pending', '', 0), []);
  };
  await check('1', {}, ['3', '4', '5', '6', '9']);
  await check('1', { cascade: true }, ['3', '6', '9']);
  await check('1', { forceCascade: true }, ['6', '9']);
  await check('4', {}, ['1', '2', '3', '5', '6', '9']);
  await check('4', { cascade: true }, ['1', '2', '3', '6', '9']);
  await check('3', { cascade: true }, ['1', '2', '4', '5', '6', '9']);
  await check('1', { cascade: true, owner: 'eve' }, ['2', '3', '4', '5', '6', '9']);
});

t.test('deletion of a hierarchy: a permission above it goes for what is below too', async (t) => {
  const check = async (body: object, left: string[]): Promise<void> => {
    const platform = await openHierarchy(t);
    await cascade(platform, '1', { owner: 'eve', ...body });
    t.same(platform.ids('managedObject'), left, JSON.stringify(body));
  };
  await check({ types: ['*'] }, ['3', '4', '5', '6', '9']);
  await check({ types: ['*'], cascade: true }, ['3', '6', '9']);
  await check({ types: ['c8y_IsDeviceGroup'], cascade: true }, ['3', '4', '5', '6', '9']);
  await check({ types: ['c8y_IsDevice', 'c8y_IsDeviceGroup'], cascade: true }, ['3', '6', '9']);
  await check({ types: ['c8y_DeviceGroup'], cascade: true }, ['2', '3', '4', '5', '6', '9']);
});

t.test('the links of a large group end step by step', async (t) => {
  const platform = openPlatform(t);
  await platform.create('1', '{"c8y_IsDeviceGroup":{}}');
  const children = Array.from({ length: 1_200 }, (_, index) => String(index + 10));
  await Promise.all(children.map((id) => platform.create(id, id.endsWith('7') ? '{"c8y_IsDeviceGroup":{}}' : '{}')));
  await platform.request({ kind: COMMAND.CHILD_ADD, key: 1, body: { kind: 'childAssets', children, parent: '1' } });
  t.equal(platform.ids('parents').length, 1_200);
  await cascade(platform, '1', {});
  t.equal(platform.ids('managedObject').length, 1_080, 'its subgroups went along');
  t.same([platform.ids('children'), platform.ids('parents'), platform.ids('pending', '', 0)], [[], [], []]);
});

t.test('the agent marker is there once, under the name that was sent last', async (t) => {
  const platform = openPlatform(t);
  const [primary, branded] = ['com_platform_model_Agent', 'com_cumulocity_model_Agent'];
  const markers = (id: string): string[] =>
    Object.keys(platform.get('managedObject', id) as object).filter((name) => name.endsWith('_model_Agent'));
  await platform.create('1', `{"${branded}":{},"a":1}`);
  await platform.create('2', `{"${branded}":{},"${primary}":{}}`);
  t.same([markers('1'), markers('2')], [[branded], [primary]]);
  await update(platform, '1', '{"a":2}');
  t.same(markers('1'), [branded], 'as it was sent');
  await update(platform, '1', `{"${primary}":{}}`);
  t.same(markers('1'), [primary]);
  await update(platform, '1', `{"${branded}":null}`);
  t.same(markers('1'), [], 'removed under either name');
  await update(platform, '1', `{"${branded}":null}`);
  await update(platform, '1', `{"${branded}":{"b":1}}`);
  t.same(markers('1'), [branded]);
});

t.test('subscriptions of Notifications 2.0 go with their object, step by step', async (t) => {
  const platform = openPlatform(t);
  for (const id of ['1', '2']) await platform.create(id);
  const of = (source: string, index: number): RecordChange[] => {
    const one: NotificationSubscription = {
      id: String(Number(source) * 10_000 + index),
      context: 'mo',
      source,
      subscription: `s${index}`,
      nonPersistent: false,
    };
    return [
      {
        collection: 'notificationSubscription',
        id: subscriptionKey(one),
        expected: undefined,
        value: JSON.stringify(one),
      },
      { collection: 'notificationSubscription', id: idKey(one.id), expected: undefined, value: subscriptionKey(one) },
    ];
  };
  const changes = [...Array.from({ length: 1_100 }, (_, index) => of('1', index)).flat(), ...of('2', 1)];
  await platform.request({ kind: COMMAND.RECORDS_CHANGE, key: 't', body: { changes } });
  await platform.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: 1, body: {} });
  t.same(
    platform.ids('notificationSubscription').sort(),
    of('2', 1)
      .map(({ id }) => id)
      .sort(),
  );
});

t.test('two ways to one child: it goes with the last parent, once', async (t) => {
  const platform = openPlatform(t);
  for (const id of ['1', '2', '3']) await platform.create(id, '{"c8y_IsDeviceGroup":{}}');
  await platform.create('4');
  for (const [parent, child] of [
    ['1', '2'],
    ['1', '3'],
    ['2', '4'],
    ['3', '4'],
  ])
    await link(platform, parent, child, 'childAssets');
  await cascade(platform, '1', { cascade: true });
  t.same([platform.ids('managedObject'), platform.ids('children'), platform.ids('parents')], [[], [], []]);
  t.equal(platform.notifications.filter(({ source, action }) => source === '4' && action === 'DELETE').length, 1);
});

t.test('a child addition goes with the last of its parents, or by force', async (t) => {
  const open = async (): Promise<Platform> => {
    const platform = openPlatform(t);
    for (const id of ['1', '2', '3', '4']) await platform.create(id, '{"c8y_IsDevice":{}}');
    for (const parent of ['1', '2']) await link(platform, parent, '3', 'childAdditions');
    await link(platform, '3', '4', 'childAdditions');
    return platform;
  };
  const platform = await open();
  await cascade(platform, '1', { owner: 'eve' });
  t.same(
    [platform.ids('managedObject'), platform.ids('parents')],
    [
      ['2', '3', '4'],
      ['3\nchildAdditions\n2', '4\nchildAdditions\n3'],
    ],
  );
  await cascade(platform, '2', { owner: 'eve' });
  t.same(platform.ids('managedObject'), [], 'whoever owns it');
  for (const [body, left] of [
    [{ cascade: true }, ['2', '3', '4']],
    [{ forceCascade: true }, ['2']],
  ] as const) {
    const other = await open();
    await cascade(other, '1', body);
    t.same(other.ids('managedObject'), left, JSON.stringify(body));
  }
  const member = await open();
  await member.create('5', '{"c8y_IsDeviceGroup":{}}');
  await link(member, '5', '3', 'childAssets');
  for (const parent of ['1', '2']) await cascade(member, parent, {});
  t.same(member.ids('managedObject'), ['3', '4', '5'], 'a parent of another kind keeps it too');
});

t.test('deletion with the device user', async (t) => {
  const platform = openPlatform(t);
  for (const userName of ['device_1', 'device_2', 'ada']) {
    await platform.request({ kind: COMMAND.USER_PUT, key: 't', body: { userName, password: 'x' } });
  }
  for (const [id, owner] of [
    ['1', 'device_1'],
    ['2', 'ada'],
    ['3', 'device_2'],
    ['4', 'device_gone'],
  ]) {
    await platform.create(id, '{"c8y_IsDevice":{}}', { owner });
  }
  for (const id of ['1', '2', '4']) await cascade(platform, id, { withDeviceUser: true });
  await cascade(platform, '3', {});
  t.same(platform.ids('user'), ['ada', 'device_2']);
  t.ok(platform.usersChanged.includes('1/device_1'));
  t.same(platform.ids('managedObject'), []);
});

t.test('TRANSIENT: told, not stored', async (t) => {
  const platform = openPlatform(t);
  await platform.create('1', '{"name":"a"}');
  const before = platform.rows.length;
  const send = (kind: CommandKind, key: number, body: object): Promise<{ doc: string }> =>
    platform.request({ kind, key, body, mode: 1 });
  const created = await send(COMMAND.MANAGED_OBJECT_CREATE, 2, {
    id: '2',
    owner: 'ada',
    doc: '{"name":"b"}',
    parent: { id: '1', kind: 'childAssets' },
  });
  t.match(JSON.parse(created.doc), { name: 'b', owner: 'ada' });
  t.match(
    JSON.parse((await send(COMMAND.MANAGED_OBJECT_UPDATE, 1, { doc: '{"name":"c"}', mayChangeOwner: false })).doc),
    { name: 'c' },
  );
  t.match(platform.get('managedObject', '1'), { name: 'a' });
  t.same([platform.ids('managedObject'), platform.ids('children')], [['1'], []]);
  t.equal(platform.rows.length, before);
  t.match(platform.notifications.slice(-2), [
    { source: '2', action: 'CREATE' },
    { source: '1', action: 'UPDATE' },
  ]);
});

t.test('TRANSIENT change of an operation: told, not stored', async (t) => {
  const platform = openPlatform(t);
  await platform.create('1', '{"com_platform_model_Agent":{}}');
  await platform.request({
    kind: COMMAND.OPERATION_CREATE,
    key: 1,
    body: { id: '5', doc: '{"c8y_Restart":{}}', user: 'ada' },
  });
  const [before, open] = [platform.rows.length, platform.ids('openOperation')];
  await platform.request({
    kind: COMMAND.OPERATION_UPDATE,
    key: 1,
    mode: 1,
    body: { id: '5', doc: '{"status":"FAILED","failureReason":"no"}', user: 'ada' },
  });
  t.match(platform.get('operation', '5'), { status: 'PENDING', failureReason: undefined });
  t.same(platform.ids('openOperation'), open);
  t.equal(platform.rows.length, before, 'no row and no audit record');
  t.match(platform.notifications.at(-1), {
    area: 'operations',
    source: '1',
    action: 'UPDATE',
    text: /"status":"FAILED".*"failureReason":"no"/,
  });
});

t.test('TRANSIENT change of an event: told, not stored', async (t) => {
  const platform = openPlatform(t);
  await platform.create('1');
  const doc = '{"type":"a","text":"b","time":"2024-05-02T10:00:00.000Z"}';
  await platform.request({ kind: COMMAND.EVENT_CREATE, key: 1, body: { id: '5', type: 'a', time: NOW, doc } });
  await platform.request({ kind: COMMAND.EVENT_UPDATE, key: 1, mode: 1, body: { id: '5', doc: '{"text":"c"}' } });
  t.match(platform.get('event', '5'), { text: 'b' });
  t.match(platform.notifications.at(-1)?.text, '"text":"c"');
});
