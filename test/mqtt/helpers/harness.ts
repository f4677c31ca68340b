/** The MQTT server over transports in memory, with an application that records what it is given. */
import mqttPacket from 'mqtt-packet';
import type { Packet } from 'mqtt-packet';
import { PUBLISH_RESULT } from '../../../src/mqtt/sessions/application.ts';
import type {
  DeviceConnection,
  DeviceLink,
  MqttApplication,
  PublishResult,
} from '../../../src/mqtt/sessions/application.ts';
import { NO_ADDRESS } from '../../../src/model/access/client-address.ts';
import type { ClientAddress } from '../../../src/model/access/client-address.ts';
import type { Log } from '../../../src/ports/log.ts';
import type { Principal } from '../../../src/model/access/principal.ts';
import type { Connection } from '../../../src/mqtt/connections/connection.ts';
import type { PublishedMessage } from '../../../src/mqtt/wire/published-message.ts';
import type { MqttLimits } from '../../../src/mqtt/wire/limits.ts';
import { MqttServer } from '../../../src/mqtt/server.ts';
import type { MqttServerOptions } from '../../../src/mqtt/server.ts';
import type { Transport } from '../../../src/mqtt/transports/transport.ts';
import { untilTurn } from '../../helpers/until.ts';
import { MemorySessionStore } from './memory-session-store.ts';

export type AnyPacket = Packet & Record<string, any>;

/** What a test application got. */
export interface Received {
  readonly topic: string;
  readonly payload: string;
  readonly qos: number;
  readonly packetId: number;
  readonly link: TestLink;
}

export class TestLink implements DeviceLink {
  refusal: { reasonCode: number; reason: string } | undefined = undefined;
  readonly subscribedFilters: string[] = [];
  readonly unsubscribed: string[] = [];
  reads = 0;
  closedWith: boolean | undefined = undefined;
  readonly connection: DeviceConnection;
  readonly harness: Harness;

  constructor(connection: DeviceConnection, harness: Harness) {
    this.connection = connection;
    this.harness = harness;
  }

  publish(message: PublishedMessage): PublishResult {
    const { chunk, topicStart, topicEnd, payloadStart, payloadEnd, qos, packetId } = message;
    const topic = chunk.toString('utf8', topicStart, topicEnd);
    const payload = chunk.toString('utf8', payloadStart, payloadEnd);
    const result = this.harness.onPublish(this, topic, packetId);
    if (result === PUBLISH_RESULT.BUSY || result === PUBLISH_RESULT.REFUSED) return result;
    this.harness.received.push({ topic, payload, qos, packetId, link: this });
    this.harness.events.push(`publish ${topic} ${payload}`);
    if (qos === 2 && packetId > 0 && result === PUBLISH_RESULT.PENDING) {
      const { principal, clientId } = this.connection;
      this.harness.store.addReceived(principal.tenantNumber, this.harness.sessionKey(principal, clientId), packetId);
    }
    if (result === PUBLISH_RESULT.PENDING) this.harness.pending.push({ link: this, packetId });
    return result;
  }

  endOfRead(): void {
    this.reads++;
    if (this.harness.isAcknowledging) this.harness.acknowledgeAll();
  }

  subscribe(topicFilter: string, qos: 0 | 1 | 2): number {
    this.harness.events.push(`subscribe ${topicFilter} ${qos}`);
    return topicFilter.startsWith('forbidden') ? 0x80 : qos;
  }

  subscribed(topicFilter: string): void {
    this.subscribedFilters.push(topicFilter);
    this.harness.events.push(`subscribed ${topicFilter}`);
  }

  unsubscribe(topicFilter: string): void {
    this.unsubscribed.push(topicFilter);
  }

  closed(clean: boolean): void {
    if (this.closedWith !== undefined) throw new Error('closed twice');
    this.closedWith = clean;
    this.harness.events.push(`closed ${clean}`);
  }
}

/** The client's end: speaks through mqtt-packet, which is also the oracle for what the server writes. */
export class TestClient implements Transport {
  readonly remoteAddress = 'memory';
  readonly packets: AnyPacket[] = [];
  readonly writes: Buffer[] = [];
  isEnded = false;
  isDestroyed = false;
  isPaused = false;
  /** False: the client does not read; nothing of what is written arrives and `write` says so. */
  isReading = true;
  version: 3 | 4 | 5 = 4;
  connection: Connection | undefined = undefined;
  clientAddress: ClientAddress = NO_ADDRESS;
  #parser = mqttPacket.parser({ protocolVersion: 4 });

