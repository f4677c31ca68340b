/** MQTT traffic for people: who may watch, what passes a filter, what is hidden, how much of it comes. */
import t from 'tap';
import type { TrafficBatch, TrafficClient, TrafficFilter } from '../../src/ports/traffic.ts';
import { matchesTopic, parseTrafficFilter } from '../../src/realtime/traffic/filter.ts';
import { shownPayload } from '../../src/realtime/traffic/shown-payload.ts';
import { Traffic } from '../../src/realtime/traffic/traffic.ts';
import { createWorld, deliveriesOf, ManualClock, PollingClient, principal } from './helpers.ts';

const CLIENT: TrafficClient = {
  clientId: 'pump-7',
  principal: principal('device_pump-7', []),
  link: { source: 1_000 },
};

function watched(clock = new ManualClock()): { clock: ManualClock; traffic: Traffic } {
  const traffic = new Traffic({ node: 'mill-1', now: () => 0, later: (run, ms) => void clock.setTimeout(run, ms) });
  return { clock, traffic };
}

const say = (traffic: Traffic, topic: string, client = CLIENT, payload = '200,a'): void =>
  traffic.message('in', client, { topic: Buffer.from(topic), payload: Buffer.from(payload), qos: 1 });

t.test('filters of a channel', async (t) => {
  t.same(parseTrafficFilter(''), {});
  t.same(parseTrafficFilter('client=a&device=1&topic=s%2F%2B&kind=in'), {
    client: 'a',
    device: '1',
    topic: 's/+',
    kind: 'in',
  });
  for (const wrong of ['kind=up', 'other=1', 'client=', 'kind=in&kind=out', `client=${'x'.repeat(201)}`])
    t.equal(parseTrafficFilter(wrong), undefined, wrong.slice(0, 20));
  const matches = (filter: string, topic: string): boolean => matchesTopic(filter.split('/'), topic);
  t.same(
    [matches('#', 'a/b'), matches('a/#', 'a'), matches('a/+', 'a/b'), matches('+/+', 'a/b'), matches('a', 'a')],
    [true, true, true, true, true],
  );
  t.same(
    [matches('a/+', 'a/b/c'), matches('a', 'a/b'), matches('a/b', 'a'), matches('+', 'a/b')],
    Array(4).fill(false),
  );
});

t.test('passwords and tokens are not shown', async (t) => {
  const shown = (topic: string, payload: string | Buffer) => shownPayload(topic, Buffer.from(payload));
  for (const topic of ['s/dcr', 's/ucr', 's/dat', 't/uat', 's/dat/child'])
    t.same(shown(topic, '71,eyJ'), {}, `${topic} carries credentials`);
  t.same(shown('s/us', '200,a,b,1'), { payload: '200,a,b,1' });
  t.same(shown('s/ds', '510,x\n530,s,h,22,key-1\n511,x,ls'), { payload: '510,x\n530,s,h,22,***\n511,x,ls' });
  t.same(shown('a', '{"userPassword" : "p\\"q", "b":"c"}'), { payload: '{"userPassword" : "***", "b":"c"}' });
  t.same(shown('a', '{"token":12,"x":"{\\"secret\\":\\"s\\"}"}'), {
    payload: '{"token":"***","x":"{\\"secret\\":\\"***\\"}"}',
  });
  t.same(shown('a', `{"password":"${'x'.repeat(2_000)}`), { payload: '{"password":"***"' }, 'cut within');
  t.same(shown('a', 'ä'.repeat(600)), { payload: 'ä'.repeat(512) });
  t.same(shown('a', `x${'ä'.repeat(600)}`), { payload: `x${'ä'.repeat(511)}` }, 'not cut within a character');
  t.same(shown('a', Buffer.from([0xff, 0])), { payload: '/wA=', encoding: 'base64' });
  t.same(shown('a', '{"a":1,"tokens":["x","y"],"b":2}'), { payload: '{"a":1,"tokens":"***"' }, 'lists');
  t.same(shown('a', '{"credentials":{"user":"u","value":"x"}}'), { payload: '{"credentials":"***"' }, 'objects');
  t.same(shown('a', '{"x":"{\\"tokens\\":[1]}"}'), { payload: '{"x":"{\\"tokens\\":\\"***\\"' });
  const { payload = '' } = shown('a', Buffer.from('{"name":"\u00e9","password":"x"}', 'latin1'));
  t.equal(Buffer.from(payload, 'base64').toString('latin1'), '{"name":"\u00e9","password":"***"}', 'other encodings');
});

