/** What response templates are tried on, once a row of a custom template has written something. */
import t from 'tap';
import { decodeMeasurement } from '../../src/ingest/measurements/record.ts';
import { PROCESSING_MODE, type ProcessingMode } from '../../src/model/commands/processing-mode.ts';
import { parseMembers } from '../../src/model/documents/json-document.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { planCustom } from '../../src/mqtt/devices/custom-messages.ts';
import type { Device } from '../../src/mqtt/devices/device.ts';
import { DeviceReplies } from '../../src/mqtt/devices/replies.ts';
import type { EntityViews } from '../../src/ports/entity-views.ts';
import { MessageRights } from '../../src/mqtt/devices/rights.ts';
import { collectionDocument, collectionOf } from '../../src/smartrest/custom/collection.ts';
import { PathBudget } from '../../src/smartrest/custom/path-values.ts';
import { silentLog } from '../actors/platform.ts';
import { settle } from './helpers/harness.ts';

const collection = collectionOf(
  parseMembers(
    collectionDocument('x', [
      ['10', 'm', 'POST', 'MEASUREMENT', 'true', 'my_M', '2024-05-02T10:00:00.000Z', 'my_M.T.value', 'NUMBER', ''],
      ['10', 'o', 'POST', 'INVENTORY', 'true', 'my_Serial', 'name', '', ''],
      ['10', 'g', 'GET', 'INVENTORY', 'true', 'true'],
      ['10', 'u', 'PUT', 'INVENTORY', 'true', 'true', 'my_B', '', ''],
      ['10', 'un', 'PUT', 'INVENTORY', '', 'false', 'my_Serial', 'my_B', '', ''],
      ['10', 'p', 'PUT', 'OPERATION', 'true', 'my_Op', 'status', 'OPERATIONSTATUS', ''],
      ['10', 'e', 'POST', 'EVENT', 'true', 'my_E', 'text', ''],
      ['10', 'a', 'POST', 'ALARM', 'true', 'my_A', 'text', 'ACTIVE', 'MINOR', ''],
      ['10', 'pa', 'PUT', 'ALARM', 'true', 'my_A', 'status', 'ALARMSTATUS', ''],
      ['10', 's', 'POST', 'EVENT', '', 'my_E', 'text', '2024-05-02T10:00:00.000Z', 'source.id', '', ''],
      ['11', 'r', '', '$.id', '$.id', '$.self', '$.owner'],
    ]),
  ),
)!;

const views: EntityViews = {
  measurement: (id) => JSON.stringify({ id: id || 'null', self: `m/${id}` }),
  managedObject: async (_tenant, id) => JSON.stringify({ id, self: `o/${id}` }),
  newManagedObject: async (_tenant, id) => JSON.stringify({ id, self: `o/${id}`, owner: 'ada' }),
  event: async (_tenant, id) => JSON.stringify({ id, self: `e/${id}` }),
  alarm: async (_tenant, id) => JSON.stringify({ id, self: `a/${id}` }),
  operation: async (_tenant, id) => {
    if (id === '13') throw new PlatformError('general/documents-unavailable');
    return JSON.stringify({ id, self: `op/${id}` });
  },
  unstored: () => JSON.stringify({ id: 'null', self: 'none' }),
};

/** Plans the rows, answers each record as `answers` says, and gives what the device is sent. */
async function answered(
  rows: readonly (readonly string[])[],
  answers: readonly unknown[] = [],
  mode: ProcessingMode = PROCESSING_MODE.PERSISTENT,
  {
    madeFirst,
    get = () => '{"id":"5"}',
  }: {
    madeFirst?: ReadonlyMap<string, string>;
    get?: (collection: string, tenant: number, id: string) => unknown;
  } = {},
): Promise<{
  sent: string[];
  records: readonly { readonly record: Buffer }[];
  needed: readonly { id: string }[];
  heard: number[];
}> {
  const heard: number[] = [];
  const sent: string[] = [];
  const principal = { tenant: 't1', tenantNumber: 1, userName: 'ada', roles: new Set(['ROLE_INVENTORY_CREATE']) };
  const connection = { principal, deliver: ({ payload }: { payload: Buffer }) => sent.push(payload.toString()) };
  const noted = { count: () => undefined };
  const receiver = { connection, tenantNumber: 1, serial: 's', source: 5 };
  const replies = new DeviceReplies(receiver as never, {
    refusals: noted,
    errors: undefined,
    traffic: undefined,
    log: silentLog,
    hooks: {},
  });
  const link = { ...receiver, replies, madeFirst, acknowledgements: { afterAnswers: (run: () => void) => run() } };
  let id = 100;
  const known = { decide: (read: () => unknown) => read(), get };
  const requireGlobalRight = (_link: Device, source: number, roles: readonly string[], rights: MessageRights): void =>
    void rights.answer(`${roles[0]} ${source}`, () => true);
  const planned = planCustom(
    {
      target: { tenantNumber: 1, source: 5, userName: 'ada', mode, receivedAt: 1 },
      known: { collection } as never,
      topic: 's/dc/x',
      rights: new MessageRights(),
      budget: new PathBudget(),
    },
    rows.map((fields, index) => ({ number: index + 1, fields })),
    link as unknown as Device,
    {
      objects: { known, requireGlobalRight, requireRoleOfRow: () => undefined } as never,
      ids: { next: () => ++id, nextBeside: () => ++id } as never,
      now: () => 1,
      hooks: { views, onHeard: (_tenant, source) => void heard.push(source) },
      storedMeasurements: { find: async () => undefined },
      bus: { publish: () => undefined },
      templates: { count: () => 0 } as never,
      refusals: noted,
    },
  );
  planned.records.forEach(({ onAnswer }, index) => onAnswer?.resolve(answers[index]));
  for (const then of planned.afterwards) then();
  await settle();
  return { sent, records: planned.records, needed: [...planned.needed], heard };
}

