/** The agents beside the fleet: their connections, and what came of the operations they got. */
import { MqttLink, type LinkListener } from './mqtt-link.ts';
import { Agent } from './agents/agent.ts';
import { httpFiles, httpLogin } from './agents/files.ts';
import { openTunnel } from './remote-access.ts';
import { AgentState } from './agents/state.ts';

export interface AgentFleetOptions {
  readonly agents: number;
  readonly url: string;
  readonly host: string;
  readonly mqttPort: number;
  readonly tenant: string;
  readonly user: string;
  readonly password: string;
  readonly seed: number;
  /** An operation is under way for this long, so that people see it. */
  readonly workMs?: number;
  readonly heartbeatMs?: number;
}

const TOPICS = ['s/ds', 'devicecontrol/notifications'];
/** Messages that one agent sends before it waits for acknowledgements; it has an operation at a time. */
const IN_FLIGHT_MAX = 100;
const WORK_MS = 300;
const RECONNECT_MS = 1_000;
const PING_CHECK_MS = 5_000;
/** Agents tell that they are there (125): within the 10 minutes of their 117. */
const HEARTBEAT_MS = 240_000;

interface Member {
  readonly state: AgentState;
  readonly agent: Agent;
  /** Told when it is connected again. */
  onConnected: (() => void) | undefined;
}

export class AgentFleet implements LinkListener {
  errors = 0;
  lastError = '';
  readonly #members = new Map<MqttLink, Member>();
  readonly #connected = new Set<MqttLink>();
  readonly #known = new Set<MqttLink>();
  readonly #heartbeatMs: number;
  #timer: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(options: AgentFleetOptions) {
    const { host, mqttPort: port, tenant, user, password, seed } = options;
    const login = httpLogin({ url: options.url, tenant, user, password });
    const files = httpFiles(login);
    const now = Date.now;
    this.#heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    for (let index = 0; index < options.agents; index += 1) {
      const state = new AgentState(index, seed, now());
      const mqtt = { host, port, clientId: state.serial, topics: TOPICS, inFlightMax: IN_FLIGHT_MAX };
      const link = new MqttLink({ ...mqtt, username: `${tenant}/${user}`, password }, this);
      const member: Member = {
        state,
        onConnected: undefined,
        agent: new Agent({
          state,
          files,
          openTunnel: (order) => openTunnel(login, order),
          now,
          workMs: options.workMs ?? WORK_MS,
          link: {
            publish: (topic, payload) => link.publish(topic, payload),
            restart: () =>
              new Promise((resolve) => {
                member.onConnected = resolve;
                link.drop();
              }),
          },
        }),
      };
      this.#members.set(link, member);
    }
  }

  start(): void {
    for (const link of this.#members.keys()) link.open();
    this.#timer = setInterval(() => {
      for (const link of this.#members.keys()) link.pingWhenIdle(Date.now());
    }, PING_CHECK_MS);
    this.#heartbeat = setInterval(() => {
      for (const link of this.#connected) if (link.canSend) link.publish('s/us', '125');
    }, this.#heartbeatMs);
  }

  end(): void {
    this.#isEnded = true;
    clearInterval(this.#timer);
    clearInterval(this.#heartbeat);
    for (const link of this.#members.keys()) link.end();
  }

  get connectedCount(): number {
    return this.#connected.size;
  }

  /** Operations that were carried out, and those that failed. */
  get operations(): { readonly successful: number; readonly failed: number } {
    let [successful, failed] = [0, 0];
    for (const { agent } of this.#members.values()) {
      successful += agent.succeeded;
      failed += agent.failed;
    }
    return { successful, failed };
  }

  connected(link: MqttLink): void {
    const member = this.#members.get(link) as Member;
    this.#connected.add(link);
    member.agent.reconnected();
    // Sent again by the link itself after a connection that broke.
    if (!this.#known.has(link)) link.publish('s/us', member.state.hello());
    this.#known.add(link);
    member.onConnected?.();
    member.onConnected = undefined;
  }

  closed(link: MqttLink, reason: string): void {
    this.#connected.delete(link);
    const isRestart = this.#members.get(link)?.onConnected !== undefined;
    if (!isRestart) {
      this.errors += 1;
      this.lastError = reason;
    }
    setTimeout(() => {
      if (!this.#isEnded) link.open();
    }, RECONNECT_MS).unref();
  }

  acknowledged(): void {
    /* The fleet is what is measured. */
  }

  received(link: MqttLink, topic: string, payload: string): void {
    this.#members.get(link)?.agent.received(topic, payload);
  }
}
