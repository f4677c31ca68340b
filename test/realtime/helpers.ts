/** In-memory surroundings of a Bayeux server: a clock moved by hand, a bus, users, transports. */
import type { Notification } from '../../src/ports/live-bus.ts';
import type { Log } from '../../src/ports/log.ts';
import type { Principal } from '../../src/model/access/principal.ts';
import { BAYEUX_URLS } from '../../src/realtime/bayeux/channel.ts';
import type { UrlForm } from '../../src/realtime/bayeux/channel.ts';
import { BayeuxServer } from '../../src/realtime/bayeux/server.ts';
import type { BayeuxOptions } from '../../src/realtime/bayeux/server.ts';
import type { BayeuxChannel, BayeuxSocket } from '../../src/realtime/bayeux/web-socket.ts';
import type { Clock } from '../../src/realtime/bayeux/clock.ts';
import { InProcessLiveBus } from '../../src/realtime/bus/live-bus.ts';

export const CLIENTS_URL = BAYEUX_URLS['/notification/realtime'];
export const DOCUMENTS_URL = BAYEUX_URLS['/cep/realtime'];
export const AGENTS_URL = BAYEUX_URLS['/notification/operations'];

export type Message = Record<string, any>;

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Timers and immediates run when the test says so. */
export class ManualClock implements Clock {
  #now = 0;
  #timers = new Set<Timer>();
  #immediates: (() => void)[] = [];
  immediateCount = 0;

  now(): number {
    return this.#now;
  }
  setTimeout(callback: () => void, delayMs: number): Timer {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return timer;
  }
  clearTimeout(handle: unknown): void {
    this.#timers.delete(handle as Timer);
  }
  setImmediate(callback: () => void): void {
    this.immediateCount += 1;
    this.#immediates.push(callback);
  }
  get timerCount(): number {
    return this.#timers.size;
  }

  /** Ends the turn of the event loop. */
  turn(): void {
    const immediates = this.#immediates;
    this.#immediates = [];
    for (const callback of immediates) callback();
  }

  advance(byMs: number): void {
    const end = this.#now + byMs;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.at <= end).sort((one, other) => one.at - other.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = due.at;
      due.callback();
    }
    this.#now = end;
    this.turn();
  }
}

export class RecordingLog implements Log {
  readonly lines: { level: string; details: Message; message: string }[] = [];
  debug(details: object, message: string): void {
    this.lines.push({ level: 'debug', details, message });
  }
  info(details: object, message: string): void {
    this.lines.push({ level: 'info', details, message });
  }
  warn(details: object, message: string): void {
    this.lines.push({ level: 'warn', details, message });
  }
  error(details: object, message: string): void {
    this.lines.push({ level: 'error', details, message });
  }
  isLevelEnabled(): boolean {
    return true;
  }
  child(): Log {
    return this;
  }
}

export class CountingRefusals {
  readonly counts: Record<string, number> = {};
  count(limit: string): void {
    this.counts[limit] = (this.counts[limit] ?? 0) + 1;
  }
}

const ALL_ROLES = ['MEASUREMENT', 'EVENT', 'ALARM', 'INVENTORY', 'DEVICE_CONTROL'].map((area) => `ROLE_${area}_READ`);

export function principal(userName = 'admin', roles: string[] = ALL_ROLES, tenantNumber = 1): Principal {
  return { tenant: `t${tenantNumber}`, tenantNumber, userName, roles: new Set(roles) };
}

/** A notification that counts how often its text was made. */
export class TestNotification implements Notification {
  readonly tenant: number;
  readonly area: Notification['area'];
  readonly source: string;
  readonly action: Notification['action'];
  readonly isUnstored: boolean;
  readonly #text: string;
  textCount = 0;

  constructor(
    area: Notification['area'],
    source: string,
    text: string,
    more: { action?: Notification['action']; tenant?: number; isUnstored?: boolean } = {},
  ) {
    this.isUnstored = more.isUnstored === true;
    this.area = area;
    this.source = source;
    this.#text = text;
    this.action = more.action ?? 'CREATE';
    this.tenant = more.tenant ?? 1;
  }

  text(): string {
    this.textCount += 1;
    return this.#text;
  }
}

export interface World {
  readonly server: BayeuxServer;
  readonly bus: InProcessLiveBus;
  readonly clock: ManualClock;
  readonly log: RecordingLog;
  readonly refusals: CountingRefusals;
}

/** A server whose one user in messages is `t1/admin` with the password `secret:1`. */
export function createWorld(options: Partial<BayeuxOptions> = {}): World {
  const clock = new ManualClock();
  const log = new RecordingLog();
  const refusals = new CountingRefusals();
  const bus = new InProcessLiveBus({ log });
  const server = new BayeuxServer({
    bus,
    log,
    refusals,
    clock,
    hierarchy: { ancestors: () => [] },
    authenticator: {
      current: (principal) => principal,
      authenticate: (userName, password) =>
        userName === 't1/admin' && password === 'secret:1' ? principal() : undefined,
    },
    ...options,
  });
  return { server, bus, clock, log, refusals };
}

