/**
 * Load whose every message can be told from the others, and the account of it: what was acknowledged must be stored
 * exactly once, what was sent without an acknowledgement at most once, in the order of sending.
 */
import type { IPublishPacket } from 'mqtt-packet';
import { delay } from './server.ts';
import type { HttpAnswer } from './server.ts';
import { RawMqtt } from './mqtt.ts';

/** What load is put on: one process, or the nodes of a cluster behind one port. */
export interface LoadTarget {
  readonly mqttPort: number;
  readonly isDisposed: boolean;
  http(method: string, path: string, body?: string | object): Promise<HttpAnswer>;
  createDevice(name: string): Promise<string>;
}

const WINDOW = 16;
const RECONNECT_MS = 20;
const PACKET_IDS = 65_000;

/** What became of the numbered messages of one sender. */
export class Ledger {
  sent = 0;
  readonly acknowledged = new Set<number>();
  next(): number {
    return ++this.sent;
  }
}

/**
 * What is wrong, in words; empty when the account is exact. @param stored numbers in the order in which they are
 * stored.
 */
export function account(
  name: string,
  ledger: { sent: number; acknowledged: ReadonlySet<number> },
  stored: readonly number[],
  isOrdered = true,
): string[] {
  const problems: string[] = [];
  const seen = new Set<number>();
  let last = 0;
  for (const number of stored) {
    if (seen.has(number)) problems.push(`${name}: ${number} is stored twice`);
    if (number < 1 || number > ledger.sent) problems.push(`${name}: ${number} was never sent (1 to ${ledger.sent})`);
    if (isOrdered && number < last) problems.push(`${name}: ${number} is behind ${last}`);
    seen.add(number);
    last = number;
  }
  const missing = [...ledger.acknowledged].filter((number) => !seen.has(number));
  if (missing.length > 0)
    problems.push(`${name}: ${missing.length} acknowledged are missing, first ${missing.slice(0, 5).join(', ')}`);
  return problems.slice(0, 10);
}

export interface Sender {
  readonly name: string;
  run(): Promise<void>;
  stop(): void;
}

/**
 * One device: QoS 1, up to 16 in flight, connects again whenever the connection ends, never repeats a message. Every
 * number is a measurement; now and then it is an event, an alarm or a change of the managed object instead.
 */
export class DeviceSender implements Sender {
  readonly name: string;
  readonly measurements = new Ledger();
  readonly events = new Ledger();
  readonly alarms = new Ledger();
  /** The value of c8y_Hardware.model: the last acknowledged one or a later one stays. */
  readonly models = new Ledger();
  readonly errors: string[] = [];
  disconnects = 0;
  lastAckMs = 0;
  readonly #server: LoadTarget;
  readonly #isMixed: boolean;
  readonly #gapMs: number;
  #isStopped = false;
  #client: RawMqtt | undefined;

  constructor(server: LoadTarget, name: string, options: { mixed?: boolean; gapMs?: number } = {}) {
    this.#server = server;
    this.name = name;
    this.#isMixed = options.mixed ?? false;
    this.#gapMs = options.gapMs ?? 0;
  }

