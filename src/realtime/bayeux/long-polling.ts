/** Long polling: one request with its answer. The HTTP server hands in the body's text and a small way to answer. */
import type { Log } from '../../ports/log.ts';
import { memberOf, type Request } from './message.ts';
import { answerBatch } from './batch.ts';
import type { BayeuxProtocol, Requester } from './protocol.ts';
import type { BayeuxSession, ConnectTransport } from './session.ts';

/**
 * The answer of one HTTP request, status 200, `application/json`. No call comes after `send` or after the client has
 * gone.
 */
export interface LongPollResponder {
  /** Ends the answer with this text; blanks may have been sent before it. */
  send(text: string): void;
  /** Sends one space: begins the answer, and keeps the connection open. */
  sendBlank(): void;
  /** Registers what to do when the client goes before the answer is ended. Called once, at the beginning. */
  onAborted(callback: () => void): void;
}

/** One request as a place where its connect may be held. */
class LongPoll implements ConnectTransport {
  readonly isOneAnswer = true;
  readonly isBlocked = false;
  readonly #responder: LongPollResponder;
  /** Answers to the other messages of the request: sent before what the connect brings. */
  readonly answers: string[] = [];
  #session: BayeuxSession | undefined = undefined;
  isClosed = false;

  constructor(responder: LongPollResponder) {
    this.#responder = responder;
    responder.onAborted(() => {
      this.isClosed = true;
      this.#session?.release(this);
    });
  }

  send(texts: readonly string[]): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#responder.send(`[${[...this.answers, ...texts].join(',')}]`);
  }

  sendBlank(): void {
    if (!this.isClosed) this.#responder.sendBlank();
  }

  attach(session: BayeuxSession): void {
    this.#session = session;
  }

  detach(): void {
    this.#session = undefined;
  }
}

/**
 * Answers one request. Deliveries and the answer of a connect come last; a connect is held only when it is alone, so
 * that the answers beside it need not wait. To rows of SmartREST what went well has no answer: a row 83 is held beside
 * those, too.
 * @param requests as `parseRequests` made them.
 */
export async function answerLongPoll(
  requests: readonly Request[],
  requester: Requester,
  responder: LongPollResponder,
  protocol: BayeuxProtocol,
  log: Log,
): Promise<void> {
  const poll = new LongPoll(responder);
  await answerBatch(requests, {
    protocol,
    requester,
    log,
    onAnswer: (text) => void poll.answers.push(text),
    beforeConnect: () => poll,
    get mayHold() {
      return requests.length === 1 || (requests.every(isOfRows) && poll.answers.every(isSilent));
    },
    isClosed: () => poll.isClosed,
    onNoConnect: () => poll.send([]),
  });
}

const isOfRows = ({ channel, ext }: Request): boolean =>
  channel !== '/meta/handshake' && memberOf(ext, 'smartrest') !== undefined;

/** An answer without a row. */
const isSilent = (answer: string): boolean => (JSON.parse(answer) as { successful: boolean }).successful;
