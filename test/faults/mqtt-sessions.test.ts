/** QoS 2 exactly once, queued and acknowledged operations over dropped connections and kill -9 of the server. */
import t from 'tap';
import { until } from '../helpers/setup-command.ts';
import { delay, seeded, ServerProcess } from '../helpers/process/server.ts';
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
  await server.start();

  const rowsOf = (client: RawMqtt): string[] =>
    client.received.filter(({ topic }) => topic === 's/ds').map(({ payload }) => String(payload));
  const second = await RawMqtt.connect(server.mqttPort, { clientId: serial, clean: false });
  t.equal(second.sessionPresent, true, 'the session survived');
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
