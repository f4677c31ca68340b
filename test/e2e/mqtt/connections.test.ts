/** Connecting with npm `mqtt`: versions, transports, forms of the client ID, refusals, QoS, sessions and takeover. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import mqtt from 'mqtt';
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import type { DeviceOptions, Transport } from '../../helpers/running/mqtt.ts';
import { PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';

const certificates = scratchDirectory(t);
const key = join(certificates, 'key.pem');
const certificate = join(certificates, 'certificate.pem');
const withoutOpenssl = missing('openssl');
if (withoutOpenssl === false) {
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      key,
      '-out',
      certificate,
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
    ],
    { stdio: 'ignore' },
  );
}
const server = await startServer(t, {
  flags: withoutOpenssl === false ? ['--tls-key', key, '--tls-certificate', certificate] : [],
});
const { rest } = server;

const temperatures = async (serial: string): Promise<number[]> => {
  const id = await rest.idOf(serial);
  const { measurements } = await rest.read(`/measurement/measurements?source=${id}&pageSize=100`);
  return measurements.map((measurement: any) => measurement.c8y_TemperatureMeasurement.T.value);
};

const versions = [4, 5] as const;
const transports: readonly Transport[] = ['tcp', 'ws', 'tls'];

for (const protocolVersion of versions) {
  for (const transport of transports) {
    t.test(
      `MQTT ${protocolVersion === 4 ? '3.1.1' : '5.0'} over ${transport}: up with QoS 0, 1 and 2, and down`,
      { skip: transport === 'tls' ? withoutOpenssl : false },
      async (t) => {
        const serial = `${transport}-${protocolVersion}`;
        const ca = transport === 'tls' ? { ca: readFileSync(certificate) } : {};
        const device = await connectDevice(t, server, serial, { protocolVersion, transport, ...ca });
        await device.subscribe('s/ds', 's/e');
        await device.publish('s/us', '211,1', 1);
        await device.publish('s/us', '211,2', 2);
        await device.publish('s/us', '211,3', 0);
        await eventually('the one of QoS 0', async () => (await temperatures(serial)).length === 3);
        t.same((await temperatures(serial)).sort(), [1, 2, 3]);
        await device.publish('s/us', '123');
        await device.row('s/ds', `124,${await rest.idOf(serial)}`);
        t.same(device.rows('s/e'), []);
      },
    );
  }
}

t.test('MQTT 3.1 is spoken too', async (t) => {
  const device = await connectDevice(t, server, 'old-1', { protocolVersion: 3, protocolId: 'MQIsdp' });
  await device.publish('s/us', '211,1');
  t.same(await temperatures('old-1'), [1]);
});

t.test('the forms of the client ID name one device', async (t) => {
  for (const clientId of ['form-1', 'd:form-1', 'd:form-1:my-templates']) {
    const device = await connectDevice(t, server, clientId);
    await device.publish('s/us', '211,4');
    await device.end();
  }
  t.same(await temperatures('form-1'), [4, 4, 4]);
  t.equal((await rest.deviceOf('form-1')).name, 'MQTT Device form-1');
});

t.test('refused connections', async (t) => {
  const check = async (
    what: string,
    clientId: string,
    options: DeviceOptions,
    want: { code: number },
  ): Promise<void> => {
    await t.rejects(connectDevice(t, server, clientId, options), want, what);
  };
  await check('wrong password, 3.1.1', 'refused', { password: 'wrong' }, { code: 4 });
  await check('wrong password, 5.0', 'refused', { password: 'wrong', protocolVersion: 5 }, { code: 0x86 });
  await check('unknown user', 'refused', { username: `${TENANT}/nobody` }, { code: 4 });
  await check('unknown tenant', 'refused', { username: 'nowhere/admin' }, { code: 4 });
  await check('another kind of client', 'x:refused', {}, { code: 2 });
  await check('another kind of client, 5.0', 'x:refused', { protocolVersion: 5 }, { code: 0x85 });
  await check('wildcard in the serial', 'a+b', {}, { code: 2 });
  t.equal(await rest.idOf('refused'), undefined);
});

t.test('the user without tenant is one of the first tenant', async (t) => {
  const device = await connectDevice(t, server, 'short-user', { username: 'admin' });
  await device.publish('s/us', '211,1');
  t.ok(await rest.idOf('short-user'));
});

t.test('subscriptions: receive topics are granted, all others refused, and the connection stays', async (t) => {
  const device = await connectDevice(t, server, 'subscriber-1');
  const granted = [
    's/ds',
    's/e',
    's/dt',
    's/dc/#',
    's/dc/x',
    's/dl',
    's/dl/x',
    's/ol/x',
    'devicecontrol/notifications',
    'error',
    's/dat',
    's/dd',
  ];
  for (const { topic, qos } of await device.client.subscribeAsync(granted, { qos: 1 })) t.equal(qos, 1, topic);
  const refused = ['s/us', '#', 's/+', 'some/thing', 't/us', 's/uc/x', 'measurement/measurements/create', 's/dcr'];
  const codes = await new Promise<number[]>((resolve) => {
    device.client.on('packetreceive', (packet) => {
      if (packet.cmd === 'suback') resolve(packet.granted as number[]);
    });
    device.client.subscribe(refused, { qos: 1 }, () => undefined);
  });
  t.same(
    codes,
    refused.map(() => 0x80),
  );
  await device.publish('s/us', '211,1');
  t.same(await temperatures('subscriber-1'), [1]);
});

t.test('a second connection of a device replaces the first, which learns why', async (t) => {
  const first = await connectDevice(t, server, 'taken-over', { protocolVersion: 5 });
  const reason = new Promise<number | undefined>((resolve) =>
    first.client.once('disconnect', (packet) => resolve(packet.reasonCode)),
  );
  const closed = new Promise<void>((resolve) => first.client.once('close', () => resolve()));
  const second = await connectDevice(t, server, 'd:taken-over', { protocolVersion: 5 });
  t.equal(await reason, 0x8e);
  await closed;
  await second.publish('s/us', '211,1');
  t.same(await temperatures('taken-over'), [1]);
});

t.test("another tenant's device with the same serial is another device", async (t) => {
  const here = await connectDevice(t, server, 'twin');
  const there = await connectDevice(t, server, 'twin', { username: 'management/admin', password: 'mill-Race-8' });
  await here.publish('s/us', '211,1');
  await there.publish('s/us', '211,2');
  t.same(await temperatures('twin'), [1]);
  t.not(await server.management.idOf('twin'), undefined);
  t.not(await server.management.idOf('twin'), await rest.idOf('twin'));
  t.equal(here.client.connected, true);
});

for (const protocolVersion of versions) {
  t.test(`a persistent session keeps what comes while the device is away (MQTT ${protocolVersion})`, async (t) => {
    const serial = `away-${protocolVersion}`;
    const stays = protocolVersion === 5 ? { properties: { sessionExpiryInterval: 600 } } : {};
    const options: DeviceOptions = { protocolVersion, clean: false, ...stays };
    const first = await connectDevice(t, server, serial, options);
    t.equal(first.sessionPresent, false);
    await first.publish('s/us', '100,Away,my_Type');
    await first.subscribe('s/ds');
    await first.end();
    const deviceId = await rest.idOf(serial);
    await rest.create('/devicecontrol/operations', { deviceId, c8y_Restart: {} });
    const second = await connectDevice(t, server, serial, options);
    t.equal(second.sessionPresent, true);
    // The subscription is part of the session: nothing is subscribed again.
    await second.row('s/ds', `510,${serial}`);
    await second.end();
    const third = await connectDevice(t, server, serial, { protocolVersion, clean: true });
    t.equal(third.sessionPresent, false, 'clean start ends the session');
  });
}

t.test('the will is published when the connection breaks, not when it ends', async (t) => {
  const will = { topic: 's/us', payload: Buffer.from('400,my_Will,gone'), qos: 1 as const, retain: false };
  const broken = await connectDevice(t, server, 'will-broken', { will });
  await broken.publish('s/us', '100,With a will,my_Type');
  const ended = await connectDevice(t, server, 'will-ended', { will });
  await ended.publish('s/us', '100,With a will,my_Type');
  await ended.end();
  broken.client.stream.destroy();
  const eventsOf = async (serial: string): Promise<any[]> =>
    (await rest.read(`/event/events?source=${await rest.idOf(serial)}`)).events;
  t.match(await eventually('the will', async () => (await eventsOf('will-broken'))[0]), {
    type: 'my_Will',
    text: 'gone',
  });
  t.same(await eventsOf('will-ended'), []);
});

t.test('too large a payload ends the connection with its reason; the limit was announced', async (t) => {
  const client = mqtt.connect({
    host: '127.0.0.1',
    port: server.mqttPort,
    clientId: 'large-1',
    username: `${TENANT}/admin`,
    password: PASSWORD,
    protocolVersion: 5,
    reconnectPeriod: 0,
  });
  t.teardown(() => client.endAsync(true));
  const connack = await new Promise<any>((resolve) => client.once('connect', resolve));
  t.ok(connack.properties.maximumPacketSize >= 16_184);
  t.ok(connack.properties.maximumPacketSize < 17_000);
  await client.publishAsync('s/us', `400,my_Event,${'x'.repeat(16_000)}`, { qos: 1 });
  const reason = new Promise<any>((resolve) => client.once('disconnect', resolve));
  client.on('error', () => undefined);
  client.publish('s/us', `400,my_Event,${'x'.repeat(20_000)}`, { qos: 1 }, () => undefined);
  const { reasonCode, properties } = await reason;
  t.equal(reasonCode, 0x95);
  t.match(properties.reasonString, /payload|packet/i);
});

t.test('an operation comes with the QoS of the subscription, 2 as well, also to a session that was away', async (t) => {
  for (const qos of [0, 1, 2] as const) {
    const serial = `down-${qos}`;
    const options: DeviceOptions = { protocolVersion: 5, clean: false, properties: { sessionExpiryInterval: 600 } };
    const device = await connectDevice(t, server, serial, options);
    const received: number[] = [];
    device.client.on('message', (_topic, _payload, packet) => received.push(packet.qos));
    await device.client.subscribeAsync('s/ds', { qos });
    await device.publish('s/us', '100,Down,x');
    const id = await rest.idOf(serial);
    await rest.create('/devicecontrol/operations', { deviceId: id, c8y_Command: { text: 'first' } });
    await device.row('s/ds', `511,${serial},first`);
    t.same(received, [qos]);
    await device.end();
    if (qos === 0) continue;
    await rest.create('/devicecontrol/operations', { deviceId: id, c8y_Command: { text: 'second' } });
    const again = await connectDevice(t, server, serial, options);
    await again.row('s/ds', `511,${serial},second`);
    t.equal(again.rows('s/ds').filter((row) => row.endsWith('second')).length, 1, 'once');
  }
});