  get acknowledgedCount(): number {
    return (
      this.measurements.acknowledged.size +
      this.events.acknowledged.size +
      this.alarms.acknowledged.size +
      this.models.acknowledged.size
    );
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    while (!this.#isStopped && !this.#server.isDisposed) {
      try {
        this.#client = await RawMqtt.connect(this.#server.mqttPort, { clientId: this.name });
      } catch {
        await delay(RECONNECT_MS);
        continue;
      }
      await this.#publishAll(this.#client);
      if (!this.#isStopped) this.disconnects += 1;
      await delay(RECONNECT_MS);
    }
  }

  /** Until the connection ends, or `stop` and everything is acknowledged. */
  #publishAll(client: RawMqtt): Promise<void> {
    return new Promise((done) => {
      const inFlight = new Map<number, { ledger: Ledger; number: number }>();
      let packetId = 0;
      let timer: NodeJS.Timeout | undefined;
      const fill = (): void => {
        timer = undefined;
        while (!this.#isStopped && !client.isClosed && inFlight.size < WINDOW) {
          packetId = (packetId % PACKET_IDS) + 1;
          const { ledger, number, payload } = this.#message();
          inFlight.set(packetId, { ledger, number });
          client.publish('s/us', payload, 1, packetId);
        }
        if (this.#isStopped && inFlight.size === 0) client.disconnect();
      };
      client.onPuback = (id) => {
        const sent = inFlight.get(id);
        if (!sent) {
          this.errors.push(`${this.name}: PUBACK ${id} for nothing`);
          return;
        }
        sent.ledger.acknowledged.add(sent.number);
        this.lastAckMs = Date.now();
        inFlight.delete(id);
        if (this.#gapMs === 0 || (this.#isStopped && inFlight.size === 0)) fill();
        else timer ??= setTimeout(fill, this.#gapMs);
      };
      client.onPublish = (packet: IPublishPacket) => {
        this.errors.push(`${this.name}: ${packet.topic} ${String(packet.payload)}`);
      };
      client.onClose = () => {
        clearTimeout(timer);
        done();
      };
      if (client.isClosed) done();
      else fill();
    });
  }

  #message(): { ledger: Ledger; number: number; payload: string } {
    const turn = this.#isMixed ? (this.measurements.sent + this.events.sent) % 12 : 0;
    if (turn === 3) {
      const number = this.events.next();
      return { ledger: this.events, number, payload: `400,fault_Event,event ${number}` };
    }
    const number = this.measurements.next();
    if (turn === 6 && number % 5 === 0) {
      const alarm = this.alarms.next();
      return { ledger: this.alarms, number: alarm, payload: `302,fault_${alarm},alarm ${alarm}` };
    }
    if (turn === 9 && number % 5 === 0) {
      const model = this.models.next();
      return { ledger: this.models, number: model, payload: `110,serial,${model},1.0` };
    }
    return { ledger: this.measurements, number, payload: `200,fault,n,${number}` };
  }
}

/** POSTs to one device over HTTP: single measurements, or collections that are all or nothing. */
export class HttpSender implements Sender {
  readonly name: string;
  readonly ledger = new Ledger();
  readonly collections = new Ledger();
  readonly otherAnswers = new Map<string, number>();
  readonly batch: number;
  device = '';
  readonly #server: LoadTarget;
  readonly #gapMs: number;
  #isStopped = false;

  constructor(server: LoadTarget, name: string, batch: number, options: { gapMs?: number } = {}) {
    this.#server = server;
    this.name = name;
    this.batch = batch;
    this.#gapMs = options.gapMs ?? 0;
  }

  /** Before `run`, on a running server. */
  async open(): Promise<void> {
    this.device = await this.#server.createDevice(this.name);
  }
  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    const time = new Date().toISOString();
    while (!this.#isStopped && !this.#server.isDisposed) {
      const numbers = Array.from({ length: this.batch }, () => this.ledger.next());
      const collection = this.collections.next();
      const items = numbers.map((number) => ({
        source: { id: this.device },
        time,
        type: `c${collection}`,
        fault: { n: { value: number } },
      }));
      try {
        const answer = await this.#server.http(
          'POST',
          '/measurement/measurements',
          this.batch === 1 ? items[0] : { measurements: items },
        );
        if (answer.status === 201) {
          for (const number of numbers) this.ledger.acknowledged.add(number);
          this.collections.acknowledged.add(collection);
          if (this.#gapMs > 0) await delay(this.#gapMs);
        } else {
          const what = `${answer.status} ${answer.text}`;
          this.otherAnswers.set(what, (this.otherAnswers.get(what) ?? 0) + 1);
          await delay(RECONNECT_MS);
        }
      } catch {
        await delay(RECONNECT_MS);
      }
    }
  }
}

/** Devices that nobody knew: each connects once, sends one measurement. A name is not used twice. */
export class NewDevicesSender implements Sender {
  readonly name: string;
  readonly ledger = new Ledger();
  readonly #server: LoadTarget;
  readonly #gapMs: number;
  #isStopped = false;

  constructor(server: LoadTarget, name: string, options: { gapMs?: number } = {}) {
    this.#server = server;
    this.name = name;
    this.#gapMs = options.gapMs ?? 0;
  }

  serialOf(number: number): string {
    return `${this.name}-${number}`;
  }
  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    while (!this.#isStopped && !this.#server.isDisposed) {
      try {
        const number = this.ledger.next();
        const client = await RawMqtt.connect(this.#server.mqttPort, { clientId: this.serialOf(number) });
        await new Promise<void>((done) => {
          client.onPuback = () => {
            this.ledger.acknowledged.add(number);
            client.disconnect();
          };
          client.onClose = done;
          if (client.isClosed) done();
          client.publish('s/us', `200,fault,n,${number}`, 1, 1);
        });
        if (this.#gapMs > 0) await delay(this.#gapMs);
      } catch {
        await delay(RECONNECT_MS);
      }
    }
  }
}

/** Numbers of one device's measurements through REST, in the order of their ids. */
export async function measurementsOf(server: LoadTarget, device: string): Promise<number[]> {
  const PAGE = 2_000;
  const found: { id: number; value: number }[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await server.http(
      'GET',
      `/measurement/measurements?source=${device}&pageSize=${PAGE}&currentPage=${page}`,
    );
    if (answer.status !== 200) throw new Error(`GET measurements: ${answer.status} ${answer.text}`);
    const { measurements } = answer.json<{ measurements: { id: string; fault: { n: { value: number } } }[] }>();
    for (const item of measurements) found.push({ id: Number(item.id), value: item.fault.n.value });
    if (measurements.length < PAGE) break;
  }
  return found.sort((a, b) => a.id - b.id).map(({ value }) => value);
}
