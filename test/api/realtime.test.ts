/** The Bayeux URLs on the HTTP server, with a Bayeux server that answers what the test says. */
import t from 'tap';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { realtimeRoutes, registerRealtimeSockets } from '../../src/api/realtime.ts';
import type { RealtimePort } from '../../src/api/realtime.ts';
import { until } from '../helpers/setup-command.ts';
import type { LoginPlace } from '../../src/model/principal.ts';
import { ADMIN, basic, startApi } from './helpers/api.ts';
import type { Api } from './helpers/api.ts';

type Responder = Parameters<RealtimePort<string>['handle']>[2];
type Channel = Parameters<RealtimePort<string>['open']>[0];

interface Poll { readonly text: string; readonly user: string | undefined; readonly form: string; readonly responder: Responder; isAborted: boolean }
interface Socket { readonly user: string | undefined; readonly form: string; readonly channel: Channel; readonly events: string[] }

const soon = (what: string, condition: () => boolean): Promise<void> => until(what, condition, 5_000);

async function start(t: Test): Promise<{ api: Api; polls: Poll[]; sockets: Socket[] }> {
  const polls: Poll[] = [];
  const sockets: Socket[] = [];
  const realtime: RealtimePort<string> = {
    urls: { '/cep/realtime': 'array', '/notification/realtime': 'object' },
    handle: (text, { principal, urlForm }, responder) => {
      const poll: Poll = { text, user: principal?.userName, form: urlForm, responder, isAborted: false };
      responder.onAborted(() => { poll.isAborted = true; });
      polls.push(poll);
    },
    open: (channel, { principal, urlForm }) => {
      const socket: Socket = { user: principal?.userName, form: urlForm, channel, events: [] };
      sockets.push(socket);
      return { message: (text) => socket.events.push(text), drained: () => socket.events.push('drained'), closed: () => socket.events.push('closed') };
    },
  };
  const api = await startApi(t, { further: realtimeRoutes(realtime), prepare: (server) => registerRealtimeSockets(server, realtime) });
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
  t.equal((await api.call('POST', '/cep/realtime', { body: '[]', headers: { authorization: basic('t1/admin', 'wrong') } })).status, 401);
  t.equal(polls.length, 1);
});

t.test('a client that goes ends its long poll', async (t) => {
  const { api, polls } = await start(t);
  const abort = new AbortController();
  const held = fetch(`${api.url}/cep/realtime`, { method: 'POST', body: '[]', headers: { authorization: ADMIN }, signal: abort.signal });
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
    await new Promise((resolve, reject) => { socket.once('open', resolve); socket.once('error', reject); });
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
  for (const [origin, user] of [['https://evil.example', undefined], [api.url, 'admin']] as const) {
    const count = sockets.length;
    await open('/cep/realtime', { authorization: ADMIN, origin });
    await soon('opened by a page', () => sockets.length > count);
    t.equal(sockets[count].user, user, `the remembered password counts for pages of this origin only: ${origin}`);
  }
  let code: number | undefined;
  (await open('/cep/realtime', { authorization: basic('t1/admin', 'wrong') })).once('close', (sent) => { code = sent; });
  await soon('refused', () => code !== undefined);
  t.equal(code, 1008);
  t.equal(sockets.length, 4);
  for (const [name, told] of [['x-forwarded-for', ['203.0.113.9', '198.51.100.7']], ['forwarded', ['for=203.0.113.9', 'for=198.51.100.7']]] as const) {
    api.fake.loginPlace = undefined;
    await open('/cep/realtime', { authorization: basic('t1/admin', `wrong-${told.join('-')}`), [name]: [...told] });
    await soon('a password is checked', () => api.fake.loginPlace !== undefined);
    t.equal((api.fake.loginPlace as LoginPlace | undefined)?.caller?.address.key, '198.51.100.7', `the last line of ${name}`);
  }
});
