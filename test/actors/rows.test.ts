import t from 'tap';
import { entityRow, managedObjectRow } from '../../src/actors/runtime/rows.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import { joinMembers, splitMembers } from '../../src/model/documents/json-document.ts';

const command = {
  ...{
    kind: COMMAND.ALARM_CREATE,
    mode: PROCESSING_MODE.PERSISTENT,
    tenant: 3,
    key: 5,
    body: {},
    pendingId: undefined,
  },
  ...{ seq: 42, shard: 7, receivedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6) },
};
const alarm = (doc: string): Record<string, unknown> => {
  const members = splitMembers(doc);
  const { text } = entityRow(command, 'alarms', { id: '9', source: 5, members, doc: joinMembers(members) });
  return JSON.parse(text) as Record<string, unknown>;
};

void t.test('a row has the columns of its document, and the document as it is', async (t) => {
  const doc =
    '{"id":"9","type":"a\\"b","status":"ACTIVE","severity":"MAJOR","count":3,"x\\"y":{"n":1.0},"creationTime":"2026-01-01T00:00:00.000Z"}';
  t.strictSame(alarm(doc), {
    ...{ tenant: 3, id: 9, source: 5, creation_time: '2026-01-01 00:00:00.000', fragments: ['x"y'], doc, deleted: 0 },
    ...{ type: 'a"b', time: '2026-01-02 03:04:05.006', last_updated: '2026-01-02 03:04:05.006', status: 'ACTIVE' },
    ...{ severity: 'MAJOR', count: 3, version: 42, shard: 7, seq: 42 },
  });
});

void t.test('what is not a text, or not a time, has the column of what is absent', async (t) => {
  const object = managedObjectRow(command, '5', splitMembers('{"type":7,"name":null,"owner":{"a":1}}'), ['2', '3']);
  t.match(JSON.parse(object.text), { type: '', name: '', owner: '', parents: [2, 3] });
  t.match(alarm('{"time":"2026-13-01T00:00:00.000Z"}'), { time: '2026-01-02 03:04:05.006' });
});

void t.test('times of every form become those of the column, within its years', async (t) => {
  for (const [time, column] of [
    ['2026-01-01T00:00:00.123Z', '2026-01-01 00:00:00.123'],
    ['2026-01-01T00:00:00.123+02:00', '2025-12-31 22:00:00.123'],
    ['2026-01-01t00:00:00.000z', '2026-01-01 00:00:00.000'],
    ['1899-12-31T23:59:59.999Z', '1900-01-01 00:00:00.000'],
    ['2999-01-01T00:00:00.000Z', '2299-12-31 23:59:59.999'],
  ])
    t.match(alarm(`{"time":"${time}"}`), { time: column }, time);
});

void t.test(
  'half a surrogate pair is replaced in the columns, however it was written; the document keeps it',
  async (t) => {
    for (const half of ['\\ud800', '\\uDBFF', '\udc01'])
      t.match(alarm(`{"type":"a${half}","n${half}":1}`), { type: 'a\ufffd', fragments: ['n\ufffd'] });
    t.match(alarm('{"type":"a\\uD83D\\uDE00","n":"\\ud800"}'), {
      type: 'a😀',
      doc: '{"type":"a\\uD83D\\uDE00","n":"\\ud800"}',
    });
  },
);
