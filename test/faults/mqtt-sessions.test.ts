/** QoS 2 exactly once, queued and acknowledged operations over dropped connections and kill -9 of the server. */
import t from 'tap';
import { WebSocket } from 'ws';
import { until } from '../helpers/setup-command.ts';
import { AUTHORIZATION, delay, seeded, ServerProcess } from '../helpers/process/server.ts';
import { RawMqtt } from '../helpers/process/mqtt.ts';
import { account, measurementsOf } from '../helpers/process/load.ts';
import { ExactlyOnceSender } from '../helpers/process/qos2.ts';

const KILLS = 2;

t.test('QoS 2 is exactly once over dropped connections and kill -9', async (t) => {
  const random = seeded(t);
  const server = await new ServerProcess(t).start();
  const senders = ([4, 5, 4] as const).map(
    (version, index) => new ExactlyOnceSender(server, `twice-${index}`, random, version),
  );
  const runs = senders.map((sender) => sender.run());
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = senders.map(({ ledger }) => ledger.acknowledged.size);
    await until(
      'messages are completed',
      () => senders.every(({ ledger }, index) => ledger.acknowledged.size > before[index] + 60),
      30_000,
    );
    await delay(random() * 300);
    await server.kill();
    await server.start();
  }
  const before = senders.map(({ ledger }) => ledger.acknowledged.size);
  await until(
    'messages are completed',
    () => senders.every(({ ledger }, index) => ledger.acknowledged.size > before[index] + 60),
    30_000,
  );
  for (const sender of senders) sender.isStopped = true;
  await Promise.all(runs);
  t.comment(
    `completed ${senders.map(({ ledger }) => ledger.acknowledged.size).join(' ')}, connections dropped ${senders.map(({ drops }) => drops).join(' ')}`,
  );
  const problems = senders.flatMap((sender) => sender.problems);
  for (const [index, { ledger }] of senders.entries()) {
    t.equal(ledger.acknowledged.size, ledger.sent, 'every message was completed');
    problems.push(
      ...account(
        `twice-${index}`,
        ledger,
        await measurementsOf(server, (await server.deviceOf(`twice-${index}`)) ?? ''),
      ),
    );
  }
  t.strictSame(problems, [], 'each is counted once');
});

t.test('an operation for a device that is away arrives after kill -9, once', async (t) => {
  const server = await new ServerProcess(t).start();
  const serial = 'sleeper';
  const first = await RawMqtt.connect(server.mqttPort, { clientId: serial, clean: false });
  await first.subscribe('s/ds');
  const acknowledged = new Promise<void>((done) => {
    first.onPuback = () => done();
  });
  first.publish('s/us', '114,c8y_Restart', 1, 1);
  await acknowledged;
  const device = (await server.deviceOf(serial)) ?? '';
  await first.subscribe('s/dt');
  const collectionOf = async (client: RawMqtt, rows: string): Promise<string> => {
    const before = client.received.length;
    client.publish('s/ut/killed_1', rows, 1, 2);
    let found: string | undefined;
    await until('the collection', () => {
      found = client.received
        .slice(before)
        .find(({ topic }) => topic === 's/dt')
        ?.payload.toString();
      return found !== undefined;
    });
    return found as string;
  };
  const collection = await collectionOf(first, '11,1,,,a');
  t.match(collection, /^20,killed_1,\d+$/);
  const tunnel = await joinedTunnel(server, device, first);
  first.disconnect();
  await until('the connection is closed', () => first.isClosed);
  const answer = await server.http(
    'POST',
    '/devicecontrol/operations',
    { deviceId: device, description: 'away', c8y_Restart: {} },
    { accept: 'application/json' },
  );
  t.equal(answer.status, 201);
  const { id } = answer.json<{ id: string }>();
  await server.kill();
  t.same(await Promise.all(tunnel.ends), [1006, 1006], 'both ends of a tunnel learn that it has ended');
  await server.start();
  const audit = await server.http('GET', `/audit/auditRecords?type=RemoteAccess&source=${device}`);
  t.match(
    answerOf(audit).auditRecords.filter(({ activity }: { activity: string }) => activity === 'Remote access began'),
    [{ user: 'admin' }],
    'that it began is in the audit log',
  );
  t.equal(await statusOf(server, tunnel.devicePath), 404, 'its key is not known any more');

  const rowsOf = (client: RawMqtt): string[] =>
    client.received.filter(({ topic }) => topic === 's/ds').map(({ payload }) => String(payload));
  const second = await RawMqtt.connect(server.mqttPort, { clientId: serial, clean: false });
  t.equal(second.sessionPresent, true, 'the session survived');
  await second.subscribe('s/dt');
  t.equal(await collectionOf(second, ''), collection, 'a collection that was told is there');
  await until('the operation arrives', () => rowsOf(second).length > 0, 10_000);
  // What was sent before the answer to this has arrived before it.
  await roundTrip(second, '501,c8y_Restart');
  t.strictSame(rowsOf(second), [`510,${serial}`], 'once');
  t.equal((await server.http('GET', `/devicecontrol/operations/${id}`)).json<{ status: string }>().status, 'EXECUTING');
  await roundTrip(second, '503,c8y_Restart');
  second.drop();
  await server.kill();
  await server.start();
  const third = await RawMqtt.connect(server.mqttPort, { clientId: serial, clean: false });
  await roundTrip(third, '200,a,b,1');
  t.strictSame(rowsOf(third), [], 'not again when it is done');
  t.equal(
    (await server.http('GET', `/devicecontrol/operations/${id}`)).json<{ status: string }>().status,
    'SUCCESSFUL',
  );
  third.drop();
});

