/**
 * Consumers of Notifications 2.0 against a running server: tokens, frames, filters, acknowledgements, shared and
 * volatile topics (docs/spec/notifications.md).
 */
import t from 'tap';
import { connect, consume, frameOf, refusalOf, tokenOf } from '../../helpers/running/consumer.ts';
import type { Frame, NotificationConsumer } from '../../helpers/running/consumer.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { PASSWORD, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const SUBSCRIPTIONS = '/notification2/subscriptions';
const server = await startServer(t);
const { rest } = server;

const time = (): string => new Date().toISOString();
const measurement = (id: string, value: number, type = 'c8y_Temp'): object => ({
  source: { id },
  type,
  time: time(),
  c8y_Temp: { T: { value, unit: 'C' } },
  c8y_Env: { E: { value } },
});
const alarm = (id: string, type: string): object => ({
  source: { id },
  type,
  time: time(),
  text: 'two\nlines',
  severity: 'MAJOR',
});
const subscribe = (id: string, subscription: string, further: object = {}): Promise<any> =>
  rest.create(SUBSCRIPTIONS, { context: 'mo', source: { id }, subscription, ...further });
const payloadOf = (token: string): any => JSON.parse(Buffer.from(token.split('.')[1], 'base64').toString());

t.test('tokens: claims that any Base64 decodes, verified and refused', async (t) => {
  for (const request of [
    { subscription: 'alerts', subscriber: 'a' },
    { subscription: 'alerts', subscriber: 'ab', shared: true, nonPersistent: true, expiresInMinutes: 1 },
    { subscription: 'alertsX', subscriber: 'abc', signed: false, type: 'notification' },
  ]) {
    const token = await tokenOf(rest, request);
    const [, middle] = token.split('.');
    t.match(middle, /^[A-Za-z0-9]+$/);
    t.equal(middle.length % 4, 0);
    const payload = payloadOf(token);
    const { subscription, subscriber, shared, nonPersistent = false, expiresInMinutes = 1_440 } = request as any;
    t.match(payload, { sub: subscriber, topic: `${TENANT}/relnotif/${subscription}`, volatile: nonPersistent });
    t.equal(payload.shared, shared === true ? 'true' : undefined);
    t.equal(payload.exp - payload.iat, expiresInMinutes * 60);
    t.same(await rest.read(`/notification2/token?token=${token}`), payload);
  }
  const good = await tokenOf(rest, { subscription: 'a', subscriber: 'b' });
  for (const token of ['', 'x', good.slice(0, -2), good.replace(/\.[^.]*\./, '.e30.')]) {
    t.equal((await rest.get(`/notification2/token?token=${token}`)).status, 422, token);
    t.equal((await rest.post(`/notification2/unsubscribe?token=${token}`, '')).status, 401, token);
    t.equal(await connect(server.url, token), 401, token);
  }
  for (const wrong of [
    {},
    { subscription: 'a' },
    { subscription: 'a b', subscriber: 'c' },
    { subscription: 'a', subscriber: 'c', expiresInMinutes: 0 },
    { subscription: 'a', subscriber: 'c'.repeat(65) },
  ])
    t.equal((await rest.post('/notification2/token', wrong)).status, 422, JSON.stringify(wrong));
  t.equal(await connect(server.url, good, { query: '&consumer=a-b' }), 422);
  await rest.create('/user/t1/users', { userName: 'plain', password: PASSWORD, email: 'plain@example.com' });
  const plain = new Rest(server.url, 't1/plain', PASSWORD);
  t.equal((await plain.post('/notification2/token', { subscription: 'a', subscriber: 'b' })).status, 403);
  t.equal((await plain.get(`/notification2/token?token=${good}`)).status, 403);
  const anonymous = await fetch(`${server.url}/notification2/unsubscribe?token=${good}`, { method: 'POST' });
  t.same([anonymous.status, await anonymous.json()], [200, { result: 'DONE' }]);
  await eventually('the audit records', async () => {
    const { auditRecords } = await rest.read('/audit/auditRecords?type=SYSTEM&pageSize=2000');
    return auditRecords.some(({ activity }: any) => activity === 'Notification token created');
  });
});

