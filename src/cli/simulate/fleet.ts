/** The fleet: opens the links at a bounded pace, spreads the rate over the devices, counts what happens. */
import { simulatedDevice, type SimulatedDevice } from './devices.ts';
import { Histogram } from './histogram.ts';
import { MqttLink, type LinkListener } from './mqtt-link.ts';
import { Random } from './random.ts';

export interface FleetOptions {
  readonly devices: number;
  readonly rate: number;
  readonly host: string;
  readonly mqttPort: number;
  readonly tenant: string;
  readonly user: string;
  readonly password: string;
  readonly inFlight: number;
  readonly seed: number;
}

/** Connections that may be on their way at a time. */
const OPENING_MAX = 200;
const TICK_MS = 10;
const PING_CHECK_MS = 5000;
/**
 * Messages that were due and could not be sent are forgotten past this time: the loop is closed, it does not catch up
 * in a burst.
 */
const CREDIT_MAX_MS = 100;
const RECONNECT_MIN_MS = 500;
const RECONNECT_MAX_MS = 3000;

export class Fleet implements LinkListener {
  sent = 0;
  acknowledgedCount = 0;
  errors = 0;
  lastError = '';
  /** Latencies since the start and since the display took them last, in microseconds. */
  readonly total = new Histogram();
  readonly recent = new Histogram();
  private readonly options: FleetOptions;
  private readonly random: Random;
  private readonly links: MqttLink[] = [];
  private readonly devices: SimulatedDevice[] = [];
  private readonly isKnown: boolean[] = [];
  private readonly established = new Set<MqttLink>();
  private readonly waiting: { link: MqttLink; dueMs: number }[] = [];
  private opening = 0;
  private cursor = 0;
  private credit = 0;
  private lastTickMs = 0;
  private timer: NodeJS.Timeout | undefined;
  private pingTimer: NodeJS.Timeout | undefined;

  constructor(options: FleetOptions) {
    this.options = options;
    this.random = new Random(options.seed);
    for (let index = 0; index < options.devices; index += 1) {
      const device = simulatedDevice(index, options.seed);
      const link = new MqttLink(
        {
          host: options.host,
          port: options.mqttPort,
          clientId: device.clientId,
          username: `${options.tenant}/${options.user}`,
          password: options.password,
          inFlightMax: options.inFlight,
        },
        this,
      );
      this.devices.push(device);
      this.links.push(link);
      this.isKnown.push(false);
      this.waiting.push({ link, dueMs: 0 });
    }
  }

  get inFlight(): number {
    return this.links.reduce((sum, link) => sum + link.inFlight, 0);
  }

  start(): void {
    this.lastTickMs = Date.now();
    this.timer = setInterval(() => this.tick(Date.now()), TICK_MS);
    this.pingTimer = setInterval(() => {
      for (const link of this.links) link.pingWhenIdle(Date.now());
    }, PING_CHECK_MS);
  }

  /** Sends nothing more; acknowledgements are still counted until `end`. */
  pause(): void {
    clearInterval(this.timer);
    clearInterval(this.pingTimer);
  }

  end(): void {
    this.pause();
    for (const link of this.links) link.end();
  }

  get connectedCount(): number {
    return this.established.size;
  }

  connected(link: MqttLink): void {
    this.opening -= 1;
    this.established.add(link);
    this.openNext(Date.now());
  }

  closed(link: MqttLink, reason: string): void {
    if (!this.established.delete(link)) this.opening -= 1;
    this.errors += 1;
    this.lastError = reason;
    this.waiting.push({ link, dueMs: Date.now() + this.random.between(RECONNECT_MIN_MS, RECONNECT_MAX_MS) });
  }

  acknowledged(latencyMicroseconds: number): void {
    this.acknowledgedCount += 1;
    this.total.add(latencyMicroseconds);
    this.recent.add(latencyMicroseconds);
  }

  private openNext(nowMs: number): void {
    for (let checks = this.waiting.length; checks > 0 && this.opening < OPENING_MAX; checks -= 1) {
      const entry = this.waiting.shift()!;
      if (entry.dueMs > nowMs) this.waiting.push(entry);
      else {
        this.opening += 1;
        entry.link.open();
      }
    }
  }

  private tick(nowMs: number): void {
    this.openNext(nowMs);
    const { rate } = this.options;
    this.credit = Math.min(
      this.credit + (rate * (nowMs - this.lastTickMs)) / 1000,
      Math.max(1, (rate * CREDIT_MAX_MS) / 1000),
    );
    this.lastTickMs = nowMs;
    let tries = this.links.length * this.options.inFlight;
    while (this.credit >= 1 && tries > 0) {
      tries -= 1;
      const index = this.cursor;
      this.cursor = (this.cursor + 1) % this.links.length;
      const link = this.links[index];
      if (!link.canSend) continue;
      link.publish('s/us', this.isKnown[index] ? this.devices[index].next(nowMs) : this.devices[index].hello());
      this.isKnown[index] = true;
      this.sent += 1;
      this.credit -= 1;
    }
  }
}