t.test('an operation that was sent and not acknowledged comes again after kill -9', async (t) => {
  const server = await new ServerProcess(t).start();
  const serial = 'silent';
  const first = await RawMqtt.connect(server.mqttPort, { clientId: serial, clean: false });
  first.onPublish = () => false;
  await first.subscribe('s/ds');
  await roundTrip(first, '114,c8y_Restart');
  const device = (await server.deviceOf(serial)) ?? '';
  t.equal((await server.http('POST', '/devicecontrol/operations', { deviceId: device, c8y_Restart: {} })).status, 201);
  await until('the operation arrives', () => first.received.some(({ topic }) => topic === 's/ds'), 10_000);
  await server.kill();
  await server.start();
  const second = await RawMqtt.connect(server.mqttPort, { clientId: serial, clean: false });
  await until('the operation arrives again', () => second.received.some(({ topic }) => topic === 's/ds'), 10_000);
  await roundTrip(second, '200,a,b,1');
  const rows = second.received.filter(({ topic }) => topic === 's/ds').map(({ payload }) => String(payload));
  t.strictSame(rows, [`510,${serial}`], 'once on this connection');
  second.drop();
});

t.test(
  'an operation that was acknowledged does not come again after kill -9 while it is PENDING, unless the device asks',
  async (t) => {
    const server = await new ServerProcess(t).start();
    const serial = 'acknowledges';
    let client = await RawMqtt.connect(server.mqttPort, { clientId: serial, clean: false });
    const rows = (): string[] =>
      client.received.filter(({ topic }) => topic === 's/ds').map(({ payload }) => String(payload));
    const crash = async (prepare?: (client: RawMqtt) => void): Promise<void> => {
      client.drop();
      await server.kill();
      await server.start();
      client = await RawMqtt.connect(server.mqttPort, {
        clientId: serial,
        clean: false,
        ...(prepare === undefined ? {} : { prepare }),
      });
      t.equal(client.sessionPresent, true);
    };
    await client.subscribe('s/ds');
    await roundTrip(client, '114,c8y_Restart');
    const device = (await server.deviceOf(serial)) ?? '';
    const { id } = (
      await server.http(
        'POST',
        '/devicecontrol/operations',
        { deviceId: device, c8y_Restart: {} },
        { accept: 'application/json' },
      )
    ).json<{ id: string }>();
    await until('the operation arrives', () => rows().length > 0, 10_000);
    // What is acknowledged behind PUBACK is in the journal behind it.
    await roundTrip(client, '200,a,b,1');
    await crash();
    await roundTrip(client, '200,a,b,2');
    t.strictSame(rows(), [], 'acknowledged when it was sent');
    client.onPublish = () => false;
    await roundTrip(client, '500');
    await until('what the device asks for arrives', () => rows().length > 0, 10_000);
    const setTo = async (status: string): Promise<void> => {
      t.equal((await server.http('PUT', `/devicecontrol/operations/${id}`, { status })).status, 200);
    };
    await setTo('EXECUTING');
    await setTo('PENDING');
    await until('the operation arrives as a new one', () => rows().length > 1, 10_000);
    await crash();
    await until('what was not acknowledged arrives again', () => rows().length > 1, 10_000);
    await roundTrip(client, '200,a,b,3');
    t.strictSame(rows(), [`510,${serial}`, `510,${serial}`], 'acknowledged now');
    await crash();
    await roundTrip(client, '200,a,b,4');
    t.strictSame(rows(), [], 'acknowledged when it came from the store');
    client.drop();
    await setTo('EXECUTING');
    await setTo('PENDING');
    await crash();
    await until('set to PENDING again it arrives', () => rows().length > 0, 10_000);
    await roundTrip(client, '200,a,b,5');
    t.strictSame(rows(), [`510,${serial}`]);
    client.drop();
  },
);