  use(version: 3 | 4 | 5): void {
    this.version = version;
    this.#parser = mqttPacket.parser({ protocolVersion: version });
    this.#parser.on('packet', (packet) => this.packets.push(packet as AnyPacket));
    this.#parser.on('error', (error: Error) => {
      throw error;
    });
  }

  write(bytes: Buffer): boolean {
    this.writes.push(bytes);
    if (this.isReading) this.#parser.parse(bytes);
    return this.isReading;
  }

  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
  }
  end(): void {
    this.isEnded = true;
  }
  destroy(): void {
    this.isDestroyed = true;
    this.drop();
  }

  /** The network connection breaks, or closes after `end`. */
  drop(): void {
    this.connection?.transportClosed();
  }

  raw(bytes: Buffer | number[]): void {
    // A copy that is overwritten afterwards: whoever keeps a view of the chunk is found out.
    const lent = Buffer.from(bytes);
    this.connection?.received(lent);
    lent.fill(0xff);
  }

  send(...packets: object[]): void {
    this.raw(Buffer.concat(packets.map((packet) => this.encode(packet))));
  }

  encode(packet: object): Buffer {
    return mqttPacket.generate(packet as Packet, { protocolVersion: this.version });
  }

  /** Takes the packets received so far. */
  take(): AnyPacket[] {
    return this.packets.splice(0);
  }

  takeCommands(): string[] {
    return this.take().map(({ cmd, messageId }) => (messageId === undefined ? cmd : `${cmd} ${messageId}`));
  }
}

export class Harness {
  store = new MemorySessionStore();
  server: MqttServer;
  nowMs = 1_700_000_000_000;
  /** What sessions end by; not believed: as after a jump of the wall clock. */
  readonly clock = { isBelieved: true, read: async () => (this.clock.isBelieved ? this.nowMs : undefined) };
  readonly received: Received[] = [];
  readonly events: string[] = [];
  readonly links: TestLink[] = [];
  readonly counts = new Map<string, number>();
  readonly errors: unknown[] = [];
  readonly debugLines: { readonly text: string; readonly details: object }[] = [];
  isDebug = true;
  readonly messageCounts = { in: [0, 0, 0], out: [0, 0, 0] };
  readonly latencies: { durationMs: number; count: number }[] = [];
  pending: Array<{ link: TestLink; packetId: number }> = [];
  isAcknowledging = true;
  connectionsGauge = 0;
  onPublish: (link: TestLink, topic: string, packetId: number) => PublishResult = () => PUBLISH_RESULT.PENDING;
  authenticate: MqttApplication['authenticate'] = (userName, password) =>
    password === 'right' ? principalOf(userName) : undefined;
  isCurrent: MqttApplication['isCurrent'] = () => true;
  stillHolds: MqttApplication['stillHolds'] = () => true;
  rateOf: NonNullable<MqttServerOptions['rateOf']> = () => undefined;
  readonly #limits: Partial<MqttLimits>;
  readonly #traffic: MqttServerOptions['traffic'];

  constructor(limits: Partial<MqttLimits> = {}, traffic?: MqttServerOptions['traffic']) {
    this.#limits = limits;
    this.#traffic = traffic;
    this.server = this.#createServer();
  }

  sessionKey(_principal: Principal, clientId: string): string {
    if (clientId.includes('!')) throw Object.assign(new Error('the client id has a !'), { mqttReason: 0x85 });
    if (clientId === '') return 'certificate';
    return clientId.startsWith('d:') ? clientId.slice(2) : clientId;
  }

  /** The process ends without a word; the store stays. */
  restart(): void {
    this.pending = [];
    this.links.length = 0;
    this.server = this.#createServer();
  }

  acknowledgeAll(): void {
    const pending = this.pending;
    this.pending = [];
    const touched = new Set<TestLink>();
    for (const { link, packetId } of pending) {
      link.connection.acknowledge(packetId);
      touched.add(link);
    }
    for (const link of touched) link.connection.flush();
  }

  /** A client whose transport is connected and which has sent nothing. */
  client(version: 3 | 4 | 5 = 4): TestClient {
    const client = new TestClient();
    client.use(version);
    client.connection = this.server.accept(client);
    return client;
  }

