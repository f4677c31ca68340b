/**
 * A Bayeux session: what one client is subscribed to, what waits for it, and the connect that is held open for it
 * (docs/spec/realtime.md#sessions). It knows transports only as `ConnectTransport`.
 */
import type { Principal } from '../../model/access/principal.ts';
import { unitSystemOf } from '../../model/documents/units.ts';
import type { BayeuxLimits } from './limits.ts';
import type { Channel, UrlForm } from './channel.ts';
import { answerText, lostText, memberOf, millisecondsOf, textOf } from './message.ts';
import type { Advice, Answer, DeliveryForm, Outgoing, Request } from './message.ts';
import { DeliveryQueue } from './queue.ts';
import type { QueueBudget } from './queue.ts';
import type { Clock } from './clock.ts';

/** Where a connect is held: one request of long polling, or a WebSocket. */
export interface ConnectTransport {
  /** Long polling: what is delivered goes out with the connect's answer, once. */
  readonly isOneAnswer: boolean;
  /** True while the client reads slower than we write: what waits is kept. Never true for `isOneAnswer`. */
  readonly isBlocked: boolean;
  /** Sends messages as one JSON array. */
  send(texts: readonly string[]): void;
  /** Keeps an idle long poll open. */
  sendBlank(): void;
  attach(session: BayeuxSession): void;
  detach(session: BayeuxSession): void;
}

export interface SessionOptions {
  readonly clientId: string;
  readonly principal: Principal;
  readonly urlForm: UrlForm;
  /** For links in what is delivered; absent: without any. */
  readonly baseUrl?: string | undefined;
  /** The client gave its credentials in the handshake message, and its later requests may come without. */
  readonly isAuthenticatedByMessage: boolean;
  readonly handshake: Request;
  readonly limits: BayeuxLimits;
  readonly clock: Clock;
  readonly budget: QueueBudget;
  readonly onLost: (limit: string) => void;
  readonly onDelivered: (count: number) => void;
  /** Asks for one `flush` at the end of this turn. */
  readonly onReady: (session: BayeuxSession) => void;
  readonly onExpired: (session: BayeuxSession) => void;
  /** `isPresent` has changed. */
  readonly onPresence: (session: BayeuxSession) => void;
}

interface HeldConnect {
  readonly request: Request;
  readonly transport: ConnectTransport;
  readonly answerAt: number;
  blankAt: number;
}

/** What a client that holds two connects with one session is told to wait, so that the two do not chase each other. */
const REPLACED_INTERVAL_MS = 2_000;

export class BayeuxSession {
  readonly clientId: string;
  readonly principal: Principal;
  readonly urlForm: UrlForm;
  readonly isAuthenticatedByMessage: boolean;
  /** By the channel's text. */
  readonly channels = new Map<string, Channel>();
  /** X-Ids of the collections that make the rows of its client; empty for a client of JSON. */
  readonly collections = new Set<string>();
  /** Ids of the agents that this session is the connection of (agent-presence.ts). */
  readonly agents = new Set<string>();
  /** Set by the server: a flush is due in this turn. */
  isReady = false;
  readonly #options: SessionOptions;
  readonly #queue: DeliveryQueue;
  readonly #form: DeliveryForm;
  readonly #timeoutMs: number;
  readonly #intervalMs: number;
  #held: HeldConnect | undefined = undefined;
  #wasConnected = false;
  #connectDueAt = 0;
  #isPresent = false;
  #hasEnded = false;
  #lostSinceConnect = 0;
  #timer: unknown = undefined;