async function roundTrip(client: RawMqtt, payload: string): Promise<void> {
  await new Promise<void>((done, fail) => {
    client.onPuback = () => done();
    client.onClose = () => fail(new Error('the connection was closed'));
    client.publish('s/us', payload, 1, 9);
  });
}

/** Tests look into answers freely. */
const answerOf = (answer: { json<T>(): T }): any => answer.json<any>();

const webSocket = (server: ServerProcess, path: string): WebSocket =>
  new WebSocket(`ws://127.0.0.1:${server.httpPort}/service/remoteaccess/${path}`, ['binary'], {
    headers: { authorization: AUTHORIZATION },
  });

/** Of an upgrade that is refused. */
const statusOf = (server: ServerProcess, path: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    const socket = webSocket(server, path);
    socket.on('error', () => undefined);
    socket.on('open', () => resolve(101));
    socket.on('unexpected-response', (_request, { statusCode }) => {
      socket.terminate();
      resolve(statusCode);
    });
  });

/** A tunnel through which a byte has gone. The device gets its operation on `s/ds`. */
async function joinedTunnel(
  server: ServerProcess,
  device: string,
  client: RawMqtt,
): Promise<{ readonly devicePath: string; readonly ends: readonly Promise<number>[] }> {
  const configuration = { name: 'Shell', hostname: 'h', port: 22, protocol: 'SSH' };
  const headers = { accept: 'application/json' };
  const made = await server.http(
    'POST',
    `/service/remoteaccess/devices/${device}/configurations`,
    configuration,
    headers,
  );
  const near = webSocket(server, `client/${device}/configurations/${answerOf(made).id}`);
  await new Promise((resolve, reject) => near.on('open', resolve).on('error', reject));
  const row = (): string | undefined =>
    client.received.map(({ payload }) => String(payload)).find((payload) => payload.startsWith('530,'));
  await until('the device is told', () => row() !== undefined);
  const devicePath = `device/${row()?.split(',').at(-1)}`;
  const far = webSocket(server, devicePath);
  const ends = [near, far].map((socket) => new Promise<number>((resolve) => socket.on('close', resolve)));
  await new Promise((resolve, reject) => far.on('open', resolve).on('error', reject));
  near.send('x');
  await new Promise((resolve) => far.once('message', resolve));
  for (const socket of [near, far]) socket.on('error', () => undefined);
  return { devicePath, ends };
}
