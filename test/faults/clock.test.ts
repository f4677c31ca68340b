/**
 * A server whose clock is wrong deletes nothing by age. Its clock is `Date.now`; the machine's and the engine's go on
 * as they are.
 */
import mqtt from 'mqtt';
import t from 'tap';
import { PASSWORD, ServerProcess, USER } from '../helpers/process/server.ts';
import { until } from '../helpers/setup-command.ts';

const DAYS = 61;
const DAY_MS = 86_400_000;
/** Loaded before the server: SIGUSR2 sets its clock forward. */
const PRELOAD = `const real = Date.now; let ahead = Number(process.env.TEST_CLOCK_AHEAD_MS);
Date.now = () => real() + ahead; process.on('SIGUSR2', () => { ahead += ${DAYS * DAY_MS}; });`;
const clock = (aheadMs: number): Record<string, string> => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PRELOAD)}`,
  TEST_CLOCK_AHEAD_MS: String(aheadMs),
});

t.test(
  'retention and the end of MQTT sessions wait while the clock of the server is 61 days ahead, at its start and when it jumps',
  async (t) => {
    const server = await new ServerProcess(t).start({ environment: clock(0) });
    const id = await server.createDevice('clock');
    await server.http('POST', '/measurement/measurements', {
      source: { id },
      type: 'T',
      time: new Date().toISOString(),
      T: { T: { value: 1 } },
    });
    /**
     * An agent with a persistent session, which is over an hour after it has gone. @returns whether the session was
     * there.
     */
    const visit = async (): Promise<boolean> => {
      const client = mqtt.connect(`mqtt://127.0.0.1:${server.mqttPort}`, {
        protocolVersion: 5,
        clientId: 'clock-agent',
        clean: false,
        reconnectPeriod: 0,
        properties: { sessionExpiryInterval: 3_600 },
        username: USER,
        password: PASSWORD,
      });
      const sessionPresent = await new Promise<boolean>((resolve, reject) => {
        client.on('connect', (packet) => resolve(packet.sessionPresent));
        client.on('error', reject);
      });
      await client.endAsync();
      return sessionPresent;
    };
    t.equal(await visit(), false);
    const left = async (): Promise<number> =>
      (await server.http('GET', `/measurement/measurements?source=${id}`)).json<{ measurements: unknown[] }>()
        .measurements.length;
    const run = async (): Promise<number> => (await server.http('POST', '/retention/runs', {})).status;
    const waits = (): Promise<unknown> =>
      until('the log says that retention waits', () => server.stderr.includes('end of MQTT sessions wait'));
    t.equal(await left(), 1);
    t.equal(await run(), 201, 'a run is under way when the clock jumps');
    process.kill(server.pid, 'SIGUSR2');
    await until('a run is refused', async () => (await run()) === 503, 60_000);
    await waits();
    await server.kill();
    server.stderr = '';
    await server.start({ environment: clock(DAYS * DAY_MS) });
    await waits();
    t.equal(await visit(), true, 'the session of an agent');
    t.equal(await run(), 503);
    t.equal(await left(), 1);
    await server.kill();
    await server.start({ environment: clock(0) });
    await until('a run is taken when the clock is right', async () => (await run()) === 201);
    t.equal(await left(), 1);
  },
);
