/**
 * The journal at its bound: devices are held back without a disconnect, HTTP is told; when the history store is back
 * all goes on.
 */
import t from 'tap';
import { until } from '../helpers/setup-command.ts';
import { ServerProcess, signal } from '../helpers/process/server.ts';
import { account, DeviceSender, HttpSender, measurementsOf } from '../helpers/process/load.ts';
import { readHistory } from '../helpers/process/server.ts';
import { RawMqtt } from '../helpers/process/mqtt.ts';

const BOUND_BYTES = 16 * 1_048_576;

t.test('journal at --journal-max-bytes while ClickHouse stands still', async (t) => {
  const server = await new ServerProcess(t).start({ args: ['--journal-max-bytes', String(BOUND_BYTES)] });
  const devices = [
    new DeviceSender(server, 'bound-0', { gapMs: 20 }),
    new DeviceSender(server, 'bound-1', { gapMs: 20 }),
  ];
  const fill = [new HttpSender(server, 'fill-0', 1_000), new HttpSender(server, 'fill-1', 1_000)];
  for (const sender of fill) await sender.open();
  const runs = [...devices, ...fill].map((sender) => sender.run());
  await until('acknowledgements arrive', () => devices.every(({ lastAckMs }) => lastAckMs > 0));
  const event = {
    source: { id: fill[0].device },
    type: 'fault_Event',
    text: 'to be deleted',
    time: new Date().toISOString(),
  };
  t.equal((await server.http('POST', '/event/events', event)).status, 201);
  const eventsOf = async (device: string): Promise<unknown[]> =>
    (await server.http('GET', `/event/events?source=${device}`)).json<{ events: unknown[] }>().events;
  await until('the event is in the history', async () => (await eventsOf(fill[0].device)).length === 1);
  const clickHouse = server.clickHousePid() ?? 0;
  signal(clickHouse, 'SIGSTOP');
  // Carried out by the projector with commands of its own, when the journal is at its bound: they must not be refused.
  const deletion = server.http('DELETE', `/event/events?source=${fill[0].device}`);

  await until('HTTP is refused', () => fill.every(({ otherAnswers }) => otherAnswers.size > 0), 60_000);
  await until('devices are held back', () => devices.every(({ lastAckMs }) => Date.now() - lastAckMs > 1_000), 30_000);
  for (const { otherAnswers } of fill) {
    for (const [what] of otherAnswers)
      t.match(what, /^503 \{.*"error":\s*"general\/.*journal\/bytes/, 'the error body names the limit');
  }
  t.ok((await server.metric('millrace_refusals_total{limit="journal/bytes"}')) > 0, 'refusals are counted');
  const size = await server.metric('millrace_journal_size_bytes');
  t.ok(size >= BOUND_BYTES && size < BOUND_BYTES + 8 * 1_048_576, `the journal stays near its bound (${size})`);
  const health = await server.ready();
  t.equal(health.status, 503);
  t.equal(health.parts['journal']['refusal'], 'journal/bytes', '/health/ready names it');
  t.equal((await server.http('GET', '/health')).status, 200, '/health is well');
  const command = await server.http('POST', '/inventory/managedObjects', { name: 'refused' });
  t.equal(command.status, 503, 'other writes are refused too');
  t.strictSame(
    devices.map(({ disconnects }) => disconnects),
    [0, 0],
    'no device was disconnected',
  );

  const before = devices.map(({ acknowledgedCount }) => acknowledgedCount);
  const collectionsBefore = fill.map(({ collections }) => collections.acknowledged.size);
  signal(clickHouse, 'SIGCONT');
  await until(
    'everything goes on',
    () =>
      devices.every(({ acknowledgedCount }, index) => acknowledgedCount > before[index] + 50) &&
      fill.every(({ collections }, index) => collections.acknowledged.size > collectionsBefore[index] + 2),
    30_000,
  );
  for (const sender of [...devices, ...fill]) sender.stop();
  await Promise.all(runs);
  await server.caughtUp();
  t.equal((await deletion).status, 204);
  await until('the deletion is carried out', async () => (await eventsOf(fill[0].device)).length === 0);
  t.strictSame(
    devices.map(({ disconnects }) => disconnects),
    [0, 0],
    'no device was disconnected',
  );
  const problems: string[] = [];
  for (const device of devices)
    problems.push(
      ...account(
        device.name,
        device.measurements,
        await measurementsOf(server, (await server.deviceOf(device.name)) ?? ''),
      ),
    );
  t.equal((await server.terminate()).code, 0);
  const rows = await readHistory<{ source: number; value: number }>(
    server.data,
    `SELECT source, value FROM measurements ORDER BY seq`,
  );
  for (const sender of fill)
    problems.push(
      ...account(
        sender.name,
        sender.ledger,
        rows.filter(({ source }) => source === Number(sender.device)).map(({ value }) => value),
      ),
    );
  t.strictSame(problems, [], 'the account is exact');
});

t.test('sessions that are kept, and QoS 2 both ways, at the bound and over kill -9', async (t) => {
  const server = await new ServerProcess(t).start({ args: ['--journal-max-bytes', String(BOUND_BYTES)] });
  const client = await connectKept(server, 'kept');
  await client.subscribe('s/ds', 2);
  client.publish('s/us', '123', 1, 1);
  await until('a row arrives', () => client.received.length > 0);
  const [{ qos, messageId = 0 }] = client.received;
  t.equal(qos, 2);
  client.publish('s/us', '200,fault,n,1', 2, 7);
  await until('PUBREC arrives', () => client.answers.includes('pubrec 7'));
  const subscriber = await connectKept(server, 'subscriber');
  const fill = new HttpSender(server, 'fill', 1_000);
  await fill.open();
  const run = fill.run();
  const clickHouse = server.clickHousePid() ?? 0;
  signal(clickHouse, 'SIGSTOP');
  await until('HTTP is refused', () => fill.otherAnswers.size > 0, 60_000);
  fill.stop();
  await run;

  const refused = await server.metric('millrace_refusals_total{limit="journal/bytes"}');
  client.pubrel(7);
  client.pubrec(messageId);
  await t.rejects(subscriber.subscribe('s/ds'), 'SUBSCRIBE is refused');
  t.equal(subscriber.disconnectCode, 0x97);
  t.match(subscriber.disconnectReason, /journal\/bytes/);
  await t.rejects(
    connectKept(server, 'another'),
    { message: /"reasonCode":151.*journal\/bytes/ },
    'CONNECT is refused',
  );
  await t.rejects(connectKept(server, 'another', 4), { message: /"returnCode":3/ });
  const clean = await RawMqtt.connect(server.mqttPort, { clientId: 'clean' });
  await clean.subscribe('s/ds');
  clean.drop();
  t.ok((await server.metric('millrace_refusals_total{limit="journal/bytes"}')) >= refused + 5, 'each is counted');
  t.equal(await server.metric('millrace_refusals_total{limit="mqtt/internal-error"}'), 0);
  t.notMatch(server.stderr, /mqtt (packet failed|session could not)/, 'no fault of ours');
  t.strictSame(
    [client.answers, client.isClosed],
    [['pubrec 7'], false],
    'PUBCOMP and PUBREL wait, the connection stays',
  );

  signal(clickHouse, 'SIGCONT');
  await until('PUBCOMP and PUBREL arrive', () => client.answers.length === 3, 30_000);
  t.strictSame([...client.answers].sort(), ['pubcomp 7', 'pubrec 7', `pubrel ${messageId}`]);
  client.drop();
  await server.kill();
  await server.start();
  const again = await connectKept(server, 'kept');
  await until('PUBREL comes again', () => again.answers.length > 0);
  again.publish('s/us', '200,fault,n,2', 2, 7);
  await until('PUBREC arrives', () => again.answers.length > 1);
  again.pubrel(7);
  await until('PUBCOMP arrives', () => again.answers.length > 2);
  t.strictSame(
    [again.answers, again.received],
    [[`pubrel ${messageId}`, 'pubrec 7', 'pubcomp 7'], []],
    'and PUBLISH does not',
  );
  await server.caughtUp();
  t.strictSame(
    (await measurementsOf(server, (await server.deviceOf('kept')) ?? '')).sort(),
    [1, 2],
    'the id was free for a new message',
  );
  again.drop();
});

/** A client with a session that is kept, which answers no PUBLISH by itself. */
async function connectKept(
  server: ServerProcess,
  clientId: string,
  version: 4 | 5 = 5,
): Promise<RawMqtt & { answers: string[] }> {
  const answers: string[] = [];
  const prepare = (client: RawMqtt): void => {
    client.onPublish = () => false;
    client.onPubrec = (id) => {
      answers.push(`pubrec ${id}`);
    };
    client.onPubrel = (id) => {
      answers.push(`pubrel ${id}`);
    };
    client.onPubcomp = (id) => {
      answers.push(`pubcomp ${id}`);
    };
  };
  return Object.assign(await RawMqtt.connect(server.mqttPort, { clientId, clean: false, version, prepare }), {
    answers,
  });
}

t.test('the journal is trimmed under measurements alone', async (t) => {
  const server = await new ServerProcess(t).start({ args: ['--journal-max-bytes', String(BOUND_BYTES)] });
  const fill = new HttpSender(server, 'fill', 1_000);
  await fill.open();
  const run = fill.run();
  await until(
    'more than twice the bound was taken',
    () => fill.otherAnswers.size > 0 || fill.collections.acknowledged.size > 500,
    60_000,
  );
  fill.stop();
  await run;
  t.comment(
    `${fill.collections.acknowledged.size} collections, journal ${await server.metric('millrace_journal_size_bytes')} bytes`,
  );
  await server.caughtUp();
  t.ok(
    (await server.metric('millrace_journal_size_bytes')) < BOUND_BYTES / 2,
    'what is in the history leaves the journal',
  );
  t.equal((await server.http('POST', '/inventory/managedObjects', { name: 'taken' })).status, 201, 'writes are taken');
});