t.test('frames: header, action, an empty line, the entity on one line with its links', async (t) => {
  const device = await rest.createDevice('Pump');
  await subscribe(device, 'frames');
  const consumer = await consume(server, await tokenOf(rest, { subscription: 'frames', subscriber: 'one' }));
  t.teardown(() => consumer.close());
  const { id } = await rest.create('/measurement/measurements', measurement(device, 1));
  const made = await rest.create('/alarm/alarms', alarm(device, 'hot'));
  await rest.put(`/alarm/alarms/${made.id}`, { status: 'CLEARED' });
  const event = await rest.create('/event/events', {
    source: { id: device },
    type: 'door',
    time: time(),
    text: 'open',
  });
  await rest.delete(`/event/events/${event.id}`);
  const operation = await rest.create('/devicecontrol/operations', { deviceId: device, c8y_Restart: {} });
  await rest.put(`/inventory/managedObjects/${device}`, { name: 'Pump 2' });
  await rest.delete(`/inventory/managedObjects/${device}`);
  // Of the object come more updates: its alarm counters, its availability.
  const apart = (): Frame[] =>
    consumer.frames.filter(({ channel, action }) => !channel.includes('managedobjects') || action === 'DELETE');
  await eventually('all frames', () => apart().length >= 7 || undefined);
  const frames = apart();
  t.same(
    frames.map(({ channel, action }) => `${channel} ${action}`),
    [
      `/t1/measurements/${device} CREATE`,
      `/t1/alarms/${device} CREATE`,
      `/t1/alarms/${device} UPDATE`,
      `/t1/events/${device} CREATE`,
      `/t1/events/${device} DELETE`,
      `/t1/operations/${device} CREATE`,
      `/t1/managedobjects/${device} DELETE`,
    ],
  );
  const of = (channel: string, action: string): any =>
    frames.find((one) => one.channel === `/t1/${channel}/${device}` && one.action === action)?.body;
  t.match(of('measurements', 'CREATE'), {
    self: `${server.url}/measurement/measurements/${id}`,
    id,
    type: 'c8y_Temp',
    source: { id: device, self: `${server.url}/inventory/managedObjects/${device}` },
    c8y_Temp: { T: { value: 1, unit: 'C' } },
  });
  t.match(of('alarms', 'CREATE'), { id: made.id, text: 'two\nlines', self: `${server.url}/alarm/alarms/${made.id}` });
  t.match(of('alarms', 'UPDATE'), { id: made.id, status: 'CLEARED' });
  t.same(of('events', 'DELETE'), { id: event.id });
  t.match(of('operations', 'CREATE'), { id: operation.id, deviceId: device });
  t.same(frames[6].body, { id: device });
  t.ok(consumer.frames.some(({ body }) => body.name === 'Pump 2'));
  t.throws(() => frameOf('a\nb'));
});

t.test('filters: apis, children, types, fragments, the whole tenant', async (t) => {
  const parent = await rest.createDevice('Gateway');
  const child = await rest.createDevice('Child');
  await subscribe(parent, 'filters', {
    subscriptionFilter: { apis: ['alarmsWithChildren', 'measurements'], typeFilter: "'wanted' or 'it''s'" },
    fragmentsToCopy: ['c8y_Temp'],
  });
  await rest.create(SUBSCRIPTIONS, {
    context: 'tenant',
    subscription: 'filters',
    subscriptionFilter: { apis: ['managedobjects'], typeFilter: 'c8y_New' },
  });
  const consumer = await consume(server, await tokenOf(rest, { subscription: 'filters', subscriber: 'one' }));
  t.teardown(() => consumer.close());
  await rest.create('/alarm/alarms', alarm(child, 'wanted'));
  await rest.create('/alarm/alarms', alarm(parent, 'other'));
  await rest.create('/event/events', { source: { id: parent }, type: 'wanted', time: time(), text: 'no' });
  await rest.create('/measurement/measurements', measurement(parent, 7, "it's"));
  // Linked later: from now on.
  await rest.create(`/inventory/managedObjects/${parent}/childDevices`, { managedObject: { id: child } });
  const below = await rest.create('/alarm/alarms', alarm(child, "it's"));
  await rest.create('/inventory/managedObjects', { name: 'x', type: 'c8y_Other' });
  const { id } = await rest.create('/inventory/managedObjects', { name: 'x', type: 'c8y_New' });
  await rest.delete(`/inventory/managedObjects/${id}`);
  const frames = await consumer.has(4);
  t.same(
    frames.map(({ channel, action }) => `${channel} ${action}`),
    [
      `/t1/measurements/${parent} CREATE`,
      `/t1/alarmsWithChildren/${child} CREATE`,
      `/t1/managedobjects/${id} CREATE`,
      `/t1/managedobjects/${id} DELETE`,
    ],
  );
  t.same(Object.keys(frames[0].body).sort(), ['c8y_Temp', 'id', 'self', 'source', 'time', 'type']);
  t.equal(frames[1].body.id, below.id);
});

