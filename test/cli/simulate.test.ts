/**
 * The simulation: devices are seeded and realistic, the histogram is bounded, the client speaks to a foreign broker.
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { generate, parser as createParser } from 'mqtt-packet';
import t from 'tap';
import { freePort } from '../helpers/free-port.ts';
import { simulatedDevice } from '../../src/cli/simulate/devices.ts';
import { Histogram } from '../../src/cli/simulate/histogram.ts';
import { MqttLink } from '../../src/cli/simulate/mqtt-link.ts';
import { millrace, start, COMMAND, until } from '../helpers/setup-command.ts';
import { missing } from '../helpers/tools.ts';

t.test('the same seed makes the same devices', async (t) => {
  const messages = (seed: number): string[] => {
    const lines: string[] = [];
    for (let index = 0; index < 40; index += 1) {
      const device = simulatedDevice(index, seed);
      lines.push(device.clientId, device.hello());
      for (let step = 0; step < 50; step += 1) lines.push(device.next(step * 60_000));
    }
    return lines;
  };
  t.same(messages(7), messages(7));
  t.notSame(messages(7), messages(8));
});

t.test('every template occurs and every row is well-formed', async (t) => {
  const templates = new Set<string>();
  for (let index = 0; index < 40; index += 1) {
    const device = simulatedDevice(index, 1);
    for (let step = 0; step < 3000; step += 1) {
      const message = step === 0 ? device.hello() : device.next(step * 60_000);
      for (const row of message.split('\n')) templates.add(row.split(',')[0]);
      if (/NaN|undefined|Infinity/.test(message)) t.fail(message);
    }
  }
  for (const id of ['100', '114', '117', '201', '211', '212', '301', '302', '303', '304', '305', '306', '400', '402']) {
    t.ok(templates.has(id), id);
  }
});

t.test('the temperature follows the day', async (t) => {
  const hour = 60 * 60 * 1000;
  const mean = (atHour: number): number => {
    let sum = 0;
    for (let day = 0; day < 50; day += 1) {
      const device = simulatedDevice(0, 1);
      for (let step = 0; step < day; step += 1) device.next(0);
      sum += Number(/(?:^211,|,T,)(-?[\d.]+)/.exec(device.next(atHour * hour))![1]);
    }
    return sum / 50;
  };
  t.ok(mean(15) > mean(3) + 2);
});

t.test('percentiles are within 4 % and memory is bounded', async (t) => {
  const histogram = new Histogram();
  t.equal(histogram.percentile(0.5), 0);
  for (let value = 1; value <= 100_000; value += 1) histogram.add(value);
  for (const share of [0.01, 0.5, 0.9, 0.99, 1]) {
    const want = share * 100_000;
    const got = histogram.percentile(share);
    t.ok(got >= want && got <= want * 1.04 + 1, `${share}: ${got}`);
  }
  histogram.clear();
  for (const value of [0, 2 ** 40, Infinity]) histogram.add(value);
  t.equal(histogram.percentile(0.1), 0);
  t.equal(histogram.percentile(1), 2 ** 32 - 1);
});

t.test('what was not acknowledged is sent again, and no more is in flight than may be', async (t) => {
  const received: string[] = [];
  let isAcknowledging = false;
  const broker = createServer((socket) => {
    const parser = createParser();
    parser.on('packet', (packet) => {
      if (packet.cmd === 'connect') socket.write(generate({ cmd: 'connack', returnCode: 0, sessionPresent: false }));
      if (packet.cmd !== 'publish') return;
      received.push(`${packet.messageId} ${packet.payload.toString()}`);
      if (isAcknowledging) socket.write(generate({ cmd: 'puback', messageId: packet.messageId! }));
      else if (received.length === 2) socket.destroy();
    });
    socket.on('data', (chunk) => parser.parse(chunk));
    socket.on('error', () => socket.destroy());
  });
  await new Promise<void>((done) => {
    broker.listen(0, '127.0.0.1', done);
  });
  t.teardown(() => broker.close());
  const { port } = broker.address() as { port: number };
  let closed = 0;
  let acknowledged = 0;
  const link = new MqttLink(
    { host: '127.0.0.1', port, clientId: 'again', username: 'u', password: 'p', inFlightMax: 2 },
    {
      connected: () => undefined,
      closed: () => {
        closed += 1;
      },
      acknowledged: () => {
        acknowledged += 1;
      },
    },
  );
  t.teardown(() => link.end());
  link.open();
  await until('connected', () => link.canSend);
  for (const payload of ['one', 'two']) link.publish('s/us', payload);
  t.equal(link.canSend, false);
  await until('closed', () => closed === 1);
  t.equal(link.inFlight, 2);
  isAcknowledging = true;
  link.open();
  await until('acknowledged', () => acknowledged === 2);
  t.same(received, ['1 one', '2 two', '1 one', '2 two']);
  t.equal(link.inFlight, 0);
});

t.test('nothing to connect to: exit code 1 and the reason', async (t) => {
  const port = await freePort();
  const result = await millrace(['simulate', '--host', '127.0.0.1', '--mqtt-port', String(port), '--password', 'x']);
  t.equal(result.code, 1);
  t.match(result.stderr, `nothing listens on 127.0.0.1:${port}`);
  t.equal(result.stdout, '');
});

t.test('a fleet against mosquitto', { skip: missing('mosquitto') }, async (t) => {
  const port = await freePort();
  const broker = spawn('mosquitto', ['-p', String(port)], { stdio: 'ignore' });
  t.teardown(() => broker.kill('SIGKILL'));
  const common = [
    'simulate',
    '--mqtt-port',
    String(port),
    '--password',
    'x',
    '--host',
    '127.0.0.1',
    '--devices',
    '40',
    '--rate',
    '400',
  ];
  let timed = await millrace([...common, '--duration', '2']);
  // The broker may still be starting at the first try.
  await until('the broker answers', async () => {
    if (timed.code === 0) return true;
    timed = await millrace([...common, '--duration', '2']);
    return timed.code === 0;
  });
  const result = JSON.parse(timed.stdout) as Record<string, number>;
  t.equal(result['connected'], 40);
  t.equal(result['errors'], 0, timed.stderr);
  t.equal(result['acknowledged'], result['sent']);
  t.ok(result['sent'] > 400 && result['sent'] < 900, `${result['sent']} at 400 a second for 2 s`);
  t.match(
    timed.stderr,
    /connected 40\/40 {2}sent\/s \d+ {2}acknowledged\/s \d+ {2}latency p50 [\d.]+ ms, p99 (?!0\.0 )[\d.]+ ms {2}errors 0\n/,
  );

  const endless = start(COMMAND, common);
  await until('a line of the display', () => endless.output().stderr.includes('connected 40/40'));
  endless.child.kill('SIGINT');
  const ended = await endless.ended;
  t.equal(ended.code, 0, 'Ctrl-C ends with the summary');
  t.ok(JSON.parse(ended.stdout).acknowledged > 0);
});

t.test(
  'connections that break are opened again and nothing is forgotten',
  { skip: missing('mosquitto') },
  async (t) => {
    const port = await freePort();
    const spawnBroker = (): ReturnType<typeof spawn> => spawn('mosquitto', ['-p', String(port)], { stdio: 'ignore' });
    let broker = spawnBroker();
    t.teardown(() => broker.kill('SIGKILL'));
    const isUp = async (): Promise<boolean> =>
      (
        await millrace([
          'simulate',
          '--mqtt-port',
          String(port),
          '--password',
          'x',
          '--host',
          '127.0.0.1',
          '--duration',
          '1',
          '--devices',
          '1',
        ])
      ).code === 0;
    await until('the broker answers', isUp);
    const fleet = start(COMMAND, [
      'simulate',
      '--mqtt-port',
      String(port),
      '--password',
      'x',
      '--host',
      '127.0.0.1',
      '--devices',
      '20',
      '--rate',
      '200',
    ]);
    await until('all connected', () => fleet.output().stderr.includes('connected 20/20'));
    broker.kill('SIGKILL');
    await until('the loss shows', () => fleet.output().stderr.includes('connected 0/20'));
    broker = spawnBroker();
    const before = fleet.output().stderr.length;
    await until('all connected again', () => fleet.output().stderr.slice(before).includes('connected 20/20'));
    fleet.child.kill('SIGINT');
    const { stdout } = await fleet.ended;
    const result = JSON.parse(stdout) as Record<string, number>;
    t.ok(result['errors'] >= 20);
    t.match(fleet.output().stderr, /errors \d+ \(.+\)\n/);
    t.equal(result['acknowledged'], result['sent']);
  },
);