/** Lets the promises of the server go on. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** One POST: `messages` once it is answered. */
export class Poll {
  messages: Message[] | undefined = undefined;
  blanks = 0;
  sendCount = 0;
  abort: () => void = () => undefined;
  send(text: string): void {
    this.sendCount += 1;
    this.messages = JSON.parse(text);
  }
  sendBlank(): void {
    this.blanks += 1;
  }
  onAborted(callback: () => void): void {
    this.abort = callback;
  }
}

/** A client of long polling. */
export class PollingClient {
  readonly world: World;
  readonly principal: Principal | undefined;
  readonly urlForm: UrlForm;
  readonly baseUrl: string | undefined;
  clientId = '';

  constructor(world: World, options: { principal?: Principal | undefined; urlForm?: UrlForm; baseUrl?: string } = {}) {
    this.world = world;
    this.baseUrl = options.baseUrl;
    this.principal = 'principal' in options ? options.principal : principal();
    this.urlForm = options.urlForm ?? CLIENTS_URL;
  }

  async post(body: unknown): Promise<Poll> {
    const poll = new Poll();
    this.world.server.handle(
      typeof body === 'string' ? body : JSON.stringify(body),
      { principal: this.principal, urlForm: this.urlForm, baseUrl: this.baseUrl },
      poll,
    );
    await settle();
    return poll;
  }

  async one(message: Message): Promise<Message> {
    const poll = await this.post([message]);
    return (poll.messages as Message[])[0];
  }

  async handshake(more: Message = {}): Promise<Message> {
    const answer = await this.one({ channel: '/meta/handshake', version: '1.0', ...more });
    if (answer.successful) this.clientId = answer.clientId;
    return answer;
  }

  subscribe(subscription: unknown): Promise<Message> {
    return this.one({ channel: '/meta/subscribe', clientId: this.clientId, subscription });
  }

  connect(more: Message = {}): Promise<Poll> {
    return this.post([{ channel: '/meta/connect', clientId: this.clientId, connectionType: 'long-polling', ...more }]);
  }

  /** Handshake, subscriptions, first connect, and a connect that is held. */
  async watch(...channels: string[]): Promise<Poll> {
    await this.handshake();
    const answer = await this.subscribe(channels);
    if (!answer.successful) throw new Error(answer.error);
    await this.connect();
    return this.connect();
  }
}

/** A WebSocket whose network the test stops and starts. */
export class TestChannel implements BayeuxChannel {
  readonly frames: string[] = [];
  isSlow = false;
  bufferedBytes = 0;
  ended: string | undefined = undefined;
  send(text: string): boolean {
    this.frames.push(text);
    if (this.isSlow) this.bufferedBytes += Buffer.byteLength(text);
    return !this.isSlow;
  }
  end(reason: string): void {
    this.ended = reason;
  }
  /** All messages since the last call. */
  take(): Message[] {
    return this.frames.splice(0).flatMap((frame) => JSON.parse(frame));
  }
}

export class SocketClient {
  readonly channel = new TestChannel();
  readonly socket: BayeuxSocket;
  clientId = '';

  constructor(
    world: World,
    options: {
      principal?: Principal | undefined;
      urlForm?: UrlForm;
      renew?: () => Promise<{ principal: Principal | undefined }>;
    } = {},
  ) {
    const who = 'principal' in options ? options.principal : principal();
    const { renew } = options;
    this.socket = world.server.open(this.channel, {
      principal: who,
      urlForm: options.urlForm ?? CLIENTS_URL,
      ...(renew === undefined ? {} : { renew }),
    });
  }

  async ask(...messages: Message[]): Promise<Message[]> {
    this.socket.message(JSON.stringify(messages.map((message) => ({ clientId: this.clientId, ...message }))));
    await settle();
    return this.channel.take();
  }

  async handshake(more: Message = {}): Promise<Message> {
    const [answer] = await this.ask({ channel: '/meta/handshake', version: '1.0', ...more });
    if (answer.successful) this.clientId = answer.clientId;
    return answer;
  }

  connect(more: Message = {}): Promise<Message[]> {
    return this.ask({ channel: '/meta/connect', connectionType: 'websocket', ...more });
  }

  async watch(...channels: string[]): Promise<void> {
    await this.handshake();
    await this.ask({ channel: '/meta/subscribe', subscription: channels });
    await this.connect();
    await this.connect();
  }
}

/** The deliveries among messages. */
export function deliveriesOf(messages: Message[] | undefined): Message[] {
  return (messages ?? []).filter((message) => !message.channel.startsWith('/meta/'));
}
