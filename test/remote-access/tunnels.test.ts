/** Keys, waiting and bounds of tunnels on two nodes in memory, and what goes between them. */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { TunnelRelay } from '../../src/cluster/peers/tunnel-relay.ts';
import type { Principal } from '../../src/model/access/principal.ts';
import type { AuditEntry } from '../../src/model/commands/records.ts';
import type { Command } from '../../src/model/commands/command.ts';
import type { LiveBus, Notification } from '../../src/ports/live-bus.ts';
import type { Log } from '../../src/ports/log.ts';
import type { TunnelLimits } from '../../src/remote-access/limits.ts';
import type { TunnelEnd } from '../../src/remote-access/tunnel.ts';
import { Tunnels } from '../../src/remote-access/tunnels.ts';
import { InMemoryCluster } from '../cluster/memory/ports.ts';
import { until } from '../helpers/until.ts';

const silent = (): void => undefined;
const LOG: Log = {
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  child: () => LOG,
  isLevelEnabled: () => false,
};
const user = (userName: string): Principal => ({ tenant: 't1', tenantNumber: 2, userName, roles: new Set() });
const ADA = user('ada');
const DEVICE = user('device_1');
const TARGET = { device: '10', hostname: 'h', port: 22, name: 'Shell' };

class End implements TunnelEnd {
  bytes = 0;
  isPaused = false;
  takesMore = true;
  closed: string | undefined;
  send(bytes: Uint8Array): boolean {
    this.bytes += bytes.length;
    return this.takesMore;
  }
  pause(): boolean {
    this.isPaused = true;
    return true;
  }
  resume(): void {
    this.isPaused = false;
  }
  end(code: number, reason: string): void {
    this.closed ??= `${code} ${reason}`;
  }
  destroy(): void {
    this.closed ??= 'destroyed';
  }
}

/** Two nodes over the same documents; the keys of operations in their order. */
function nodes(limits: Partial<TunnelLimits> = {}) {
  const cluster = new InMemoryCluster();
  const leases = { members: ['a', 'b'].map((nodeId) => ({ nodeId, roles: ['gateway'] as const, isLeaving: false })) };
  const documents = new Map([['managedObject/10', '{"id":"10","owner":"device_1"}']]);
  const keys: string[] = [];
  /** Operations that were posted with keys of their own, by id. */
  const posted = new Map<string, string>();
  const failures: string[] = [];
  /** Of operations that are created. */
  const answers = { areLost: false };
  const audits: string[] = [];
  const listeners = new Set<(notification: Notification) => void>();
  const counted: string[] = [];
  const request = async (command: Command): Promise<unknown> => {
    const { id, doc, audits: written = [] } = command.body as { id?: string; doc?: string; audits?: AuditEntry[] };
    audits.push(...written.map(({ text }) => text));
    const sent = JSON.parse(doc ?? '{}');
    if (sent.status === 'FAILED') failures.push(sent.failureReason);
    else if (doc !== undefined) {
      documents.set(`operation/${id}`, `{"id":"${id}","status":"PENDING"}`);
      keys.push(sent.c8y_RemoteAccessConnect.connectionKey);
      if (answers.areLost) throw new Error('the answer has not come');
    }
    return {};
  };
  const relays: TunnelRelay[] = [];
  const made = ['a', 'b'].map((name) => {
    const refusals = { count: (limit: string) => void counted.push(limit) };
    const relay = new TunnelRelay({
      messages: cluster.node(name, undefined, name).messages,
      leases,
      refusals,
      log: LOG,
      giveUpMs: 1,
      askIdleMs: 30,
    });
    relays.push(relay);
    let id = 0;
    return new Tunnels({
      commands: { request: request as never },
      documents: {
        get: async (collection: string, _tenant: number, key: string) => documents.get(`${collection}/${key}`),
        list: async (collection: string, _tenant: number, prefix: string) =>
          collection === 'openOperation'
            ? [...posted.keys()].map((id) => ({ id: prefix + id.padStart(16, '0'), value: 'PENDING' }))
            : [],
        getMany: async (_collection: string, _tenant: number, ids: string[]) => ids.map((id) => posted.get(id)),
      } as never,
      ids: { nextBesideInOrder: async () => [(id += 1)] },
      history: {
        query: async () => {
          counted.push('query');
          return [...posted.keys()].map((id) => ({ entityId: id, at: Date.now() }));
        },
        stream: silent,
      } as never,
      totals: undefined as never,
      textBytesMax: 1_000,
      now: Date.now,
      bus: {
        subscribe: (_tenant: number, _area: string, listener: (notification: Notification) => void) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      } as unknown as LiveBus,
      refusals,
      log: LOG,
      limits,
      elsewhere: relay,
    });
  });
  t.teardown(() => Promise.all(made.map((tunnels) => tunnels.close())));
  /** Posts an operation with a key, as it is now. */
  const post = (id: string, connectionKey: string, more: object = {}): string => {
    const order = { hostname: '10.0.0.9', port: 2222, connectionKey };
    const creationTime = new Date().toISOString();
    const text = JSON.stringify({
      ...{ id, deviceId: '10', status: 'PENDING', creationTime },
      c8y_RemoteAccessConnect: order,
      ...more,
    });
    posted.set(id, text);
    documents.set(`operation/${id}`, text);
    return text;
  };
  const changed = (text: string): void => {
    for (const tell of listeners) tell({ source: '10', action: 'UPDATE', text: () => text } as unknown as Notification);
  };
  return {
    a: made[0],
    b: made[1],
    answers,
    relays,
    cluster,
    keys,
    failures,
    counted,
    posted,
    documents,
    audits,
    post,
    changed,
  };
}

