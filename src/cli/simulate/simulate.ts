/**
 * `millrace simulate`: a fleet of realistic devices over MQTT QoS 1 with a live line of rate, latency and errors.
 * People read standard error; standard output gets the result as one JSON object.
 */
import { CommandError, EXIT_FAILED, EXIT_OK } from '../../operate/exit-codes.ts';
import type { SimulateOptions } from './settings.ts';
import { AgentFleet } from './agent-fleet.ts';
import { Fleet } from './fleet.ts';
import { MqttLink } from './mqtt-link.ts';

const DISPLAY_MS = 1000;
/** Longest wait for outstanding acknowledgements at the end. */
const DRAIN_MS = 2000;
const DRAIN_CHECK_MS = 20;

/** Runs until the duration is over or Ctrl-C; exit code 1 when nothing could connect or nothing was acknowledged. */
export async function simulate(options: SimulateOptions): Promise<number> {
  if (options.devices + options.agents === 0)
    throw new CommandError('--devices and --agents are both 0; there is nothing to simulate');
  await tryOne(options);
  const fleet = new Fleet(options);
  const agents = new AgentFleet(options);
  const startMs = Date.now();
  const display = new Display(fleet, options.devices, options.agents > 0 ? agents : undefined);
  fleet.start();
  agents.start();
  const timer = setInterval(() => display.show(), DISPLAY_MS);
  await untilDone(options.duration);
  clearInterval(timer);
  fleet.pause();
  const seconds = (Date.now() - startMs) / 1000;
  for (let waitedMs = 0; fleet.inFlight > 0 && waitedMs < DRAIN_MS; waitedMs += DRAIN_CHECK_MS)
    await pause(DRAIN_CHECK_MS);
  display.end();
  const code = summarise(fleet, seconds, options.agents > 0 ? agents : undefined);
  fleet.end();
  agents.end();
  return code;
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** One connection first: a wrong port or password is one clear sentence, not a thousand errors. */
function tryOne(options: SimulateOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const { host, mqttPort, tenant, user, password, seed } = options;
    const link = new MqttLink(
      { host, port: mqttPort, clientId: `sim-${seed}-0`, username: `${tenant}/${user}`, password, inFlightMax: 1 },
      {
        connected: () => {
          link.end();
          resolve();
        },
        closed: (_link, reason) =>
          reject(
            new CommandError(
              `no device could connect to ${host}:${mqttPort} as ${tenant}/${user}: ${reason}. Is the server running (npm start)? ` +
                '--host, --mqtt-port, --tenant, --user and --password say where and who.',
            ),
          ),
        acknowledged: () => undefined,
      },
    );
    link.open();
  });
}

function untilDone(seconds: number): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
    if (seconds > 0) setTimeout(resolve, seconds * 1000);
    else setInterval(() => undefined, 60_000);
  });
}

const milliseconds = (microseconds: number): string => (microseconds / 1000).toFixed(microseconds < 100_000 ? 1 : 0);

/** One line a second, rewritten in place on a terminal. */
class Display {
  private readonly fleet: Fleet;
  private readonly devices: number;
  private readonly agents: AgentFleet | undefined;
  private readonly isTerminal = process.stderr.isTTY === true;
  private sent = 0;
  private acknowledged = 0;
  private lastMs = Date.now();

  constructor(fleet: Fleet, devices: number, agents: AgentFleet | undefined) {
    this.fleet = fleet;
    this.devices = devices;
    this.agents = agents;
  }

  show(): void {
    const { fleet } = this;
    const nowMs = Date.now();
    const seconds = Math.max(0.001, (nowMs - this.lastMs) / 1000);
    const line =
      `connected ${fleet.connectedCount}/${this.devices}` +
      `  sent/s ${Math.round((fleet.sent - this.sent) / seconds)}` +
      `  acknowledged/s ${Math.round((fleet.acknowledgedCount - this.acknowledged) / seconds)}` +
      `  latency p50 ${milliseconds(fleet.recent.percentile(0.5))} ms, p99 ${milliseconds(fleet.recent.percentile(0.99))} ms` +
      `  errors ${fleet.errors}${fleet.errors === 0 ? '' : ` (${fleet.lastError})`}${agentsText(this.agents)}`;
    this.sent = fleet.sent;
    this.acknowledged = fleet.acknowledgedCount;
    this.lastMs = nowMs;
    fleet.recent.clear();
    process.stderr.write(
      this.isTerminal ? `\r\x1b[2K${line.slice(0, (process.stderr.columns ?? 120) - 1)}` : `${line}\n`,
    );
  }

  end(): void {
    if (this.isTerminal) process.stderr.write('\n');
  }
}

function agentsText(agents: AgentFleet | undefined): string {
  if (agents === undefined) return '';
  const { successful, failed } = agents.operations;
  return (
    `  agents ${agents.connectedCount}, operations ${successful} successful, ${failed} failed` +
    (agents.errors === 0 ? '' : `, errors ${agents.errors} (${agents.lastError})`)
  );
}

function summarise(fleet: Fleet, seconds: number, agents: AgentFleet | undefined): number {
  const { total } = fleet;
  const result = {
    seconds: Number(seconds.toFixed(1)),
    connected: fleet.connectedCount,
    sent: fleet.sent,
    acknowledged: fleet.acknowledgedCount,
    unacknowledged: fleet.inFlight,
    acknowledgedPerSecond: Math.round(fleet.acknowledgedCount / seconds),
    latencyP50Ms: Number(milliseconds(total.percentile(0.5))),
    latencyP99Ms: Number(milliseconds(total.percentile(0.99))),
    errors: fleet.errors,
    ...(fleet.errors === 0 ? {} : { lastError: fleet.lastError }),
    ...(agents === undefined
      ? {}
      : { agents: agents.connectedCount, operations: agents.operations, agentErrors: agents.errors }),
  };
  process.stderr.write(
    `${result.acknowledged} of ${result.sent} messages acknowledged in ${result.seconds} s ` +
      `(${result.acknowledgedPerSecond} a second), latency p50 ${result.latencyP50Ms} ms, p99 ${result.latencyP99Ms} ms, ` +
      `${result.errors} errors${agentsText(agents)}\n`,
  );
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return result.acknowledged > 0 || (agents?.connectedCount ?? 0) > 0 ? EXIT_OK : EXIT_FAILED;
}
