/**
 * A persistent consumer of Notifications 2.0 that connects again whenever its connection ends, acknowledges each
 * message, and knows which numbers of the load (test/helpers/process/load.ts) it has seen, in which order.
 */
import { WebSocket } from 'ws';
import { frameOf } from '../running/consumer.ts';
import { until } from '../until.ts';
import type { Ledger, LoadTarget } from './load.ts';
import { delay } from './server.ts';

const RECONNECT_MS = 50;

export class TopicConsumer {
  /** By source, each number when it came first. */
  readonly measurements = new Map<string, Set<number>>();
  readonly texts = new Set<string>();
  connections = 0;
  frames = 0;
  readonly #server: LoadTarget;
  readonly #port: () => number;
  readonly #token: string;
  #socket: WebSocket | undefined;
  #isStopped = false;

  private constructor(server: LoadTarget, port: () => number, token: string) {
    this.#server = server;
    this.#port = port;
    this.#token = token;
  }

  /**
   * Makes a subscription to everything of the tenant, and runs until it is stopped. Resolves when it is connected.
   * @param port that it connects to, each time.
   */
  static async start(server: LoadTarget, port: () => number): Promise<TopicConsumer> {
    const subscription = {
      context: 'tenant',
      subscription: 'everything',
      subscriptionFilter: { apis: ['*'] },
    };
    const made = await server.http('POST', '/notification2/subscriptions', subscription);
    if (made.status !== 201) throw new Error(`POST subscriptions: ${made.status} ${made.text}`);
    const body = { subscription: 'everything', subscriber: 'account' };
    const answer = await server.http('POST', '/notification2/token', body);
    const consumer = new TopicConsumer(server, port, answer.json<{ token: string }>().token);
    void consumer.#run();
    // Something that was sent before the subscriber was there does not come: this does.
    for (let number = 1; consumer.frames === 0; number += 1) {
      await server.createDevice(`probe ${number}`);
      await delay(RECONNECT_MS);
    }
    return consumer;
  }

  stop(): void {
    this.#isStopped = true;
    this.#socket?.terminate();
  }

  /** Resolves when everything that was acknowledged has come. @returns what is wrong with the order. */
  async account(name: string, source: string, ledger: Pick<Ledger, 'acknowledged' | 'sent'>): Promise<string[]> {
    const seen = (): ReadonlySet<number> => this.measurements.get(source) ?? new Set();
    const missing = (): number[] => [...ledger.acknowledged].filter((number) => !seen().has(number));
    try {
      await until(`what ${name} was acknowledged`, () => missing().length === 0);
    } catch {
      return [
        `${name}: ${missing().length} of ${ledger.acknowledged.size} are missing, ${missing().slice(0, 5).join(', ')}`,
      ];
    }
    const problems: string[] = [];
    let last = 0;
    for (const number of seen()) {
      if (number < last) problems.push(`${name}: ${number} came behind ${last}`);
      if (number > ledger.sent) problems.push(`${name}: ${number} was never sent`);
      last = number;
    }
    return problems.slice(0, 10);
  }

  async #run(): Promise<void> {
    while (!this.#isStopped && !this.#server.isDisposed) {
      const socket = new WebSocket(`ws://127.0.0.1:${this.#port()}/notification2/consumer/?token=${this.#token}`);
      this.#socket = socket;
      socket.on('open', () => {
        this.connections += 1;
      });
      socket.on('message', (data) => this.#take(socket, (data as Buffer).toString()));
      await new Promise<void>((resolve) => {
        socket.on('close', () => resolve());
        socket.on('error', () => resolve());
      });
      socket.terminate();
      await delay(RECONNECT_MS);
    }
  }

  #take(socket: WebSocket, text: string): void {
    const { id, channel, action, body } = frameOf(text);
    this.frames += 1;
    const number = body.fault?.n?.value as number | undefined;
    if (channel.includes('/measurements/') && number !== undefined) {
      const seen = this.measurements.get(body.source.id) ?? new Set<number>();
      this.measurements.set(body.source.id, seen.add(number));
    } else if (action === 'CREATE' && typeof body.text === 'string') this.texts.add(`${body.source.id} ${body.text}`);
    socket.send(id);
  }
}