t.test('client on one node, device on the other: both ways, with back-pressure, and both end', async (t) => {
  const { a, b, relays, keys } = nodes();
  const [client, device] = [new End(), new End()];
  const tunnel = await b.begin(ADA, TARGET);
  tunnel.attach('client', client);
  tunnel.received('client', Buffer.alloc(10));
  await t.rejects(a.serve(user('stranger'), keys[0]), { code: 'security/forbidden' });
  await t.rejects(a.serve({ ...DEVICE, tenantNumber: 3 }, keys[0]), { code: 'remote-access/key' }, 'another tenant');
  const served = await a.serve(DEVICE, keys[0]);
  served.attach('device', device);
  await until('what was sent before comes', () => device.bytes === 10);
  await t.rejects(a.serve(DEVICE, keys[0]), { code: 'remote-access/key' }, 'the key is used');
  client.takesMore = false;
  let sent = 0;
  while (!device.isPaused && sent < 20_000_000) {
    served.received('device', Buffer.alloc(100_000));
    sent += 100_000;
    await pause(1);
  }
  t.ok(device.isPaused, `the device is stopped after ${sent} bytes`);
  client.takesMore = true;
  tunnel.drained('client');
  await until('everything comes', () => client.bytes === sent);
  t.notOk(device.isPaused);
  tunnel.ended('client', 'enough');
  await until('the other end is told', () => device.closed !== undefined);
  t.equal(device.closed, '1000 enough');
  await until('nothing is left', () => relays.every(({ linkCount }) => linkCount === 0));
  t.strictSame([a.counts.joined, b.counts.joined], [0, 0]);
});

t.test('the node of the client dies', async (t) => {
  const { a, b, cluster, keys } = nodes();
  const device = new End();
  (await b.begin(ADA, TARGET)).attach('client', new End());
  (await a.serve(DEVICE, keys[0])).attach('device', device);
  cluster.kill('b');
  await until('the device is told', () => device.closed !== undefined);
  t.equal(a.counts.joined, 0);
});

t.test('a device that does not come', async (t) => {
  const { b, failures, counted, keys, a } = nodes({ keyMs: 20 });
  const client = new End();
  (await b.begin(ADA, TARGET)).attach('client', client);
  await until('the client is told', () => client.closed !== undefined);
  t.match(client.closed, /^1013 remote-access\/device-time: the device has not connected within 0.02 s/);
  await until('its operation fails', () => failures.length === 1);
  t.match(failures[0], /has not connected/);
  t.strictSame(counted, ['remote-access/device-time']);
  await t.rejects(a.serve(DEVICE, keys[0]), { code: 'remote-access/key' }, 'the key is too old');
});

t.test(
  'posted keys are looked for in the documents of the device; few that are not found in the history',
  async (t) => {
    const { a, posted, documents, counted } = nodes({ unknownKeys: 2 });
    documents.set('externalId/c8y_Serial\n1', '{"managedObject":"10"}');
    const operation = (connectionKey: string, deviceId: string, creationTime = new Date().toISOString()): string =>
      JSON.stringify({
        deviceId,
        status: 'PENDING',
        creationTime,
        c8y_RemoteAccessConnect: { hostname: 'h', port: 22, connectionKey },
      });
    posted.set('70', operation('old', '10', '2020-01-01T00:00:00.000Z')).set('71', operation('mine', '10'));
    const tunnel = await a.serve(DEVICE, 'mine');
    t.same(counted, [], 'no query');
    tunnel.close(1000, 'done');
    for (const key of ['x', 'y']) await t.rejects(a.serve(DEVICE, key), { code: 'remote-access/key' });
    t.same(counted, ['query', 'query']);
    await t.rejects(a.serve(DEVICE, 'z'), { code: 'general/busy', status: 503 });
    t.same(counted.slice(2), ['remote-access/unknown-keys']);
    await t.rejects(a.serve(user('device_2'), 'z'), { code: 'remote-access/key' }, 'of another user');
  },
);

