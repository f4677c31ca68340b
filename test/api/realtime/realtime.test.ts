/** The Bayeux URLs on the HTTP server, with a Bayeux server that answers what the test says. */
import t from 'tap';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { realtimeRoutes, registerRealtimeSockets } from '../../../src/api/realtime/realtime.ts';
import type { RealtimePort } from '../../../src/api/realtime/realtime.ts';
import { until } from '../../helpers/until.ts';
import type { LoginPlace } from '../../../src/model/access/principal.ts';
import { ADMIN, basic, startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { ENGINES } from '../helpers/engines.ts';

type Responder = Parameters<RealtimePort<string>['handle']>[2];
type Channel = Parameters<RealtimePort<string>['open']>[0];

interface Poll {
  readonly text: string;
  readonly user: string | undefined;
  readonly form: string;
  readonly responder: Responder;
  isAborted: boolean;
}
interface Socket {
  readonly user: string | undefined;
  readonly form: string;
  readonly channel: Channel;
  readonly events: string[];
  hasSession: boolean;
  isBusy: boolean;
}

const soon = (what: string, condition: () => boolean): Promise<void> => until(what, condition, 5_000);

async function start(
  t: Test,
  options: Pick<NonNullable<Parameters<typeof startApi>[1]>, 'library' | 'config'> = {},
): Promise<{ api: Api; polls: Poll[]; sockets: Socket[] }> {
  const polls: Poll[] = [];
  const sockets: Socket[] = [];
  const realtime: RealtimePort<string> = {
    urls: { '/cep/realtime': 'array', '/notification/realtime': 'object' },
    handle: (text, { principal, urlForm }, responder) => {
      const poll: Poll = { text, user: principal?.userName, form: urlForm, responder, isAborted: false };
      responder.onAborted(() => {
        poll.isAborted = true;
      });
      polls.push(poll);
    },
    open: (channel, { principal, urlForm }) => {
      const socket: Socket = {
        user: principal?.userName,
        form: urlForm,
        channel,
        events: [],
        hasSession: false,
        isBusy: false,
      };
      sockets.push(socket);
      return {
        message: (text) => socket.events.push(text),
        drained: () => socket.events.push('drained'),
        closed: () => socket.events.push('closed'),
        get hasSession() {
          return socket.hasSession;
        },
        get isBusy() {
          return socket.isBusy;
        },
      };
    },
  };
  const api = await startApi(t, {
    ...options,
    further: realtimeRoutes(realtime),
    prepare: (server) => registerRealtimeSockets(server, realtime),
  });
  return { api, polls, sockets };
}

t.test('a long poll is answered when there is something, perhaps behind blanks, also without Accept', async (t) => {
  const { api, polls } = await start(t);
  const held = api.call('POST', '/cep/realtime/connect', { body: '[{"channel":"/a"}]' });
  await soon('the first', () => polls.length === 1);
  t.match(polls[0], { text: '[{"channel":"/a"}]', user: 'admin', form: 'array' });
  polls[0].responder.sendBlank();
  polls[0].responder.sendBlank();
  polls[0].responder.send('[{"b":1}]');
  const reply = await held;
  t.match(reply, { status: 200, text: '  [{"b":1}]', json: [{ b: 1 }] });
  t.match(reply.headers.get('content-type'), /^application\/json/);
  const atOnce = api.call('POST', '/notification/realtime', { body: '[]', headers: { accept: '' } });
  await soon('the second', () => polls.length === 2);
  t.equal(polls[1].form, 'object');
  polls[1].responder.send('[]');
  t.match(await atOnce, { status: 200, text: '[]' });
});

t.test('without credentials a message may bring them; wrong ones are refused', async (t) => {
  const { api, polls } = await start(t);
  const held = api.call('POST', '/cep/realtime', { body: '[]', headers: { authorization: undefined } });
  await soon('asked', () => polls.length === 1);
  t.equal(polls[0].user, undefined);
  polls[0].responder.send('[]');
  t.equal((await held).status, 200);
  t.equal(
    (await api.call('POST', '/cep/realtime', { body: '[]', headers: { authorization: basic('t1/admin', 'wrong') } }))
      .status,
    401,
  );
  t.equal(polls.length, 1);
});

t.test('a client that goes ends its long poll', async (t) => {
  const { api, polls } = await start(t);
  const abort = new AbortController();
  const held = fetch(`${api.url}/cep/realtime`, {
    method: 'POST',
    body: '[]',
    headers: { authorization: ADMIN },
    signal: abort.signal,
  });
  await soon('asked', () => polls.length === 1);
  abort.abort();
  await t.rejects(held);
  await soon('known', () => polls[0].isAborted);
});

t.test('WebSockets: credentials in a header, messages both ways, a client that does not read, the end', async (t) => {
  const { api, sockets } = await start(t);
  const open = async (path: string, headers: Record<string, string | string[]>): Promise<WebSocket> => {
    const socket = new WebSocket(`ws://127.0.0.1:${api.port}${path}`, { headers });
    t.teardown(() => socket.terminate());
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return socket;
  };
  const client = await open('/notification/realtime', { authorization: ADMIN });
  await soon('opened', () => sockets.length === 1);
  const [{ channel, events }] = sockets;
  t.match(sockets[0], { user: 'admin', form: 'object' });
  client.send('[1]');
  await soon('a message', () => events.length === 1);
  t.same(events.splice(0), ['[1]']);
  const received: string[] = [];
  client.on('message', (data) => received.push(String(data)));
  channel.send('[2]');
  await soon('an answer', () => received.length === 1);
  client.pause();
  for (let isTaken = true, count = 0; isTaken && count < 1_000; count += 1) isTaken = channel.send('x'.repeat(65_536));
  t.ok(channel.bufferedBytes > 0);
  client.resume();
  await soon('drained', () => events.includes('drained'));
  client.close();
  await soon('closed', () => events.at(-1) === 'closed');

  await open('/cep/realtime', {});
  await soon('opened without credentials', () => sockets.length === 2);
  t.equal(sockets[1].user, undefined);
  t.equal(sockets[1].form, 'array');
  for (const [origin, user] of [
    ['https://evil.example', undefined],
    [api.url, 'admin'],
  ] as const) {
    const count = sockets.length;
    await open('/cep/realtime', { authorization: ADMIN, origin });
    await soon('opened by a page', () => sockets.length > count);
    t.equal(sockets[count].user, user, `the remembered password counts for pages of this origin only: ${origin}`);
  }
  let code: number | undefined;
  (await open('/cep/realtime', { authorization: basic('t1/admin', 'wrong') })).once('close', (sent) => {
    code = sent;
  });
  await soon('refused', () => code !== undefined);
  t.equal(code, 1008);
  t.equal(sockets.length, 4);
  for (const [name, told] of [
    ['x-forwarded-for', ['203.0.113.9', '198.51.100.7']],
    ['forwarded', ['for=203.0.113.9', 'for=198.51.100.7']],
  ] as const) {
    api.fake.loginPlace = undefined;
    await open('/cep/realtime', { authorization: basic('t1/admin', `wrong-${told.join('-')}`), [name]: [...told] });
    await soon('a password is checked', () => api.fake.loginPlace !== undefined);
    t.equal(
      (api.fake.loginPlace as LoginPlace | undefined)?.caller?.address.key,
      '198.51.100.7',
      `the last line of ${name}`,
    );
  }
});

for (const [engine, library] of ENGINES) {
  t.test(`${engine}: WebSockets without a handshake`, async (t) => {
    const { api, sockets } = await start(t, { library, config: { connectionsMax: 8, handshakeMsMax: 300 } });
    const open = async (): Promise<{
      client: WebSocket;
      socket: Socket;
      end: () => string | undefined;
      heard: () => string;
    }> => {
      const [before, client] = [sockets.length, new WebSocket(`ws://127.0.0.1:${api.port}/notification/realtime`)];
      let [end, heard]: [string | undefined, string] = [undefined, ''];
      client
        .on('error', () => undefined)
        .on('close', (code, reason) => {
          end = `${code} ${reason}`;
        })
        .on('message', (data) => {
          heard += data;
        });
      t.teardown(() => client.terminate());
      await soon('opened', () => client.readyState === WebSocket.OPEN && sockets.length > before);
      return { client, socket: sockets[before], end: () => end, heard: () => heard };
    };
    const [known, silent] = [await open(), await open()];
    known.socket.hasSession = true;
    await soon('the silent one is closed', () => silent.end() !== undefined);
    t.match(silent.end(), /^1008 realtime\/handshake-time: no handshake within 300 ms$/);
    t.equal(known.end(), undefined);

    const checked = await open();
    checked.socket.isBusy = true;
    const [third, fourth] = [await open(), await open()];
    await soon('the oldest gives way to the third of two', () => third.end() !== undefined);
    t.match(
      [third.end(), third.heard()],
      [
        '1006 ',
        /^\[\{"channel":"\/meta\/unsuccessful","successful":false,"error":"503::realtime\/websockets-before-handshake: /,
      ],
    );
    await soon('the other one is late', () => fourth.end() !== undefined);
    t.equal(checked.end(), undefined, 'its credentials are being checked');

    const talkative = await open();
    talkative.client.send('x'.repeat(40_000));
    talkative.client.send('x'.repeat(40_000));
    await soon('closed', () => talkative.end() !== undefined);
    t.match(talkative.end(), /^1008 realtime\/before-handshake-bytes/);
    t.same(talkative.socket.events, ['x'.repeat(40_000), 'closed']);
    t.same(api.fake.counted, [
      'realtime/handshake-time',
      'realtime/websockets-before-handshake',
      'realtime/handshake-time',
      'realtime/before-handshake-bytes',
    ]);
    known.client.send('y'.repeat(60_000));
    known.client.send('y'.repeat(60_000));
    await soon('a session may send', () => known.socket.events.length === 2);
  });

  t.test(`${engine}: WebSockets without a handshake give way when the places of HTTP run out`, async (t) => {
    const { api, sockets } = await start(t, { library, config: { connectionsMax: 4, addressConnectionsMax: 4 } });
    const open = (): WebSocket => {
      const one = new WebSocket(`ws://127.0.0.1:${api.port}/notification/realtime`);
      t.teardown(() => one.terminate());
      return one.on('error', () => undefined);
    };
    for (let count = 1; count <= 3; count += 1) {
      open();
      await soon('a session', () => sockets.length === count);
      sockets[count - 1].hasSession = true;
    }
    const client = open();
    await soon('the last place is taken', () => sockets.length === 4);
    t.equal((await api.call('GET', '/health')).status, 200);
    await soon('it gave way', () => client.readyState === WebSocket.CLOSED);
    t.same(api.fake.counted, ['realtime/websockets-before-handshake']);
  });
}
