/**
 * Rules about alarms beside their status: audit records, options, maintenance; binaries of events (docs/spec/alarms.md,
 * docs/spec/events.md#binaries).
 */
import t from 'tap';
import { changesBetween, describeChanges, describeListChanges } from '../../src/model/entities/changes.ts';
import { withChanges } from '../../src/records/audit-changes.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { eventBinaryKeys, isLastChunk, parseChunkRange } from '../../src/model/entities/event-binary.ts';
import { splitMembers } from '../../src/model/documents/json-document.ts';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import { NOW, openPlatform } from './platform.ts';
import type { Platform } from './platform.ts';

const TENANT_KEY = 't';
const audits = (platform: Platform): any[] =>
  platform.rows
    .filter(({ table }) => table === 'audits')
    .map(({ text }) => {
      const row = JSON.parse(text);
      return { ...row, doc: JSON.parse(row.doc) };
    });
const raise = (
  platform: Platform,
  id: string,
  type: string,
  more: object = {},
): Promise<{ doc: string; isSuppressed?: boolean }> =>
  platform.request({
    kind: COMMAND.ALARM_CREATE,
    key: 5,
    body: {
      id,
      type,
      time: NOW,
      severity: 'MAJOR',
      status: 'ACTIVE',
      user: 'ada',
      doc: `{"type":"${type}","text":"t","time":"2024-05-02","severity":"MAJOR"}`,
      ...more,
    },
  });

t.test('audit records have ids of their own, the same after a crash', async (t) => {
  const platform = openPlatform(t);
  await platform.create('5');
  await raise(platform, '700', 'A', { application: 'app' });
  await platform.request({
    kind: COMMAND.ALARM_UPDATE,
    key: 5,
    body: { id: '700', doc: '{"status":"CLEARED"}', user: 'bob' },
  });
  const [raised, changed] = audits(platform);
  t.match(raised, {
    source: '700',
    type: 'Alarm',
    user: 'ada',
    application: 'app',
    doc: { activity: 'Alarm raised', severity: 'MAJOR', source: { id: '700' } },
  });
  t.match(changed, { user: 'bob', doc: { text: 'Alarm updated: status changed from ACTIVE to CLEARED' } });
  t.ok(BigInt(raised.id) > BigInt(Number.MAX_SAFE_INTEGER) && BigInt(raised.id) < 1n << 63n);
  t.not(raised.id, changed.id);
  const counts: number[] = [];
  for (const mode of [PROCESSING_MODE.TRANSIENT, PROCESSING_MODE.CEP]) {
    await platform.request({
      kind: COMMAND.ALARM_CREATE,
      key: 5,
      mode,
      body: { id: '701', type: 'B', time: NOW, severity: 'MAJOR', status: 'ACTIVE', user: 'ada', doc: '{}' },
    });
    counts.push(audits(platform).length);
  }
  t.same(counts, [2, 3], 'of what is stored: alarms know no CEP mode');
});

t.test('changes of an audit record', async (t) => {
  const cases: [string, string, string][] = [
    ['{"a":1}', '{"a":2}', 'a changed from 1 to 2'],
    ['{"a":1}', '{}', 'a removed'],
    ['{}', '{"a":{"b":1}}', 'a added'],
    ['{"a":{"b":1}}', '{"a":{"b":2}}', 'a changed'],
    [
      '{"a":[1],"b":true,"c":"x"}',
      '{"a":[2],"b":false,"c":"y"}',
      'a changed, b changed from true to false, c changed from x to y',
    ],
    ['{"ignored":1}', '{"ignored":2}', ''],
  ];
  for (const [before, after, want] of cases) {
    t.equal(
      describeChanges(changesBetween(splitMembers(before), splitMembers(after), new Set(['ignored']))),
      want,
      want,
    );
  }
  const types = changesBetween(
    new Map(),
    splitMembers('{"a":1,"b":"","c":{},"d":[],"e":true,"f":null}'),
    new Set(),
  ).listed.map(({ type }) => type);
  t.same(types, ['Number', 'String', 'Object', 'Array', 'Boolean', 'Number']);
  const long = changesBetween(new Map(), new Map([['a', JSON.stringify('x'.repeat(2_000))]]), new Set());
  t.equal((long.listed[0].newValue as string).length, 1_001, 'long values are cut');
  const many = new Map(Array.from({ length: 80 }, (_, index) => [`m${index}`, '1']));
  const changes = changesBetween(new Map(), many, new Set());
  t.equal(changes.listed.length, 50);
  t.match(describeChanges(changes), /m49 added and 30 more$/, 'the text says how many are missing');
  t.match(describeListChanges(changes, new Map(), many), /m49 added and 30 more$/);
  t.match(
    withChanges(
      { type: 'x', activity: 'x', text: 'Made', user: 'x', severity: 'INFORMATION' },
      undefined,
      Object.fromEntries(many),
    ),
    { text: 'Made, and 30 more changes' },
  );
});

