/** A Bayeux client over a WebSocket that comes back after a loss: its session is kept by the server for a while. */
import WebSocket from 'ws';

const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 30_000;
/** A connect is answered by then. */
const HELD_MS = 30_000;
/** Without an answer for this time the connection counts as lost. */
const SILENT_MS = 2 * HELD_MS;
/** Code of a close: the server does not take these credentials. */
const POLICY = 1008;

interface Message {
  readonly channel: string;
  readonly successful?: boolean;
  readonly clientId?: string;
  readonly error?: string;
  readonly data?: unknown;
}

export interface BayeuxOptions {
  /** `ws://…`. */
  readonly url: string;
  readonly channels: readonly string[];
  /** Asked before each connection: a token may have ended. */
  readonly authorization: () => Promise<string>;
  /** @returns a promise where the reader is slow: nothing more is read before. */
  readonly onData: (channel: string, data: unknown) => Promise<void> | undefined;
  readonly onState: (state: 'subscribed' | 'lost', reason: string) => void;
}

/** Runs until the signal. @throws Error when the server refuses a login or a subscription. */
export async function follow(options: BayeuxOptions, signal: AbortSignal): Promise<void> {
  let clientId: string | undefined;
  for (let retryMs = RETRY_MS_MIN; !signal.aborted; ) {
    const session = new Session(options, clientId, signal);
    const end = await session.run();
    if (signal.aborted) return;
    if (end instanceof Refused) throw end;
    clientId = session.clientId;
    if (session.wasSubscribed) retryMs = RETRY_MS_MIN;
    options.onState('lost', `${end.message}; trying again in ${retryMs} ms`);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, retryMs);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });
    retryMs = Math.min(2 * retryMs, RETRY_MS_MAX);
  }
}

/** What another try would meet again. */
export class Refused extends Error {}

/** One connection. */
class Session {
  clientId: string | undefined;
  wasSubscribed = false;
  #wasAnswered = false;
  readonly #options: BayeuxOptions;
  readonly #signal: AbortSignal;
  #socket: WebSocket | undefined;
  #silence: NodeJS.Timeout | undefined;
  #end: (reason: Error) => void = () => undefined;

  constructor(options: BayeuxOptions, clientId: string | undefined, signal: AbortSignal) {
    this.#options = options;
    this.clientId = clientId;
    this.#signal = signal;
  }

  /** @returns why it ended. */
  async run(): Promise<Error> {
    let authorization: string;
    try {
      authorization = await this.#options.authorization();
    } catch (error) {
      return error as Error;
    }
    const socket = new WebSocket(this.#options.url, { headers: { authorization }, handshakeTimeout: HELD_MS });
    this.#socket = socket;
    const ended = new Promise<Error>((resolve) => {
      this.#end = resolve;
    });
    const abort = (): void => this.#end(new Error('it was ended'));
    this.#signal.addEventListener('abort', abort);
    socket.on('open', () => this.#begin());
    socket.on('message', (data) => {
      try {
        this.#receive(JSON.parse(String(data)) as Message[]);
      } catch (error) {
        this.#end(error as Error);
      }
    });
    socket.on('error', (error) => this.#end(error));
    socket.on('close', (code, reason) =>
      this.#end(
        code === POLICY && !this.#wasAnswered
          ? new Refused(`the server refuses the connection: ${String(reason) || code}`)
          : new Error(`the connection was closed (${code}${reason.length === 0 ? '' : `, ${String(reason)}`})`),
      ),
    );
    const reason = await ended;
    clearTimeout(this.#silence);
    this.#signal.removeEventListener('abort', abort);
    socket.terminate();
    return reason;
  }

  #begin(): void {
    if (this.clientId !== undefined) this.#connect();
    else
      this.#send({
        channel: '/meta/handshake',
        version: '1.0',
        supportedConnectionTypes: ['websocket'],
        advice: { timeout: HELD_MS, interval: 0 },
      });
  }

  #receive(messages: readonly Message[]): void {
    this.#wasAnswered = true;
    this.#restartClock();
    for (const message of messages) {
      const { channel, successful, error = 'no reason given' } = message;
      if (channel === '/meta/handshake') {
        if (successful !== true) return this.#end(new Refused(`the server refuses the login: ${error}`));
        this.clientId = message.clientId;
        this.#send(...this.#options.channels.map((subscription) => ({ channel: '/meta/subscribe', subscription })));
      } else if (channel === '/meta/subscribe') {
        if (successful !== true) return this.#end(new Refused(`the server refuses the subscription: ${error}`));
        if (!this.wasSubscribed) this.#connect();
      } else if (channel === '/meta/connect') {
        if (successful === true) this.#connect();
        else {
          // The server has forgotten the session and its subscriptions: another one.
          this.clientId = undefined;
          this.wasSubscribed = false;
          this.#begin();
        }
      } else if (!channel.startsWith('/meta/')) this.#deliver(message);
    }
    return undefined;
  }

  #deliver({ channel, data }: Message): void {
    const isSlow = this.#options.onData(channel, data);
    if (isSlow === undefined) return;
    this.#socket?.pause();
    void isSlow.then(() => this.#socket?.resume());
  }

  #connect(): void {
    if (!this.wasSubscribed) {
      this.wasSubscribed = true;
      this.#options.onState('subscribed', '');
    }
    this.#send({ channel: '/meta/connect', connectionType: 'websocket', advice: { timeout: HELD_MS } });
  }

  #send(...messages: object[]): void {
    this.#restartClock();
    this.#socket?.send(
      JSON.stringify(
        messages.map((message) => (this.clientId === undefined ? message : { ...message, clientId: this.clientId })),
      ),
    );
  }

  #restartClock(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#end(new Error(`no answer for ${SILENT_MS} ms`)), SILENT_MS);
  }
}
