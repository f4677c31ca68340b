/** Bayeux over a WebSocket: frames hold the same arrays as long polling's bodies. */
import type { Refused } from '../../ports/refusals.ts';
import { refusedOf } from './loss-report.ts';
import type { Log } from '../../ports/log.ts';
import { answerBatch } from './batch.ts';
import { LIMIT_NAMES } from './limits.ts';
import type { BayeuxLimits } from './limits.ts';
import { parseRequests, RequestRefused } from './message.ts';
import type { Request } from './message.ts';
import type { BayeuxProtocol, Requester } from './protocol.ts';
import type { BayeuxSession, ConnectTransport } from './session.ts';
import type { PollsElsewhere } from './polls-elsewhere.ts';

/** The WebSocket as the server sees it. */
export interface BayeuxChannel {
  /**
   * Sends one text frame. @returns false when the frame is taken but must wait. After that, and whenever
   * `bufferedBytes` was above 0 after a frame, the owner calls `drained` each time that the buffer has become smaller.
   */
  send(text: string): boolean;
  /** Bytes that are taken and not yet handed to the network. */
  readonly bufferedBytes: number;
  /** Closes the connection; `closed` is called afterwards. */
  end(reason: string): void;
}

export interface BayeuxSocketOptions {
  readonly channel: BayeuxChannel;
  readonly requester: Requester;
  readonly protocol: BayeuxProtocol;
  readonly limits: BayeuxLimits;
  readonly log: Log;
  readonly onRefused: (limit: string, refused: Refused) => void;
  /** Sessions on other nodes: a frame for one of them is handed on as a long poll is, and its answer is a frame. */
  readonly elsewhere?: PollsElsewhere | undefined;
}

export class BayeuxSocket implements ConnectTransport {
  readonly isOneAnswer = false;
  readonly #options: BayeuxSocketOptions;
  /** Those whose connect is held here. */
  readonly #sessions = new Set<BayeuxSession>();
  #work: Promise<void> = Promise.resolve();
  #pendingCount = 0;
  /** Frames that another node answers: what to do when the connection has gone before. */
  readonly #relayed = new Set<() => void>();
  #hasSessionElsewhere = false;
  #mustDrain = false;
  #isClosed = false;

  constructor(options: BayeuxSocketOptions) {
    this.#options = options;
  }

  /** It has shaken hands, or named a session that is its own. */
  get hasSession(): boolean {
    return this.#options.requester.hasSession === true || this.#hasSessionElsewhere;
  }

  /** A message is being answered. */
  get isBusy(): boolean {
    return this.#pendingCount + this.#relayed.size > 0;
  }

  get isBlocked(): boolean {
    return this.#isClosed || this.#mustDrain;
  }

  /** One text frame of the client. Frames are answered in their order. */
  message(text: string): void {
    if (this.#isClosed) return;
    if (this.#pendingCount + this.#relayed.size >= this.#options.limits.webSocketPending) {
      this.#end(LIMIT_NAMES.webSocketPending, 'more messages than the server can answer');
      return;
    }
    let requests: Request[];
    try {
      requests = parseRequests(text, this.#options.limits);
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      this.#refuse(error);
      return;
    }
    if (this.#relay(text, requests)) return;
    this.#pendingCount += 1;
    this.#work = this.#work
      .then(() => this.#answer(requests))
      .finally(() => {
        this.#pendingCount -= 1;
      });
  }

  /** There is room again after `send` returned false. */
  drained(): void {
    if (this.#isClosed || this.#options.channel.bufferedBytes > this.#options.limits.webSocketBufferedBytes) return;
    this.#mustDrain = false;
    for (const session of [...this.#sessions]) {
      if (this.isBlocked) return;
      session.flush();
    }
  }

  /** The connection has gone. */
  closed(): void {
    this.#isClosed = true;
    const sessions = [...this.#sessions];
    this.#sessions.clear();
    for (const session of sessions) session.release(this);
    for (const gone of this.#relayed) gone();
    this.#relayed.clear();
  }

  send(texts: readonly string[]): void {
    if (texts.length > 0) this.#write(`[${texts.join(',')}]`);
  }

  #write(frame: string): void {
    if (this.#isClosed) return;
    const { channel, limits } = this.#options;
    const isTaken = channel.send(frame);
    if (!isTaken || channel.bufferedBytes > limits.webSocketBufferedBytes) this.#mustDrain = true;
    if (channel.bufferedBytes > limits.webSocketBufferedBytesMax) {
      this.#end(LIMIT_NAMES.webSocketBuffer, 'the client does not read its answers');
    }
  }

  /** The WebSocket's own pings do that. */
  sendBlank(): void {}

  attach(session: BayeuxSession): void {
    this.#sessions.add(session);
  }

  detach(session: BayeuxSession): void {
    this.#sessions.delete(session);
  }

  /** @returns false unless another node has the session. */
  #relay(text: string, requests: readonly Request[]): boolean {
    const { elsewhere, requester } = this.#options;
    let onGone: () => void = () => undefined;
    const isRelayed =
      elsewhere?.relay(
        { text, requests, requester },
        {
          send: (frame) => {
            this.#relayed.delete(onGone);
            this.#hasSessionElsewhere ||= (JSON.parse(frame) as { successful?: unknown }[]).some(
              ({ successful }) => successful === true,
            );
            this.#write(frame);
          },
          sendBlank: () => undefined,
          onAborted: (callback) => {
            onGone = callback;
          },
        },
      ) === true;
    if (isRelayed) this.#relayed.add(onGone);
    return isRelayed;
  }

  async #answer(requests: readonly Request[]): Promise<void> {
    const { protocol, requester, log } = this.#options;
    let answers: string[] = [];
    const sendAnswers = (): void => {
      this.send(answers);
      answers = [];
    };
    await answerBatch(requests, {
      protocol,
      requester,
      log,
      onAnswer: (text) => void answers.push(text),
      beforeConnect: () => {
        sendAnswers();
        return this;
      },
      onNoConnect: sendAnswers,
      mayHold: true,
      isClosed: () => this.#isClosed,
    });
  }

  #refuse(refused: RequestRefused): void {
    const code = refused.error.status;
    this.send([
      JSON.stringify({ channel: '/meta/unsuccessful', successful: false, error: `${code}::${refused.error.message}` }),
    ]);
    if (refused.limit !== undefined) this.#end(refused.limit, refused.error.message);
  }

  #end(limit: string, reason: string): void {
    if (this.#isClosed) return;
    this.#options.onRefused(limit, { ...refusedOf(this.#options.requester.principal), reason });
    this.#options.log.debug({ limit }, 'a Bayeux WebSocket was ended');
    this.#options.channel.end(`${limit}: ${reason}`);
    this.closed();
  }
}