t.test('what is not acknowledged comes again to the next connection, in order', async (t) => {
  const device = await rest.createDevice('Backlog');
  await subscribe(device, 'backlog', { subscriptionFilter: { apis: ['measurements'] } });
  const token = await tokenOf(rest, { subscription: 'backlog', subscriber: 'one' });
  // Before the first connection there is no backlog.
  await rest.create('/measurement/measurements', measurement(device, -1));
  const first = await consume(server, token, { isAcknowledging: false, path: '/notification2/consumer' });
  for (let value = 0; value < 5; value += 1) await rest.create('/measurement/measurements', measurement(device, value));
  const values = (consumer: NotificationConsumer): number[] => consumer.frames.map(({ body }) => body.c8y_Temp.T.value);
  await first.has(5);
  t.same(values(first), [0, 1, 2, 3, 4]);
  // An exclusive subscriber has one connection.
  t.equal(await refusalOf(server, token), 409);
  t.equal(
    await refusalOf(server, await tokenOf(rest, { subscription: 'backlog', subscriber: 'one', shared: true })),
    409,
  );
  first.socket.send('no such id');
  for (const frame of first.frames.slice(0, 2)) first.acknowledge(frame);
  await rest.read(`/notification2/token?token=${token}`);
  await first.close();
  await rest.create('/measurement/measurements', measurement(device, 5));
  const second = await consume(server, token, { isAcknowledging: false });
  await second.has(4);
  t.same(values(second), [2, 3, 4, 5]);
  // Another subscriber of the topic begins now, and has all of its own.
  const other = await consume(server, await tokenOf(rest, { subscription: 'backlog', subscriber: 'two' }));
  await rest.create('/measurement/measurements', measurement(device, 6));
  await other.has(1);
  t.same(values(other), [6]);
  await second.has(5);
  second.socket.send('unsubscribe_subscriber');
  t.match(await eventually('the end', () => second.closed), { code: 1000 });
  await other.close();
  const again = await consume(server, token);
  await rest.create('/measurement/measurements', measurement(device, 7));
  await again.has(1);
  t.same(values(again), [7]);
  await rest.post(`/notification2/unsubscribe?token=${token}`, '');
  t.match(await eventually('the end', () => again.closed), { code: 1000 });
});

t.test('shared: each device goes to one of the clients, and back to it under its name', async (t) => {
  const devices = await Promise.all(Array.from({ length: 12 }, (_, index) => rest.createDevice(`S${index}`)));
  for (const device of devices) await subscribe(device, 'shared', { subscriptionFilter: { apis: ['events'] } });
  const token = await tokenOf(rest, { subscription: 'shared', subscriber: 'group', shared: true });
  const open = (name: string): Promise<NotificationConsumer> => consume(server, token, { query: `&consumer=${name}` });
  const round = async (consumers: readonly NotificationConsumer[], text: string): Promise<string[][]> => {
    for (const device of devices)
      await rest.create('/event/events', { source: { id: device }, type: 'x', time: time(), text });
    const found = (one: NotificationConsumer): string[] =>
      one.frames.filter(({ body }) => body.text === text).map(({ body }) => body.source.id);
    await eventually('all of the round', () => (consumers.flatMap(found).length >= devices.length ? true : undefined));
    return consumers.map((one) => found(one).sort());
  };
  let [one, two] = [await open('one'), await open('two')];
  const [ofOne, ofTwo] = await round([one, two], 'first');
  t.same([...ofOne, ...ofTwo].sort(), [...devices].sort());
  t.ok(ofOne.length > 0 && ofTwo.length > 0, `${ofOne.length} and ${ofTwo.length}`);
  await two.close();
  t.same(await round([one], 'alone'), [[...devices].sort()]);
  two = await open('two');
  t.same(await round([one, two], 'again'), [ofOne, ofTwo]);
  await Promise.all([one.close(), two.close()]);
});

