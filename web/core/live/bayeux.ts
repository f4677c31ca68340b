/**
 * Bayeux over one WebSocket (docs/spec/realtime.md): shakes hands, keeps a connect open, subscribes to what is asked
 * for, and begins again after a loss. It knows neither pages nor credentials.
 */

export type LiveState = 'off' | 'connecting' | 'live' | 'waiting' | 'refused';

export interface LiveMessage {
  readonly channel: string;
  readonly data: unknown;
}

/** As much of a WebSocket as is used. */
export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
}

export interface BayeuxOptions {
  readonly open: () => Socket;
  /** `ext` of the handshake, asked for each time. */
  readonly extension: () => Readonly<Record<string, unknown>>;
  readonly onMessages: (messages: readonly LiveMessage[]) => void;
  readonly onState: (state: LiveState, told?: string) => void;
  /** Messages may be missing from before this moment: who shows a list asks for it again. */
  readonly onGap: () => void;
  /** The server tells what happens on the channel from now on. @param wasHeld it did before it was asked for again. */
  readonly onSubscribed: (channel: string, wasHeld: boolean) => void;
  /** The server refused a channel. */
  readonly onDenied: (channel: string, told: string) => void;
  /** The server dropped as many messages. */
  readonly onLost: (count: number) => void;
  readonly later: (run: () => void, ms: number) => number;
  readonly cancel: (timer: number) => void;
}

interface Reply {
  readonly channel: string;
  readonly successful?: boolean;
  readonly error?: string;
  readonly clientId?: string;
  readonly data?: unknown;
  readonly advice?: { readonly reconnect?: 'retry' | 'handshake' | 'none'; readonly interval?: number };
  readonly subscription?: string | readonly string[];
}

const LOST_CHANNEL = '/millrace/lost';
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 30_000;
/** The server answers a connect at the latest then; proxies cut silent connections earlier. */
const CONNECT_TIMEOUT_MS = 50_000;
const GRACE_MS = 15_000;

export class BayeuxClient {
  readonly #options: BayeuxOptions;
  readonly #channels = new Set<string>();
  /** Those that the server has agreed to in this session. */
  readonly #agreed = new Set<string>();
  #socket: Socket | undefined;
  #clientId: string | undefined;
  #retryMs = RETRY_FIRST_MS;
  #timer: number | undefined;
  #lastId = 0;
  #hadSession = false;
  /** Until the subscriptions of a later session are in force. */
  #isGapOpen = false;
  #isClosed = false;

  constructor(options: BayeuxOptions) {
    this.#options = options;
  }