t.test('a watcher gets what passes, of its tenant, 50 a second, and the number of the rest', async (t) => {
  const { clock, traffic } = watched();
  t.notOk(traffic.isWatched);
  const batches: TrafficBatch[] = [];
  const watch = (filter: TrafficFilter, tenant = 1) => traffic.watch(tenant, filter, (batch) => batches.push(batch));
  const ends = [watch({ client: 'pump', topic: 's/#', kind: 'in' }), watch({}, 2)];
  t.ok(traffic.isWatched);
  say(traffic, 't/us');
  say(traffic, 's/us', { ...CLIENT, clientId: 'x', principal: principal('x', []) });
  traffic.message('out', CLIENT, { topic: 's/ds', payload: Buffer.from('510'), qos: 0 });
  clock.advance(1_000);
  t.same(batches, []);
  for (let index = 0; index < 25; index += 1) say(traffic, 's/us');
  clock.advance(1_000);
  t.match(batches, [{ matched: 25, dropped: 15, messages: Array(10).fill({ clientId: 'pump-7', topic: 's/us' }) }]);
  t.equal(batches.length, 1);
  t.same(batches[0].messages[0], {
    at: 0,
    node: 'mill-1',
    kind: 'in',
    clientId: 'pump-7',
    user: 'device_pump-7',
    source: '1000',
    topic: 's/us',
    qos: 1,
    size: 5,
    payload: '200,a',
  });
  for (const end of ends) end();
  t.notOk(traffic.isWatched);
  say(traffic, 's/us');
  clock.advance(1_000);
  t.equal(batches.length, 1);
});

t.test('errors alone, of one device', async (t) => {
  const { clock, traffic } = watched();
  const batches: TrafficBatch[] = [];
  traffic.watch(1, { kind: 'error', device: '1000', topic: 's/us' }, (batch) => batches.push(batch));
  say(traffic, 's/us');
  traffic.error({ ...CLIENT, link: { source: 1_001 } }, { code: 'smartrest/40', message: 'no' });
  traffic.error(CLIENT, { code: 'smartrest/40', message: 'x'.repeat(1_000) });
  clock.advance(200);
  t.match(batches, [{ matched: 1, messages: [{ error: { code: 'smartrest/40', message: 'x'.repeat(500) } }] }]);
});

t.test('the channel: roles of all data, a bound for the tenant, the filter in its name', async (t) => {
  const { clock, traffic } = watched();
  const world = createWorld({ traffic });
  const reader = new PollingClient(world, { principal: principal('reader', ['ROLE_INVENTORY_READ']) });
  await reader.handshake();
  t.match(await reader.subscribe('/millrace/traffic'), { successful: false, error: /^403:.*ROLE_ALARM_READ/ });
  t.match(await reader.subscribe('/millrace/traffic/kind=up'), { successful: false, error: /^404:/ });
  t.match(await reader.subscribe('/millrace/traffic/a/b'), { successful: false, error: /^404:/ });
  const client = new PollingClient(world);
  const channel = '/millrace/traffic/topic=s%2F%2B';
  const poll = await client.watch(channel);
  say(traffic, 's/us');
  say(traffic, 'other');
  clock.advance(200);
  world.clock.turn();
  t.match(deliveriesOf(poll.messages), [
    {
      channel,
      data: {
        matched: 1,
        dropped: 0,
        messages: [{ time: '1970-01-01T00:00:00.000Z', source: { id: '1000' }, topic: 's/us', kind: 'in' }],
      },
    },
  ]);
  const many = Array.from({ length: 10 }, (_, index) => `/millrace/traffic/client=${index}`);
  t.match(await client.subscribe(many), { successful: false, error: /realtime\/traffic-watchers/ });
  t.same(world.refusals.counts, { 'realtime/traffic-watchers': 1 });
  t.match(await client.subscribe(many.slice(1)), { successful: true });
  const other = new PollingClient(world, { principal: principal('admin', undefined, 2) });
  await other.handshake();
  t.match(await other.subscribe('/millrace/traffic'), { successful: true }, 'another tenant has its own places');
  world.server.endUser('t1', 'admin');
  world.server.endUser('t2', 'admin');
  t.notOk(traffic.isWatched, 'the end of a session ends what it watches');
});