t.test('volatile: apart from the persistent topic of its name, without a backlog', async (t) => {
  const device = await rest.createDevice('Volatile');
  const event = (text: string): Promise<any> =>
    rest.create('/event/events', { source: { id: device }, type: 'x', time: time(), text });
  const texts = (consumer: NotificationConsumer): string[] => consumer.frames.map(({ body }) => body.text);
  await subscribe(device, 'both', { nonPersistent: true, subscriptionFilter: { apis: ['events'] } });
  t.equal((await subscribe(device, 'both', { subscriptionFilter: { apis: ['events'] } })).nonPersistent, false);
  t.equal(
    (await rest.post(SUBSCRIPTIONS, { context: 'mo', source: { id: device }, subscription: 'both' })).status,
    409,
  );
  const token = await tokenOf(rest, { subscription: 'both', subscriber: 'one', nonPersistent: true });
  const first = await consume(server, token);
  const persistent = await consume(server, await tokenOf(rest, { subscription: 'both', subscriber: 'one' }));
  await event('a');
  await first.has(1);
  await first.close();
  await event('b');
  const second = await consume(server, token);
  await event('c');
  await second.has(1);
  t.same(texts(second), ['c']);
  await persistent.has(3);
  t.same(texts(persistent), ['a', 'b', 'c']);
  await Promise.all([second.close(), persistent.close()]);
});

t.test('a topic drains when its subscription is deleted; a device over MQTT; other tenants', async (t) => {
  const device = await connectDevice(t, server, 'notified');
  await device.publish('s/us', '100,Notified,c8y_MQTTDevice');
  const id = await eventually('the device', () => rest.idOf('notified'));
  const { id: subscription } = await subscribe(id, 'mqtt', {
    subscriptionFilter: { apis: ['measurements', 'alarms'] },
  });
  const token = await tokenOf(rest, { subscription: 'mqtt', subscriber: 'one' });
  const first = await consume(server, token);
  await first.close();
  for (let value = 0; value < 50; value += 1) await device.publish('s/us', `200,c8y_Temp,T,${value},C`);
  await device.publish('s/us', '301,c8y_Hot,hot');
  t.equal((await rest.delete(`${SUBSCRIPTIONS}/${subscription}`)).status, 204);
  await device.publish('s/us', '200,c8y_Temp,T,99,C');
  const second = await consume(server, token);
  const frames = await second.has(51);
  t.same(
    frames.slice(0, 50).map(({ body }) => body.c8y_Temp.T.value),
    Array.from({ length: 50 }, (_, value) => value),
  );
  t.match(frames[50], { channel: `/t1/alarms/${id}`, body: { type: 'c8y_Hot' } });
  await second.close();
  t.equal(second.frames.length, 51);

  await server.management.create('/tenant/tenants', {
    company: 'Three',
    domain: 'three',
    adminName: 'boss',
    adminEmail: 'boss@example.com',
    adminPass: PASSWORD,
  });
  const [tenant] = (await server.management.read('/tenant/tenants?pageSize=2000')).tenants.filter(
    ({ company }: any) => company === 'Three',
  );
  const other = new Rest(server.url, `${tenant.id}/boss`, PASSWORD);
  t.equal((await other.get(`/notification2/token?token=${token}`)).status, 422);
  await other.create(SUBSCRIPTIONS, {
    context: 'tenant',
    subscription: 'mqtt',
    subscriptionFilter: { apis: ['*'] },
  });
  const strangersToken = await tokenOf(other, { subscription: 'mqtt', subscriber: 'one' });
  const stranger = await consume(server, strangersToken);
  await device.publish('s/us', '200,c8y_Temp,T,100,C');
  const object = await other.create('/inventory/managedObjects', { name: 'own' });
  const [frame] = await stranger.has(1);
  t.equal(frame.channel, `/${tenant.id}/managedobjects/${object.id}`);
  t.equal((await server.management.put(`/tenant/tenants/${tenant.id}`, { status: 'SUSPENDED' })).status, 200);
  t.match(await eventually('the end', () => stranger.closed), { code: 1008 });
  t.equal((await rest.post(`/notification2/unsubscribe?token=${strangersToken}`, '')).status, 403);
});
