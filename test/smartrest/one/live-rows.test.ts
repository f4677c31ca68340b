/** Live data as rows of SmartREST 1.0 (docs/spec/smartrest-one.md#live-data). */
import t from 'tap';
import { refusedBy } from '../../../src/model/errors.ts';
import { compileStored } from '../../../src/smartrest/one/collection.ts';
import { LiveRows, isOfRows, type LiveMessage } from '../../../src/smartrest/one/live-rows.ts';
import { Random } from '../random.ts';

const stored = (id: string, rows: string) => ({ id, collection: compileStored(rows)! });
const COLLECTIONS: Readonly<Record<string, ReturnType<typeof stored>>> = {
  x: stored('1', '11,510,,$.c8y_Restart,$.id,$.deviceId\n11,511,,$.c8y_Command,$.id,$.c8y_Command.text'),
  y: stored('2', '11,600,,$.severity,$.severity'),
};
const counted: string[] = [];
const port = {
  find: async (xid: string) => {
    if (xid === 'away') throw refusedBy('journal/bytes');
    return COLLECTIONS[xid];
  },
  refused: (limit: string) => void counted.push(limit),
};
const rowsOf = (body: string, answers: readonly LiveMessage[]): Promise<string> =>
  new LiveRows(body, 'x').rowsOf(answers, port);
const connect = (more: object = {}): LiveMessage => ({
  channel: '/meta/connect',
  id: '1',
  successful: true,
  advice: { interval: 0, timeout: 5_400_000, reconnect: 'retry' },
  ext: { smartrest: { xids: ['x'] } },
  ...more,
});
const UNKNOWN = { successful: false, error: '402::Unknown client', advice: { interval: 0, reconnect: 'handshake' } };

t.test('a body that begins with a bracket is JSON, blanks aside', async (t) => {
  for (const text of ['80', ' \n81,a', '"81",a', '\ufeff80']) t.ok(isOfRows(text), text);
  for (const text of ['[', ' \r\n\t[{}]', '{', '', ' \n']) t.notOk(isOfRows(text), text);
});

t.test('rows become messages', async (t) => {
  const ext = { smartrest: { xids: ['x'] } };
  t.same(new LiveRows('80\n81,c,/7,y,z\n82,c,/7\n\n83,c,\n84,c', 'x').messages, [
    { id: '1', channel: '/meta/handshake', version: '1.0', ext },
    {
      id: '2',
      channel: '/meta/subscribe',
      clientId: 'c',
      subscription: '/7',
      ext: { smartrest: { xids: ['x', 'y', 'z'] } },
    },
    { id: '3', channel: '/meta/unsubscribe', clientId: 'c', subscription: '/7', ext: { smartrest: {} } },
    { id: '4', channel: '/meta/connect', connectionType: 'smartrest-long-polling', clientId: 'c', ext },
    { id: '5', channel: '/meta/disconnect', clientId: 'c', ext: { smartrest: {} } },
  ]);
  t.match(
    new LiveRows('83,c\n85', 'x').messages,
    [{ channel: '/meta/connect', advice: { timeout: 0 } }],
    'faults do not wait',
  );
  t.same(new LiveRows('80', '').messages, [
    { id: '1', channel: '/meta/handshake', version: '1.0', ext: { smartrest: { xids: [] } } },
  ]);
  const wrong = new LiveRows('80,a\n81,c\n81,c,/7,,y\n83\n83,a,b\n84\n85\n"', 'x');
  t.same(wrong.messages, []);
  t.equal(
    await wrong.rowsOf([], port),
    '45,1,Wrong number of arguments\n45,2,Wrong number of arguments\n45,3,Wrong number of arguments\n45,4,Wrong number of arguments\n45,5,Wrong number of arguments\n45,6,Wrong number of arguments\n43,7,Invalid message identifier\n42,8,Malformed Request',
  );
  const many = new LiveRows('84,c\n'.repeat(1_000), '');
  t.equal(many.messages.length, 100);
  t.match(await many.rowsOf([], port), /^42,101,A request has at most 100 rows\n/);
});

