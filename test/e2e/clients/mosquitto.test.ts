/** mosquitto_pub and mosquitto_sub against the server. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import t from 'tap';
import { PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import type { Teardown } from '../../helpers/running/server.ts';
import { missing } from '../../helpers/tools.ts';
import { PATIENCE } from '../../helpers/until.ts';

const skip = missing('mosquitto_pub', 'mosquitto_sub');
const server = await startServer(t);
const { rest } = server;
const RUN_TIMEOUT_MS = 15_000 * PATIENCE;

interface Run {
  child: ChildProcess;
  output(): string;
  ended: Promise<{ code: number | null; output: string }>;
}

function run(t: Teardown, program: 'mosquitto_pub' | 'mosquitto_sub' | 'mosquitto_rr', ...args: string[]): Run {
  const login = args.includes('-u') ? [] : ['-u', `${TENANT}/admin`, '-P', PASSWORD];
  const child = spawn(program, ['-h', '127.0.0.1', '-p', String(server.mqttPort), ...login, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: RUN_TIMEOUT_MS,
  });
  t.teardown(() => {
    child.kill('SIGKILL');
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, output }));
  });
  return { child, output: () => output, ended };
}

for (const version of ['mqttv311', 'mqttv5']) {
  t.test(`publish with QoS 0, 1 and 2, ${version}`, { skip }, async (t) => {
    const serial = `pub-${version}`;
    for (const qos of ['1', '2', '0']) {
      t.match(
        await run(t, 'mosquitto_pub', '-V', version, '-i', serial, '-t', 's/us', '-m', `211,${qos}`, '-q', qos).ended,
        { code: 0, output: '' },
      );
    }
    const values = async (): Promise<number[]> => {
      const { measurements } = await rest.read(
        `/measurement/measurements?source=${await rest.idOf(serial)}&pageSize=10`,
      );
      return measurements.map((measurement: any) => measurement.c8y_TemperatureMeasurement.T.value);
    };
    t.same(
      await eventually('all', async () => {
        const found = await values();
        return found.length === 3 && found.sort();
      }),
      [0, 1, 2],
    );
  });

  t.test(`s/ds and s/e, ${version}`, { skip }, async (t) => {
    const serial = `sub-${version}`;
    await run(t, 'mosquitto_pub', '-i', serial, '-t', 's/us', '-m', '100,Subscriber,my_Type', '-q', '1').ended;
    const subscriber = run(
      t,
      'mosquitto_sub',
      '-V',
      version,
      '-i',
      serial,
      '-t',
      's/ds',
      '-t',
      's/e',
      '-q',
      '1',
      '-v',
      '-C',
      '1',
      '-W',
      '10',
    );
    await rest.create('/devicecontrol/operations', {
      deviceId: await rest.idOf(serial),
      c8y_Command: { text: 'list, all' },
    });
    t.same(await subscriber.ended, { code: 0, output: `s/ds 511,${serial},"list, all"\n` });
  });
}

t.test('an error row reaches s/e of who sent the faulty one', { skip: missing('mosquitto_rr') }, async (t) => {
  const { code, output } = await run(
    t,
    'mosquitto_rr',
    '-i',
    'errors',
    '-t',
    's/us',
    '-e',
    's/e',
    '-m',
    '999,x',
    '-q',
    '1',
    '-W',
    '10',
    '-v',
  ).ended;
  t.equal(code, 0);
  t.match(output, /^s\/e 40,999,/);
});

t.test('the will is published when the client is killed', { skip }, async (t) => {
  const client = run(
    t,
    'mosquitto_sub',
    '-V',
    'mqttv5',
    '-i',
    'killed',
    '-t',
    's/e',
    '-d',
    '--will-topic',
    's/us',
    '--will-payload',
    '400,my_Will,gone',
    '--will-qos',
    '1',
  );
  await eventually('connected', async () =>
    /millrace_connections\{protocol="mqtt"\} 1\n/.test(await server.metricsText()),
  );
  client.child.kill('SIGKILL');
  const id = await eventually('the device of the will', () => rest.idOf('killed'));
  t.match(await eventually('the will', async () => (await rest.read(`/event/events?source=${id}`)).events[0]), {
    type: 'my_Will',
    text: 'gone',
  });
});

t.test('many lines as messages of one connection', { skip }, async (t) => {
  const publisher = run(t, 'mosquitto_pub', '-i', 'lines', '-t', 's/us', '-q', '1', '-l');
  publisher.child.stdin?.end(Array.from({ length: 500 }, (_, index) => `200,f,s,${index}\n`).join(''));
  t.match(await publisher.ended, { code: 0, output: '' });
  const page = await rest.read(
    `/measurement/measurements?source=${await rest.idOf('lines')}&pageSize=1&withTotalElements=true`,
  );
  t.equal(page.statistics.totalElements, 500);
});

t.test('refusals have their codes', { skip }, async (t) => {
  const old = await run(
    t,
    'mosquitto_pub',
    '-V',
    'mqttv311',
    '-i',
    'x',
    '-u',
    `${TENANT}/admin`,
    '-P',
    'wrong',
    '-t',
    's/us',
    '-m',
    '211,1',
    '-q',
    '1',
  ).ended;
  t.match(old.output, /Connection error: Connection Refused: bad user name or password/i);
  t.not(old.code, 0);
  const new5 = await run(
    t,
    'mosquitto_pub',
    '-V',
    'mqttv5',
    '-i',
    'x',
    '-u',
    `${TENANT}/admin`,
    '-P',
    'wrong',
    '-t',
    's/us',
    '-m',
    '211,1',
    '-q',
    '1',
  ).ended;
  t.match(new5.output, /Bad user ?name or password/i);
  t.not(new5.code, 0);
  const topics = await run(t, 'mosquitto_sub', '-V', 'mqttv5', '-i', 'x', '-t', 's/us', '-t', '#', '-d', '-W', '5')
    .ended;
  t.match(topics.output, /All subscription requests were denied/);
});
