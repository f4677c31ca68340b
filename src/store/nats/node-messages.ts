/**
 * What nodes tell each other, on NATS core. Subjects: `<prefix>.n.<nodeId>.<subject>` to one node,
 * `<prefix>.all.<subject>` to all. A message is the sender's id with its length before it, then the payload; an answer
 * is a byte (0: answer, 1: the error's text) and the rest. What a node says to itself does not take the way over NATS.
 */
import type { Msg, Subscription } from '@nats-io/nats-core';
import { NodeUnreachable } from '../../ports/cluster/node-messages.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';
import type { Log } from '../../ports/log.ts';
import type { NatsConnection } from './connection.ts';

type Answerer = Parameters<NodeMessages['answer']>[1];
type Listener = Parameters<NodeMessages['listen']>[1];

const NODE_ID = /^[A-Za-z0-9_-]{1,100}$/;
const SUBJECT = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;
const ANSWERED = 0;
const FAILED = 1;
/** The longest text of an error that is sent. */
const ERROR_LENGTH_MAX = 2_000;

/** Node ids become parts of subjects and names. @throws TypeError */
export function checkNodeId(nodeId: string): void {
  if (!NODE_ID.test(nodeId)) throw new TypeError(`a node's id has letters, digits, - and _, at most 100: ${nodeId}`);
}

export class NatsNodeMessages implements NodeMessages {
  readonly nodeId: string;
  readonly #connection: NatsConnection;
  readonly #prefix: string;
  readonly #log: Log;
  readonly #sender: Buffer;
  readonly #answerers = new Map<string, Answerer>();
  readonly #listeners = new Map<string, readonly Listener[]>();
  readonly #subscriptions: readonly Subscription[];

  constructor(options: { connection: NatsConnection; prefix: string; nodeId: string; log: Log }) {
    checkNodeId(options.nodeId);
    this.nodeId = options.nodeId;
    this.#connection = options.connection;
    this.#prefix = options.prefix;
    this.#log = options.log;
    this.#sender = Buffer.from(`\0${options.nodeId}`);
    this.#sender[0] = options.nodeId.length;
    const { core } = options.connection;
    this.#subscriptions = [`${options.prefix}.n.${options.nodeId}.`, `${options.prefix}.all.`].map((start) =>
      core.subscribe(`${start}>`, {
        callback: (error, message) => {
          if (error) this.#log.error({ err: error }, 'messages of nodes cannot be received');
          else this.#take(message.subject.slice(start.length), message);
        },
      }),
    );
  }

  get isConnected(): boolean {
    return this.#connection.isConnected;
  }

  get payloadBytesMax(): number {
    return this.#connection.payloadBytesMax - this.#sender.length;
  }

  async request(nodeId: string, subject: string, payload: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    check(subject);
    if (nodeId === this.nodeId) return this.#askSelf(subject, payload, timeoutMs);
    checkNodeId(nodeId);
    if (!this.#connection.isConnected)
      throw new NodeUnreachable(`no connection to NATS: ${nodeId} cannot be asked for ${subject}`);
    let reply: Uint8Array;
    try {
      reply = (
        await this.#connection.core.request(`${this.#prefix}.n.${nodeId}.${subject}`, this.#framed(payload), {
          timeout: timeoutMs,
        })
      ).data;
    } catch (error) {
      throw new NodeUnreachable(
        `${nodeId} has not answered ${subject}: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
    if (reply[0] !== ANSWERED) throw new NodeUnreachable(Buffer.from(reply.subarray(1)).toString());
    return reply.subarray(1);
  }

  answer(subject: string, handler: Answerer): void {
    check(subject);
    this.#answerers.set(subject, handler);
  }

  send(nodeId: string, subject: string, payload: Uint8Array): void {
    check(subject);
    if (nodeId === this.nodeId) this.#deliverSoon(subject, payload);
    else this.#publish(`${this.#prefix}.n.${nodeId}.${subject}`, payload);
  }

  broadcast(subject: string, payload: Uint8Array): void {
    check(subject);
    this.#deliverSoon(subject, payload);
    this.#publish(`${this.#prefix}.all.${subject}`, payload);
  }

  listen(subject: string, handler: Listener): void {
    check(subject);
    this.#listeners.set(subject, [...(this.#listeners.get(subject) ?? []), handler]);
  }

  onReconnected(handler: () => void): void {
    this.#connection.onReconnected(handler);
  }

  /** Ends the subscriptions. */
  close(): void {
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }

  #framed(payload: Uint8Array): Uint8Array {
    const message = Buffer.allocUnsafe(this.#sender.length + payload.length);
    message.set(this.#sender);
    message.set(payload, this.#sender.length);
    return message;
  }

  /** Without a connection it is lost, as the port says; the library would keep it for who knows how long. */
  #publish(subject: string, payload: Uint8Array): void {
    if (this.#connection.isConnected) this.#connection.core.publish(subject, this.#framed(payload));
  }

  #deliverSoon(subject: string, payload: Uint8Array): void {
    if (this.#listeners.has(subject)) setImmediate(() => this.#deliver(subject, payload, this.nodeId));
  }

  async #askSelf(subject: string, payload: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    const handler = this.#answerers.get(subject);
    if (!handler) throw new NodeUnreachable(`${this.nodeId} does not answer ${subject}`);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new NodeUnreachable(`${this.nodeId} has not answered ${subject} within ${timeoutMs} ms`)),
        timeoutMs,
      );
    });
    try {
      return await Promise.race([Promise.resolve().then(() => handler(payload, this.nodeId)), late]);
    } catch (error) {
      throw error instanceof NodeUnreachable ? error : new NodeUnreachable(textOf(error), { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  #take(subject: string, message: Msg): void {
    const { data } = message;
    const length = data.length > 0 ? data[0] : data.length;
    if (length + 1 > data.length) return;
    const from = Buffer.from(data.buffer, data.byteOffset + 1, length).toString('latin1');
    const payload = data.subarray(1 + length);
    if (message.reply === undefined || message.reply === '') this.#deliver(subject, payload, from);
    else void this.#answerTo(message, subject, payload, from);
  }

  #deliver(subject: string, payload: Uint8Array, from: string): void {
    for (const listener of this.#listeners.get(subject) ?? []) {
      try {
        listener(payload, from);
      } catch (error) {
        this.#log.error({ err: error, subject, from }, 'a message of a node could not be handled');
      }
    }
  }

  async #answerTo(message: Msg, subject: string, payload: Uint8Array, from: string): Promise<void> {
    let reply: Uint8Array;
    try {
      const handler = this.#answerers.get(subject);
      if (!handler) throw new NodeUnreachable(`${this.nodeId} does not answer ${subject}`);
      const answer = await handler(payload, from);
      if (answer.length + 1 > this.#connection.payloadBytesMax)
        throw new RangeError(`the answer of ${this.nodeId} to ${subject} has ${answer.length} bytes`);
      reply = Buffer.allocUnsafe(answer.length + 1);
      reply[0] = ANSWERED;
      reply.set(answer, 1);
    } catch (error) {
      reply = Buffer.from(`\0${textOf(error).slice(0, ERROR_LENGTH_MAX)}`);
      reply[0] = FAILED;
    }
    if (this.#connection.isConnected) message.respond(reply);
  }
}

function check(subject: string): void {
  if (!SUBJECT.test(subject))
    throw new TypeError(
      `the subject of a message of nodes has words of letters and digits, separated by dots: ${subject}`,
    );
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