t.test('a measurement has its id', async (t) => {
  const { sent, records } = await answered([['m', '21.5']]);
  t.equal(decodeMeasurement(records[0].record, 0).id, 101);
  t.same(sent, ['r,101,m/101,']);
  t.same((await answered([['m', '21.5']], [], PROCESSING_MODE.TRANSIENT)).sent, ['r,null,m/,']);
});

t.test('objects and operations are as REST answers them', async (t) => {
  t.same((await answered([['g', '5']])).sent, ['r,5,o/5,']);
  t.same((await answered([['u', '5', 'x']], [{ doc: '{"id":"5"}' }])).sent, ['r,5,o/5,']);
  t.same(
    (await answered([['u', '6', 'x']], [{ doc: '{"id":"6"}' }])).heard,
    [6],
    'a change shows that a child is there',
  );
  t.same((await answered([['o', 'sn', 'Made']], [{ id: '101' }])).sent, ['r,101,o/101,ada']);
  t.same((await answered([['o', '', 'Made']], [{ doc: '{"id":"101"}' }])).sent, ['r,101,o/101,']);
  const unstored = await answered([['o', '', 'Made']], [{ doc: '{"id":"101"}' }], PROCESSING_MODE.TRANSIENT);
  t.same(unstored.sent, ['r,null,none,']);
  t.same((await answered([['p', 'EXECUTING']], [{ doc: '{"id":"12"}' }])).sent, ['r,12,op/12,']);
});

t.test('events and alarms have their links, unless they are not stored', async (t) => {
  const rows = [
    ['e', ''],
    ['a', ''],
    ['pa', 'CLEARED'],
  ];
  const answers = ['21', '22', '22'].map((id) => ({ doc: `{"id":"${id}"}` }));
  t.same((await answered(rows, answers)).sent, ['r,21,e/21,', 'r,22,a/22,', 'r,22,a/22,']);
  t.same((await answered(rows.slice(0, 1), answers, PROCESSING_MODE.TRANSIENT)).sent, ['r,null,none,']);
  t.same((await answered([['a', '']], [{ doc: '{}', isSuppressed: true }])).sent, ['r,null,none,']);
});

t.test('rows name what the rows before them make: it is made first, and the message planned again', async (t) => {
  const rows = [
    ['un', 'sn', 'early'],
    ['o', 'sn', 'Made'],
    ['un', 'sn', 'b'],
    ['un', 'stranger', 'b'],
    ['o', 'sn', 'Again'],
    ['un', 'sn', 'c'],
  ];
  const stored = new Map<string, string>();
  const get = (collection: string, _tenant: number, id: string): unknown =>
    collection === 'externalId' ? stored.get(id) : undefined;
  const first = await answered(rows, [{}, {}], PROCESSING_MODE.PERSISTENT, { get });
  t.match(first.needed, [{ type: 'my_Serial', externalId: 'sn', id: '101' }]);
  t.equal(first.needed.length, 1);
  stored.set('my_Serial\nsn', '{"managedObject":"55"}');
  const madeFirst = new Map([['my_Serial\nsn', '55']]);
  const made = { id: '55', created: false };
  const second = await answered(rows, [made, {}, made, {}], PROCESSING_MODE.PERSISTENT, { get, madeFirst });
  t.equal(second.needed.length, 0);
  t.equal(second.records.length, 4);
  const told = [/^50,o,"?Row 5: .*sn/, /^50,un,"?Row 1: /, /^50,un,"?Row 4: .*stranger/, /^r,55,/];
  t.match(second.sent.toSorted(), told, 'a row does not see what is made behind it');
  t.equal(second.sent.length, 4);
});

t.test('the rows of one message ask about few objects together', async (t) => {
  const rows = Array.from({ length: 101 }, (_, index) => ['s', String(1_000 + index)]);
  const { sent, records } = await answered(rows, []);
  t.equal(records.length, 100);
  t.equal(sent.length, 1);
  t.match(sent[0], /^50,s,"?Row 101: .*100/);
});

t.test('an answer that cannot be made is a fault of its row', async (t) => {
  const { sent } = await answered([['p', 'EXECUTING']], [{ doc: '{"id":"13"}' }]);
  t.equal(sent.length, 1);
  t.match(sent[0], /^50,p,"?Row 1: /);
});