  /** A client that has sent CONNECT and got its answer. */
  async connect(clientId: string, version: 3 | 4 | 5 = 4, change: Record<string, unknown> = {}): Promise<TestClient> {
    const client = this.client(version);
    client.send(connectPacket(clientId, version, change));
    await until(() => client.packets.length > 0 || client.isEnded);
    return client;
  }

  async connected(clientId: string, version: 3 | 4 | 5 = 4, change: Record<string, unknown> = {}): Promise<TestClient> {
    const client = await this.connect(clientId, version, change);
    const connack = client.packets.shift();
    if ((connack?.returnCode ?? connack?.reasonCode) !== 0)
      throw new Error(`not connected: ${JSON.stringify(connack)}`);
    return client;
  }

  link(clientId: string): TestLink {
    const link = this.links.filter((one) => one.connection.clientId === clientId).at(-1);
    if (link === undefined) throw new Error(`no link of ${clientId}`);
    return link;
  }

  advance(seconds: number): void {
    for (let second = 0; second < seconds; second++) {
      this.nowMs += 1_000;
      this.server.tick();
    }
  }

  #createServer(): MqttServer {
    const application: MqttApplication = {
      authenticate: (userName, password, caller) => this.authenticate(userName, password, caller),
      isCurrent: (principal) => this.isCurrent(principal),
      stillHolds: (principal) => this.stillHolds(principal),
      sessionKey: (principal, clientId) => this.sessionKey(principal, clientId),
      mayConnect: (_principal, clientId) => clientId !== 'barred',
      open: (connection) => {
        const link = new TestLink(connection, this);
        this.links.push(link);
        this.events.push('open');
        return link;
      },
    };
    return new MqttServer({
      application,
      store: this.store,
      limits: this.#limits,
      ...(this.#traffic === undefined ? {} : { traffic: this.#traffic }),
      now: () => this.nowMs,
      clock: this.clock,
      log: this.#log(),
      rateOf: (tenant) => this.rateOf(tenant),
      metrics: {
        count: (limit) => {
          this.counts.set(limit, (this.counts.get(limit) ?? 0) + 1);
        },
        connections: (count) => {
          this.connectionsGauge = count;
        },
        acknowledged: (durationMs, count) => {
          this.latencies.push({ durationMs, count });
        },
        messages: (direction, qos, count) => {
          this.messageCounts[direction][qos] += count;
        },
      },
    });
  }

  #log(): Log {
    const log: Log = {
      debug: (details, text) => {
        this.debugLines.push({ text, details });
      },
      info: () => {},
      warn: () => {},
      error: (details) => {
        this.errors.push(details);
      },
      isLevelEnabled: (level) => level !== 'debug' || this.isDebug,
      child: () => log,
    };
    return log;
  }
}

export function connectPacket(clientId: string, version: 3 | 4 | 5, change: Record<string, unknown> = {}): object {
  return {
    cmd: 'connect',
    protocolId: version === 3 ? 'MQIsdp' : 'MQTT',
    protocolVersion: version,
    clientId,
    clean: true,
    keepalive: 0,
    username: 't1/user',
    password: Buffer.from('right'),
    ...change,
  };
}

export function principalOf(userName: string): Principal {
  return { tenant: 't1', tenantNumber: 1, userName, roles: new Set() };
}

export function publish(
  topic: string,
  payload: string,
  qos: 0 | 1 | 2 = 0,
  messageId?: number,
  change: object = {},
): object {
  return {
    cmd: 'publish',
    topic,
    payload,
    qos,
    dup: false,
    retain: false,
    ...(messageId === undefined ? {} : { messageId }),
    ...change,
  };
}

export function subscribe(messageId: number, ...filters: Array<[string, 0 | 1 | 2]>): object {
  return {
    cmd: 'subscribe',
    messageId,
    subscriptions: filters.map(([topic, qos]) => ({ topic, qos, nl: false, rap: false, rh: 0 })),
  };
}

/** Waits for a condition, at first turn by turn of the event loop. */
export const until = (condition: () => boolean, timeoutMs = 5_000): Promise<void> =>
  untilTurn(String(condition), condition, timeoutMs);

/** Lets everything that is under way come to rest. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++)
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
}

/** A generator of numbers in [0, 1) from a seed (mulberry32), so that a failure can be repeated. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