t.test('options map the severity and the text of a type (docs/spec/alarms.md#mapping)', async (t) => {
  const platform = openPlatform(t);
  await platform.create('5');
  t.match(JSON.parse((await raise(platform, '600', 'early')).doc), { severity: 'MAJOR' }, 'without options');
  const options = {
    exact: 'CRITICAL|new text',
    'pre*': 'MINOR|',
    'prefix*': '|longer',
    gone: 'NONE',
    'hidden*': 'none|x',
    bar: 'WARNING|a|b',
    odd: 'LOUD',
  };
  await platform.request({
    kind: COMMAND.RECORDS_CHANGE,
    key: TENANT_KEY,
    body: {
      changes: [
        ...Object.entries(options).map(([key, value]) => ({
          collection: 'option',
          id: `alarm.type.mapping\n${key}`,
          value: JSON.stringify({ value }),
        })),
        { collection: 'option', id: 'alarm.type.mappings\nother', value: '{"value":"NONE"}' },
        { collection: 'option', id: 'alarm.type.mapping\nnumber', value: '{"value":5}' },
      ],
    },
  });
  const cases: [string, string, string][] = [
    ['exact', 'CRITICAL', 'new text'],
    ['exactly', 'MAJOR', 't'],
    ['pre', 'MINOR', 't'],
    ['prefixes', 'MAJOR', 'longer'],
    ['bar', 'WARNING', 'a|b'],
    ['odd', 'MAJOR', 't'],
    ['other', 'MAJOR', 't'],
    ['number', 'MAJOR', 't'],
    ['*', 'MAJOR', 't'],
  ];
  for (const [index, [type, severity, text]] of cases.entries()) {
    t.match(JSON.parse((await raise(platform, String(700 + index), type)).doc), { severity, text }, type);
  }
  for (const type of ['gone', 'hidden', 'hidden too'])
    t.match(await raise(platform, '800', type), { isSuppressed: true, doc: /"source":\{"id":"5"\}/ }, type);
  t.equal(platform.get('alarm', '800'), undefined);
});

t.test('the binary of an event: compare and set', async (t) => {
  const platform = openPlatform(t);
  await platform.create('5');
  await platform.request({
    kind: COMMAND.EVENT_CREATE,
    key: 5,
    body: { id: '700', type: 'T', time: NOW, doc: '{"type":"T"}' },
  });
  const change = (
    expected: string | undefined,
    value: string | undefined,
    marks = '{"c8y_IsBinary":{}}',
  ): Promise<unknown> =>
    platform.request({ kind: COMMAND.EVENT_BINARY_CHANGE, key: 5, body: { id: '700', expected, value, marks } });
  await change(undefined, '{"parts":[]}');
  await t.rejects(change(undefined, '{"parts":[{}]}'), { code: 'general/changed-meanwhile' });
  t.match(platform.get('event', '700'), { c8y_IsBinary: {} });
  await change('{"parts":[]}', undefined, '{"c8y_IsBinary":null}');
  t.equal(platform.get('event', '700')?.['c8y_IsBinary'], undefined);
  await change(undefined, '{"parts":[{"key":"k"}]}');
  await platform.request({ kind: COMMAND.EVENT_DELETE, key: 5, body: { id: '700' } });
  t.equal(platform.get('eventBinary', '700'), undefined, 'goes with its event');
  await t.rejects(change(undefined, '{}'), { code: 'event/not-found' });
  t.same(eventBinaryKeys('{"parts":[{"key":"a"},{"key":"b"}]}'), ['a', 'b']);
});

t.test('Content-Range of a chunk (docs/spec/events.md#binaries)', async (t) => {
  const cases: [string, [number, number, number | undefined, boolean] | undefined][] = [
    ['0-9/*', [0, 9, undefined, false]],
    ['0-9/20', [0, 9, 20, false]],
    ['10-19/20', [10, 19, 20, true]],
    ['bytes 0-0/1', [0, 0, 1, true]],
    ['bytes=5-6/*', [5, 6, undefined, false]],
    [' 1 - 2 / 3 ', [1, 2, 3, true]],
    ['9-0/*', undefined],
    ['0-9/9', undefined],
    ['0-9', undefined],
    ['-9/*', undefined],
    ['a-b/c', undefined],
    ['0-9999999999999999/*', undefined],
  ];
  t.ok(isLastChunk({ start: 5, stop: 9, length: undefined, text: '' }, 10), 'an earlier one has said the length');
  for (const [header, want] of cases) {
    const chunk = parseChunkRange(header);
    t.same(chunk && [chunk.start, chunk.stop, chunk.length, isLastChunk(chunk)], want, header);
  }
});