t.test('answers become rows, in their order; a connect is last', async (t) => {
  t.equal(await rowsOf('80', [{ channel: '/meta/handshake', id: '1', clientId: 'c1', successful: true }]), 'c1');
  t.equal(
    await rowsOf('80', [
      {
        channel: '/meta/handshake',
        id: '1',
        successful: false,
        error: '403::Handshake denied',
        advice: { reconnect: 'none' },
      },
    ]),
    '50,1,403\n86,,,none',
  );
  t.equal(
    await rowsOf('1\n81,c,/7\n81,c,/8\n84,c', [
      { channel: '/meta/subscribe', id: '2', successful: true },
      { channel: '/meta/subscribe', id: '3', successful: false, error: '403:/8:Access is denied' },
      { channel: '/meta/disconnect', id: '4', successful: true },
    ]),
    '43,1,Invalid message identifier\n50,3,403',
  );
  t.equal(await rowsOf('83,c', [connect({ ...UNKNOWN })]), '86,,0,handshake');
  t.equal(await rowsOf('81,c,/7', [{ channel: '/meta/subscribe', id: '1', ...UNKNOWN }]), '86,,0,handshake');
  const left = { channel: '/meta/disconnect', id: '1', successful: false, error: '402::Unknown client' };
  t.equal(await rowsOf('84,c', [left]), '50,1,402', 'a client that leaves is not asked to come back');
});

t.test('what is delivered becomes rows of all templates that fit', async (t) => {
  const of = (...entities: unknown[]): LiveMessage[] =>
    entities.map((data) => ({ channel: '/7', id: '9', data: { realtimeAction: 'CREATE', data } }));
  const advice = '86,5400000,0,retry';
  const restart = { id: '1', deviceId: '7', c8y_Restart: {}, c8y_Command: { text: 'a\nb' } };
  t.equal(await rowsOf('83,c', [...of(restart), connect()]), `510,1,1,7\n511,1,1,"a\nb"\n${advice}`);
  const list = { channel: '/7', data: [{ realtimeAction: 'UPDATE', data: restart }] };
  t.equal(await rowsOf('83,c', [list, connect()]), `510,1,1,7\n511,1,1,"a\nb"\n${advice}`, 'a list of notifications');
  t.equal(
    await rowsOf('83,c', [
      ...of({ severity: 'MAJOR' }, { id: '2' }, 'deleted'),
      connect({ ext: { smartrest: { xids: ['x', 'none', 'y', 'away'] } } }),
    ]),
    `40,"No template for this X-ID."\n50,1,503\n87,1,y\n600,1,MAJOR\n${advice}`,
  );
  t.equal(
    await rowsOf('83,c', [
      ...of({ ...restart, severity: 'MAJOR' }, { severity: 'MINOR' }),
      connect({ ext: { smartrest: { xids: ['x', 'y'] } } }),
    ]),
    `87,2,x\n510,1,1,7\n511,1,1,"a\nb"\n87,1,y\n600,1,MAJOR\n87,1,y\n600,1,MINOR\n${advice}`,
    'the collection of rows is named where there are several',
  );
  t.same(counted.splice(0), ['smartrest/unmatched-notifications', 'smartrest/unmatched-notifications']);
  t.equal(
    await rowsOf('83,c', [...of(restart), connect({ ext: undefined })]),
    '40,"No template for this X-ID."\n86,,10000,retry',
  );
  t.equal(
    await rowsOf('83,c', [{ channel: '/millrace/lost', data: { lost: 3, limit: 'realtime/queue-bytes' } }, connect()]),
    advice,
  );
  const large = { ...restart, id: 'x'.repeat(900_000) };
  t.same((await rowsOf('83,c', [...of(large, large, large), connect()])).split('\n').slice(-2), ['50,1,413', advice]);
});

t.test('any rows are answered', async () => {
  const random = new Random();
  const pieces = [
    '80',
    '81',
    '82',
    '83',
    '84',
    ',',
    ',',
    'c',
    '/7',
    '"',
    '\n',
    '\r',
    '[',
    '{}',
    '15,x',
    '10,',
    '\u0000',
    '__proto__',
  ];
  for (let round = 0; round < 2_000; round += 1) {
    const body = Array.from({ length: random.below(30) }, () => random.pick(pieces)).join('');
    const rows = new LiveRows(body, random.pick(['x', '']));
    const answers = rows.messages.map((message) => ({
      ...message,
      ...random.pick([UNKNOWN, { successful: true, clientId: 'c' }, {}]),
    }));
    const text = await rows.rowsOf(answers, port);
    if (!/^[\s\S]*$/.test(text)) throw new Error(`seed ${random.seed}: ${JSON.stringify(body)}`);
  }
});