  /** Opens the connection with the first channel. */
  subscribe(channel: string): void {
    if (this.#agreed.has(channel)) this.#options.onSubscribed(channel, true);
    if (this.#channels.has(channel)) return;
    this.#channels.add(channel);
    // Between two tries what the server asked for counts.
    if (this.#socket === undefined && this.#timer === undefined) this.#open();
    else if (this.#clientId !== undefined) this.#send([{ channel: '/meta/subscribe', subscription: channel }]);
  }

  unsubscribe(channel: string): void {
    if (!this.#channels.delete(channel)) return;
    this.#agreed.delete(channel);
    if (this.#clientId !== undefined) this.#send([{ channel: '/meta/unsubscribe', subscription: channel }]);
  }

  /** Begins anew at once, for another login. */
  restart(): void {
    this.#isClosed = false;
    this.#retryMs = RETRY_FIRST_MS;
    this.#drop();
    if (this.#channels.size > 0) this.#open();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#clientId !== undefined) this.#send([{ channel: '/meta/disconnect' }]);
    this.#drop();
    this.#options.onState('off');
  }

  #open(): void {
    if (this.#isClosed) return;
    this.#options.onState(this.#hadSession ? 'waiting' : 'connecting');
    const socket = this.#options.open();
    this.#socket = socket;
    socket.onopen = () => this.#shakeHands();
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      if (this.#socket === socket) this.#take(String(data));
    };
    socket.onclose = () => {
      if (this.#socket === socket) this.#retry();
    };
    this.#watch(GRACE_MS);
  }

  /** Without a frame in that time the connection counts as lost. */
  #watch(ms: number): void {
    if (this.#timer !== undefined) this.#options.cancel(this.#timer);
    this.#timer = this.#options.later(() => this.#retry(), ms);
  }

  #drop(): void {
    if (this.#timer !== undefined) this.#options.cancel(this.#timer);
    const socket = this.#socket;
    this.#timer = this.#socket = this.#clientId = undefined;
    this.#agreed.clear();
    socket?.close();
  }

  /** @param intervalMs at least as long, as the server advises. */
  #retry(intervalMs = 0): void {
    this.#drop();
    if (this.#isClosed) return;
    this.#options.onState('waiting');
    this.#timer = this.#options.later(() => this.#open(), Math.max(this.#retryMs, intervalMs));
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
  }

  #send(messages: readonly Readonly<Record<string, unknown>>[]): void {
    const own = this.#clientId === undefined ? {} : { clientId: this.#clientId };
    const numbered = messages.map((message) => ({ id: String((this.#lastId += 1)), ...own, ...message }));
    this.#socket?.send(JSON.stringify(numbered));
  }

  #shakeHands(): void {
    const message = { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['websocket'] };
    this.#clientId = undefined;
    this.#agreed.clear();
    this.#send([{ ...message, ext: this.#options.extension() }]);
  }

  #connect(): void {
    this.#send([
      { channel: '/meta/connect', connectionType: 'websocket', advice: { timeout: CONNECT_TIMEOUT_MS - GRACE_MS } },
    ]);
    this.#watch(CONNECT_TIMEOUT_MS);
  }

  #take(text: string): void {
    const messages: LiveMessage[] = [];
    for (const reply of JSON.parse(text) as readonly Reply[]) {
      if (reply.channel === '/meta/handshake') this.#shaken(reply);
      else if (reply.channel === '/meta/connect') this.#connected(reply);
      else if (reply.channel === '/meta/subscribe') this.#subscribed(reply);
      else if (reply.channel === LOST_CHANNEL) this.#options.onLost((reply.data as { lost: number }).lost);
      else if (!reply.channel.startsWith('/meta/')) messages.push({ channel: reply.channel, data: reply.data });
    }
    if (messages.length > 0) this.#options.onMessages(messages);
  }

  #shaken(reply: Reply): void {
    if (reply.successful !== true) return this.#failed(reply);
    this.#clientId = reply.clientId;
    if (this.#channels.size > 0) this.#send([{ channel: '/meta/subscribe', subscription: [...this.#channels] }]);
    this.#connect();
    this.#isGapOpen = this.#hadSession;
    this.#hadSession = true;
    this.#options.onState('live');
  }

  #connected(reply: Reply): void {
    const { reconnect, interval = 0 } = reply.advice ?? {};
    if (reply.successful === true) {
      this.#retryMs = RETRY_FIRST_MS;
      this.#connect();
    } else if (reconnect === 'handshake' && interval === 0) this.#shakeHands();
    else this.#failed(reply);
  }

  /** Only the server's `none` is an end: a server that is busy or stops is there again. */
  #failed({ advice, error }: Reply): void {
    if (advice?.reconnect !== 'none') return this.#retry(advice?.interval);
    this.#drop();
    this.#options.onState('refused', error);
  }

  /** One channel that a user may not read does not end the others. */
  #subscribed(reply: Reply): void {
    const { interval, reconnect } = reply.advice ?? {};
    const channels = [reply.subscription ?? []].flat();
    // It failed, and was not refused: the server is busy, or does not know the session any more.
    if (reply.successful !== true && (channels.length === 0 || reconnect === 'retry' || reconnect === 'handshake'))
      return this.#retry(interval);
    if (reply.successful === true) this.#retryMs = RETRY_FIRST_MS;
    if (reply.successful !== true && channels.length > 1) {
      this.#send(channels.map((channel) => ({ channel: '/meta/subscribe', subscription: channel })));
      return;
    }
    for (const channel of channels.filter((one) => this.#channels.has(one)))
      if (reply.successful === true) {
        this.#agreed.add(channel);
        this.#options.onSubscribed(channel, false);
      } else {
        this.#channels.delete(channel);
        this.#options.onDenied(channel, reply.error ?? '');
      }
    // What happened since the last session is missing.
    if (this.#isGapOpen) this.#options.onGap();
    this.#isGapOpen = false;
  }
}