t.test('a device that sets FAILED has its client closed, before it has come and after', async (t) => {
  const { a, b, keys, post, changed } = nodes();
  const failed = { status: 'FAILED', failureReason: 'no route' };
  const ends = [new End(), new End(), new End()];
  post('70', 'later');
  (await b.begin(ADA, { ...TARGET, connectionKey: 'later' })).attach('client', ends[0]);
  (await a.begin(ADA, TARGET)).attach('client', ends[1]);
  changed(post('71', 'other', failed));
  t.same([ends[0].closed, ends[1].closed], [undefined, undefined]);
  changed(post('70', 'later', failed));
  changed(post('1', keys[0], failed));
  post('72', 'before', failed);
  (await b.begin(ADA, { ...TARGET, connectionKey: 'before' })).attach('client', ends[2]);
  await until('it is found', () => ends[2].closed !== undefined);
  for (const { closed } of ends) t.equal(closed, '1011 the device cannot connect: no route');
});

t.test('the audit log says where a posted operation leads, whichever end comes first', async (t) => {
  const { a, b, audits, post } = nodes();
  const target = (connectionKey: string): typeof TARGET & { connectionKey: string } => ({ ...TARGET, connectionKey });
  for (const key of ['1', '2', '3']) post(`7${key}`, key);
  await a.serve(DEVICE, '1');
  const tunnels = [await a.begin(ADA, target('1')), await b.begin(ADA, target('2')), await b.begin(ADA, target('3'))];
  await b.serve(DEVICE, '2');
  await a.serve(DEVICE, '3');
  await until('all have begun', () => audits.length === 3);
  for (const tunnel of tunnels) tunnel.close(1000, 'done');
  await until('all have ended', () => audits.length === 6);
  for (const text of audits) t.match(text, /: Shell, 10\.0\.0\.9:2222, /);
});

t.test('an operation fails whose creation was not confirmed', async (t) => {
  const { a, failures, answers } = nodes();
  answers.areLost = true;
  await t.rejects(a.begin(ADA, TARGET), { message: 'the answer has not come' });
  await until('its operation fails', () => failures.length > 0);
  t.same(failures, ['the creation of the operation was not confirmed']);
  t.equal(a.counts.waiting, 0);
});

t.test('operations of a server that was killed fail when their device is wanted again', async (t) => {
  const { a, failures, post } = nodes();
  const creationTime = '2020-01-01T00:00:00.000Z';
  post('70', 'mr-dead', { creationTime });
  post('71', 'mr-good');
  post('72', 'posted', { creationTime });
  post('73', 'mr-executing', { creationTime, status: 'EXECUTING' });
  await a.begin(ADA, TARGET);
  await until('one fails', () => failures.length > 0);
  await a.close();
  t.same(
    failures.map((reason) => reason.split(':')[0]),
    ['no client waits with this key any more', 'the server is stopping'],
  );
});

t.test('why a tunnel ends is told on both nodes', async (t) => {
  const { a, b, keys } = nodes();
  const [client, device] = [new End(), new End()];
  const tunnel = await b.begin(ADA, TARGET);
  tunnel.attach('client', client);
  const served = await a.serve(DEVICE, keys[0]);
  served.attach('device', device);
  tunnel.received('client', Buffer.alloc(10));
  await until('both are joined', () => device.bytes === 10);
  b.endUsers(2, new Set(['ada']));
  served.received('device', Buffer.alloc(10));
  await until('the device is told', () => device.closed !== undefined);
  for (const { closed } of [client, device]) t.match(closed, /^1008 the rights have changed/);
});

t.test('a device that does not come for a posted key', async (t) => {
  const { b, failures, post } = nodes({ keyMs: 30 });
  post('77', 'own');
  const client = new End();
  (await b.begin(ADA, { ...TARGET, connectionKey: 'own' })).attach('client', client);
  await until('its operation fails', () => failures.length === 1);
  t.match(failures[0], /has not connected/);
  t.match(client.closed, /^1013/);
});

t.test('shares, idle time, rights', async (t) => {
  const { b, counted, keys } = nodes({ tunnels: 3, idleMs: 50 });
  const ends = [new End(), new End()];
  (await b.begin(ADA, TARGET)).attach('client', ends[0]);
  (await b.begin(user('bob'), TARGET)).attach('client', ends[1]);
  await b.begin(user('eve'), TARGET);
  await t.rejects(b.begin(ADA, TARGET), { code: 'general/busy' });
  t.match(counted[0], /^remote-access\/tunnels/);
  b.endUsers(2, new Set(['bob']));
  t.match(ends[1].closed, /^1008 the rights have changed/);
  await until('the other is idle', () => ends[0].closed !== undefined);
  t.match(ends[0].closed, /^1000 remote-access\/idle-time/);
  await t.rejects(b.serve(DEVICE, keys[0]), { code: 'remote-access/key' });
});