  constructor(options: SessionOptions) {
    const { limits, handshake } = options;
    this.#options = options;
    this.clientId = options.clientId;
    this.principal = options.principal;
    this.urlForm = options.urlForm;
    this.#form = {
      data: options.urlForm.data,
      baseUrl: options.baseUrl,
      units: unitSystemOf(textOf(memberOf(handshake.ext, 'systemOfUnits'))),
    };
    this.isAuthenticatedByMessage = options.isAuthenticatedByMessage;
    // A handshake's timeout of 0 means a fast first connect, as in a connect; it does not ask to poll without a pause.
    this.#timeoutMs = millisecondsOf(memberOf(handshake.advice, 'timeout'), limits.timeoutMsMax) || limits.timeoutMs;
    this.#intervalMs = millisecondsOf(memberOf(handshake.advice, 'interval'), limits.intervalMsMax) ?? 0;
    this.#queue = new DeliveryQueue({
      messages: limits.queueMessages,
      bytes: limits.queueBytes,
      budget: options.budget,
      onLost: options.onLost,
    });
    this.#awaitConnect();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get isConnected(): boolean {
    return this.#held !== undefined;
  }

  /** The client has connected, and is not known to have gone. */
  get isPresent(): boolean {
    return this.#isPresent;
  }

  /** Milliseconds for which a connect is overdue; 0 while one is held or its client may still wait. */
  get overdueMs(): number {
    return this.#held === undefined ? Math.max(0, this.#options.clock.now() - this.#connectDueAt) : 0;
  }

  get queuedMessageCount(): number {
    return this.#queue.messageCount;
  }

  /** Queues a message; costs the publisher no more than that. */
  enqueue(message: Outgoing): void {
    if (this.#hasEnded) return;
    this.#queue.push(message.delivery(this.#form));
    this.#announce();
  }

  /** A message for this session was lost before it reached the queue. */
  noteLost(limit: string): void {
    if (this.#hasEnded) return;
    this.#queue.noteLost(limit);
    this.#announce();
  }

  #announce(): void {
    if (this.isReady || this.#held === undefined || this.#held.transport.isBlocked) return;
    this.isReady = true;
    this.#options.onReady(this);
  }

  /**
   * Takes a connect. It is answered at once when it is the first, when it may not be held (it came with others in one
   * long poll), when the client asks for that, and in long polling when something waits. One that is held already is
   * answered.
   */
  connect(request: Request, transport: ConnectTransport, mayHold: boolean): void {
    this.#replaceHeld();
    const now = this.#options.clock.now();
    const asked = millisecondsOf(memberOf(request.advice, 'timeout'), this.#options.limits.timeoutMsMax);
    const waitMs = this.#wasConnected && mayHold ? (asked ?? this.#timeoutMs) : 0;
    this.#wasConnected = true;
    this.#held = { request, transport, answerAt: now + waitMs, blankAt: now + this.#options.limits.keepAliveMs };
    transport.attach(this);
    this.#setPresent(true);
    if (waitMs === 0) {
      this.#answerHeld();
      return;
    }
    this.#arm();
    this.flush();
  }

  /** Sends what waits, as far as the transport takes it. */
  flush(): void {
    const held = this.#held;
    if (held === undefined || this.#queue.isEmpty) return;
    if (held.transport.isOneAnswer) this.#answerHeld();
    else this.#sendFrames(held.transport);
  }

  /** The transport has gone: the session waits for its client to come back. */
  release(transport: ConnectTransport): void {
    if (this.#held?.transport !== transport) return;
    this.#held = undefined;
    this.#setPresent(false);
    this.#awaitConnect();
  }

  /** Ends the session; a held connect is answered with `answer`. */
  end(answer: Answer): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const held = this.#held;
    this.#held = undefined;
    this.#clearTimer();
    this.#queue.clear();
    if (held === undefined) return;
    held.transport.detach(this);
    held.transport.send([answerText(held.request, { clientId: this.clientId, ...answer })]);
  }

  #setPresent(isPresent: boolean): void {
    if (this.#isPresent === isPresent) return;
    this.#isPresent = isPresent;
    this.#options.onPresence(this);
  }

  #advice(intervalMs = this.#intervalMs): Advice {
    return { interval: intervalMs, timeout: this.#timeoutMs, reconnect: 'retry' };
  }

  #replaceHeld(): void {
    const held = this.#held;
    if (held === undefined) return;
    this.#held = undefined;
    held.transport.detach(this);
    const advice = this.#advice(Math.max(this.#intervalMs, REPLACED_INTERVAL_MS));
    held.transport.send([answerText(held.request, { clientId: this.clientId, successful: true, advice })]);
  }

  #answerHeld(): void {
    const held = this.#held as HeldConnect;
    let deliveries: string[] = [];
    if (held.transport.isOneAnswer) deliveries = this.#takeDeliveries(Number.POSITIVE_INFINITY);
    else this.#sendFrames(held.transport);
    const ext = {
      ...(this.#lostSinceConnect === 0 ? {} : { lost: this.#lostSinceConnect }),
      ...(this.collections.size === 0 ? {} : { smartrest: { xids: [...this.collections] } }),
    };
    this.#lostSinceConnect = 0;
    const answer = answerText(held.request, {
      clientId: this.clientId,
      successful: true,
      advice: this.#advice(),
      ...(Object.keys(ext).length === 0 ? {} : { ext }),
    });
    // A send may end the transport, and with it this connect.
    this.#held = undefined;
    held.transport.detach(this);
    this.#awaitConnect();
    held.transport.send([...deliveries, answer]);
  }

  #sendFrames(transport: ConnectTransport): void {
    while (!this.#queue.isEmpty && !transport.isBlocked && this.#held?.transport === transport) {
      transport.send(this.#takeDeliveries(this.#options.limits.frameBytes));
    }
  }

  /** What was lost is told before the rest, because the oldest are dropped first. */
  #takeDeliveries(maximumBytes: number): string[] {
    const texts: string[] = [];
    for (const [limit, lost] of this.#queue.takeLost()) {
      this.#lostSinceConnect += lost;
      texts.push(lostText(lost, limit));
    }
    const taken = this.#queue.take(maximumBytes);
    if (taken.length > 0) this.#options.onDelivered(taken.length);
    return texts.concat(taken);
  }

  #awaitConnect(): void {
    this.#connectDueAt = this.#options.clock.now() + this.#intervalMs;
    this.#startTimer(this.#intervalMs + this.#options.limits.sessionExpiryMs, () => this.#options.onExpired(this));
  }

  #arm(): void {
    const held = this.#held as HeldConnect;
    const dueAt = held.transport.isOneAnswer ? Math.min(held.answerAt, held.blankAt) : held.answerAt;
    this.#startTimer(dueAt - this.#options.clock.now(), () => this.#onHeldDue());
  }

  #onHeldDue(): void {
    const held = this.#held as HeldConnect;
    const now = this.#options.clock.now();
    if (now >= held.answerAt) {
      this.#answerHeld();
      return;
    }
    if (held.transport.isOneAnswer && now >= held.blankAt) {
      held.blankAt = now + this.#options.limits.keepAliveMs;
      held.transport.sendBlank();
      if (this.#held !== held) return;
    }
    this.#arm();
  }

  #startTimer(delayMs: number, callback: () => void): void {
    this.#clearTimer();
    if (this.#hasEnded) return;
    this.#timer = this.#options.clock.setTimeout(callback, Math.max(1, Math.ceil(delayMs)));
  }

  #clearTimer(): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
