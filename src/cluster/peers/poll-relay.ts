/**
 * Long polls of Bayeux on any node (issue 3 point 4). A session is on the node of its handshake, and the end of its
 * client id names that node. A node that gets a poll of another's session hands it on and keeps the client's request
 * open until the answer comes:
 *
 *     client -> B: POST        B -> A: `poll`         (request; A takes it and says so at once)
 *     client <- B: blank, text A -> B: `poll-answer`  (requests, one after the other; a long text in parts)
 *     client goes from B       B -> A: `poll-gone`    (one-way; a lost one is noticed at the next word to B)
 *
 *     B -> A: `poll-check`     (request, now and then: does A still know these?)
 *
 * A node that dies answers nothing: both sides look at the members every second. What was on the way to a client when
 * NATS or a node went is lost to it, as what was written to a long poll whose client went; it is counted as
 * `realtime/poll-relay`. While NATS is away nothing is ended: members cannot be told from those that have gone.
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import type { Log } from '../../ports/log.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { BAYEUX_URLS } from '../../realtime/bayeux/channel.ts';
import type { LongPollResponder } from '../../realtime/bayeux/long-polling.ts';
import { answerText, textOf, UNKNOWN_CLIENT } from '../../realtime/bayeux/message.ts';
import type { Answer, Request } from '../../realtime/bayeux/message.ts';
import type { Requester } from '../../realtime/bayeux/protocol.ts';
import type { LongPollAnswerer, LongPollRequest, PollsElsewhere } from '../../realtime/bayeux/polls-elsewhere.ts';
import { nodeEnd } from './node-end.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';
import type { Member } from '../../ports/cluster/leases.ts';

const SUBJECT = { poll: 'poll', answer: 'poll-answer', gone: 'poll-gone', check: 'poll-check' } as const;
const TIMEOUT_MS = 5_000;
const TICK_MS = 1_000;
/** Ticks from one check to the next; longer than an answer takes. */
const CHECK_TICKS = 6;
/** Ticks after a reconnection to NATS until the members are known again. */
const SETTLE_TICKS = 6;
/** Below the smallest message that NATS is set up for. */
const PART_BYTES = 262_144;
/** Answers on the way to other nodes. */
const ANSWER_BYTES_MAX = 67_108_864;
const LIMIT = { relay: 'realtime/poll-relay', bytes: 'realtime/poll-relay-bytes' } as const;

/** What the first byte of a `poll-answer` says. */
const KIND = { blank: 0, part: 1, last: 2, probe: 3, lost: 4 } as const;
type Kind = (typeof KIND)[keyof typeof KIND];
const KNOWN = Buffer.from('1');
const GONE = Buffer.from('0');

const AWAY: Answer = {
  successful: false,
  error: '503::The node of the session does not answer',
  advice: { interval: 1_000, reconnect: 'retry' },
};
/** The session goes on: the client comes back over another node. */
const STOPPING: Answer = {
  successful: false,
  error: '503::The server is stopping',
  advice: { interval: 1_000, reconnect: 'retry' },
};

export interface PollRelayOptions {
  readonly messages: NodeMessages;
  readonly leases: { readonly members: readonly Member[] };
  readonly refusals: Refusals;
  readonly log: Log;
  readonly tickMs?: number;
}

/** What another node has to know of who asks: roles are those of the session. */
interface Asker {
  readonly principal?: Pick<Principal, 'tenant' | 'tenantNumber' | 'userName'>;
  readonly ofCookie?: Pick<Principal, 'tenant' | 'tenantNumber' | 'userName' | 'session'>;
  readonly host?: string;
  readonly userAgent?: string;
}

/** A poll of a client of this node. Bound: each has an open request of the HTTP server. */
interface Waiting {
  readonly nodeId: string;
  readonly requests: readonly Request[];
  readonly responder: LongPollResponder;
  readonly parts: Uint8Array[];
  /** Checks in which the node did not know it. */
  unknownCount: number;
  /** Since when it is old enough for a check. */
  readonly sinceTick: number;
}

export class PollRelay implements PollsElsewhere {
  readonly clientIdEnd: string;
  readonly #options: PollRelayOptions;
  readonly #waiting = new Map<string, Waiting>();
  /** Of other nodes' clients, by node and number. Bound: the polls that a session holds, and answers on the way. */
  readonly #answering = new Map<string, RelayedPoll>();
  #pollCount = 0;
  #bytesUnderWay = 0;
  #ticker: NodeJS.Timeout | undefined = undefined;
  #ticks = 0;
  #settledAtTick = 0;
  /** Other nodes by the end of their client ids, as last seen. */
  #ends = new Map<string, string>();

  constructor(options: PollRelayOptions) {
    this.#options = options;
    this.clientIdEnd = nodeEnd(options.messages.nodeId);
  }

  /** Polls that wait for other nodes, and polls of other nodes. */
  get counts(): { waiting: number; answering: number } {
    return { waiting: this.#waiting.size, answering: this.#answering.size };
  }

  start(answerer: LongPollAnswerer): void {
    const { messages } = this.#options;
    messages.answer(SUBJECT.poll, (payload, from) => this.#take(Buffer.from(payload), from, answerer));
    messages.answer(SUBJECT.answer, (payload, from) => this.#answered(Buffer.from(payload), from));
    messages.listen(SUBJECT.gone, (payload, from) =>
      this.#answering.get(keyOf(from, Buffer.from(payload).toString()))?.abort(),
    );
    messages.answer(SUBJECT.check, (payload, from) =>
      Buffer.from(
        JSON.stringify(
          (JSON.parse(Buffer.from(payload).toString()) as string[]).filter(
            (id) => !this.#answering.has(keyOf(from, id)),
          ),
        ),
      ),
    );
    messages.onReconnected(() => this.#reconnected());
    this.#ticker = setInterval(() => this.#tick(), this.#options.tickMs ?? TICK_MS).unref();
  }

  relay(poll: LongPollRequest, responder: LongPollResponder): boolean {
    const nodeId = this.#nodeOf(poll.requests);
    if (nodeId === undefined) return false;
    this.#pollCount += 1;
    const id = String(this.#pollCount);
    this.#waiting.set(id, {
      nodeId,
      requests: poll.requests,
      responder,
      parts: [],
      unknownCount: 0,
      sinceTick: this.#ticks,
    });
    responder.onAborted(() => {
      if (this.#waiting.delete(id)) this.#options.messages.send(nodeId, SUBJECT.gone, Buffer.from(id));
    });
    void this.#ask(id, nodeId, poll);
    return true;
  }

  close(): void {
    clearInterval(this.#ticker);
    for (const [id, { nodeId }] of this.#waiting) {
      this.#options.messages.send(nodeId, SUBJECT.gone, Buffer.from(id));
      this.#answerWaiting(id, STOPPING);
    }
  }

  /**
   * @returns the other node that has the session of all these messages. A handshake begins one here, whatever else its
   * request names.
   */
  #nodeOf(requests: readonly Request[]): string | undefined {
    if (requests.some(({ channel }) => channel === '/meta/handshake')) return undefined;
    const ends = new Set(requests.map(({ clientId }) => textOf(clientId).slice(-this.clientIdEnd.length)));
    const [end] = ends;
    if (ends.size !== 1 || end === '' || end === this.clientIdEnd) return undefined;
    if (!this.#ends.has(end)) this.#lookAtMembers();
    return this.#ends.get(end);
  }

  /** @returns the members; undefined while they are unknown. */
  #lookAtMembers(): Set<string> | undefined {
    const { messages, leases } = this.#options;
    if (!messages.isConnected || this.#ticks < this.#settledAtTick) return undefined;
    const members = new Set(leases.members.map(({ nodeId }) => nodeId));
    this.#ends = new Map(Array.from(members, (nodeId) => [nodeEnd(nodeId), nodeId]));
    return members;
  }

  async #ask(id: string, nodeId: string, { text, requester }: LongPollRequest): Promise<void> {
    try {
      await this.#options.messages.request(
        nodeId,
        SUBJECT.poll,
        Buffer.from(`${id}\n${JSON.stringify(askerOf(requester))}\n${text}`),
        TIMEOUT_MS,
      );
    } catch (error) {
      this.#options.refusals.count(LIMIT.relay, {
        tenant: requester.principal?.tenant,
        user: requester.principal?.userName,
      });
      this.#options.log.warn(
        { node: nodeId, error: (error as Error).message, limit: LIMIT.relay },
        'the node of a Bayeux session cannot be asked',
      );
      // It may have arrived all the same: its answer is not needed.
      this.#options.messages.send(nodeId, SUBJECT.gone, Buffer.from(id));
      this.#answerWaiting(id, AWAY);
    }
  }

  /** A word of the session's node about a poll that waits here. @returns whether it still does. */
  #answered(payload: Buffer, from: string): Buffer {
    const kind = payload[0] as Kind;
    const end = payload.indexOf('\n');
    const id = payload.subarray(1, end).toString();
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || waiting.nodeId !== from) return GONE;
    if (kind === KIND.blank) {
      waiting.responder.sendBlank();
    } else if (kind === KIND.lost) {
      this.#answerWaiting(id, AWAY);
    } else if (kind !== KIND.probe) {
      waiting.parts.push(payload.subarray(end + 1));
      if (kind === KIND.last) {
        this.#waiting.delete(id);
        waiting.responder.send(Buffer.concat(waiting.parts).toString());
      }
    }
    return KNOWN;
  }

  #answerWaiting(id: string, answer: Answer): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.responder.send(`[${waiting.requests.map((request) => answerText(request, answer)).join(',')}]`);
  }

  /** A poll of another node's client. */
  #take(payload: Buffer, from: string, answerer: LongPollAnswerer): Uint8Array {
    const [idEnd, askerEnd] = [payload.indexOf('\n'), payload.indexOf('\n', payload.indexOf('\n') + 1)];
    const id = payload.subarray(0, idEnd).toString();
    const asker = JSON.parse(payload.subarray(idEnd + 1, askerEnd).toString()) as Asker;
    const key = keyOf(from, id);
    const poll = new RelayedPoll(from, {
      tell: (kind, bytes) => this.#tell(from, id, kind, bytes),
      onEnded: () => this.#answering.delete(key),
      onLost: (limit, reason) => {
        this.#options.refusals.count(limit, UNATTRIBUTED);
        this.#options.log.warn(
          { node: from, limit, reason },
          'the answer to a long poll did not reach the node of its client',
        );
      },
      reserve: (bytes) => this.#reserve(bytes),
    });
    this.#answering.set(key, poll);
    try {
      answerer(payload.subarray(askerEnd + 1).toString(), requesterOf(asker), poll);
    } catch (error) {
      this.#answering.delete(key);
      throw error;
    }
    return KNOWN;
  }

  /** @returns whether the client still waits. @throws NodeUnreachable */
  async #tell(nodeId: string, id: string, kind: Kind, bytes: Uint8Array): Promise<boolean> {
    const head = Buffer.from(`\0${id}\n`);
    head[0] = kind;
    const reply = await this.#options.messages.request(
      nodeId,
      SUBJECT.answer,
      Buffer.concat([head, bytes]),
      TIMEOUT_MS,
    );
    return GONE.compare(reply) !== 0;
  }

  /** @returns false without room; negative bytes are given back. */
  #reserve(bytes: number): boolean {
    if (bytes > 0 && this.#bytesUnderWay > 0 && this.#bytesUnderWay + bytes > ANSWER_BYTES_MAX) return false;
    this.#bytesUnderWay += bytes;
    return true;
  }

  /** What nodes that have gone held or waited for. */
  #tick(): void {
    this.#ticks += 1;
    const members = this.#lookAtMembers();
    if (members === undefined) return;
    for (const [id, { nodeId }] of this.#waiting) if (!members.has(nodeId)) this.#answerWaiting(id, UNKNOWN_CLIENT);
    for (const poll of this.#answering.values()) if (!members.has(poll.from)) poll.abort();
    if (this.#ticks % CHECK_TICKS === 0) this.#check();
  }

  /** A node that could not reach this one has given polls up, and cannot have said so. */
  #check(): void {
    const byNode = new Map<string, string[]>();
    for (const [id, { nodeId, sinceTick }] of this.#waiting) {
      if (this.#ticks - sinceTick < CHECK_TICKS) continue;
      const ids = byNode.get(nodeId);
      if (ids) ids.push(id);
      else byNode.set(nodeId, [id]);
    }
    for (const [nodeId, ids] of byNode) {
      this.#options.messages.request(nodeId, SUBJECT.check, Buffer.from(JSON.stringify(ids)), TIMEOUT_MS).then(
        (answer) => {
          const unknown = new Set(JSON.parse(Buffer.from(answer).toString()) as string[]);
          for (const id of ids) this.#checked(id, !unknown.has(id));
        },
        (error: Error) =>
          this.#options.log.debug(
            { node: nodeId, error: error.message },
            'the node of Bayeux sessions was not asked for their polls',
          ),
      );
    }
  }

  /** Once may be an answer that is on its way. */
  #checked(id: string, isKnown: boolean): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    waiting.unknownCount = isKnown ? 0 : waiting.unknownCount + 1;
    if (waiting.unknownCount === 2) this.#answerWaiting(id, AWAY);
  }

  /** Answers may have been lost: clients ask again. Those who waited on other nodes may have gone. */
  #reconnected(): void {
    this.#settledAtTick = this.#ticks + SETTLE_TICKS;
    for (const [id, { nodeId }] of this.#waiting) {
      this.#options.messages.send(nodeId, SUBJECT.gone, Buffer.from(id));
      this.#answerWaiting(id, AWAY);
    }
    for (const poll of this.#answering.values()) poll.probe();
  }
}

interface RelayedPollEvents {
  tell(kind: Kind, bytes: Uint8Array): Promise<boolean>;
  /** The last word was said or cannot be said. */
  onEnded(): void;
  onLost(limit: string, reason: string): void;
  reserve(bytes: number): boolean;
}

/** The way to a client of another node: what is said goes there one after the other. */
class RelayedPoll implements LongPollResponder {
  readonly from: string;
  readonly #events: RelayedPollEvents;
  #onAborted: () => void = () => undefined;
  #tail: Promise<void> = Promise.resolve();
  #isEnded = false;
  #isAnswered = false;

  constructor(from: string, events: RelayedPollEvents) {
    this.from = from;
    this.#events = events;
  }

  onAborted(callback: () => void): void {
    this.#onAborted = callback;
  }

  sendBlank(): void {
    this.#say(KIND.blank);
  }

  /** Asks whether the client still waits. */
  probe(): void {
    this.#say(KIND.probe);
  }

  send(text: string): void {
    if (this.#isEnded) return;
    this.#isAnswered = true;
    const bytes = Buffer.from(text);
    if (!this.#events.reserve(bytes.length)) {
      this.#events.onLost(LIMIT.bytes, `${ANSWER_BYTES_MAX} bytes are on the way to other nodes`);
      this.#say(KIND.lost);
      this.#tail = this.#tail.then(() => this.#end());
      return;
    }
    for (let at = 0; at < bytes.length; at += PART_BYTES) {
      this.#say(at + PART_BYTES < bytes.length ? KIND.part : KIND.last, bytes.subarray(at, at + PART_BYTES));
    }
    this.#tail = this.#tail.then(() => {
      this.#events.reserve(-bytes.length);
      this.#end();
    });
  }

  /** The client has gone, or nothing can reach it. */
  abort(): void {
    if (this.#isEnded) return;
    this.#end();
    if (!this.#isAnswered) this.#onAborted();
  }

  #say(kind: Kind, bytes: Uint8Array = new Uint8Array()): void {
    this.#tail = this.#tail.then(async () => {
      if (this.#isEnded) return;
      try {
        if (!(await this.#events.tell(kind, bytes))) this.#lost('the client has gone');
      } catch (error) {
        this.#lost((error as Error).message);
      }
    });
  }

  #lost(reason: string): void {
    if (this.#isAnswered && !this.#isEnded) this.#events.onLost(LIMIT.relay, reason);
    this.abort();
  }

  #end(): void {
    this.#isEnded = true;
    this.#events.onEnded();
  }
}

const keyOf = (nodeId: string, id: string): string => `${nodeId} ${id}`;

function askerOf({ principal, ofCookie, host, userAgent }: Requester): Asker {
  const of = ({ tenant, tenantNumber, userName }: Principal): NonNullable<Asker['principal']> => ({
    tenant,
    tenantNumber,
    userName,
  });
  return {
    ...(principal === undefined ? {} : { principal: of(principal) }),
    ...(ofCookie?.session === undefined ? {} : { ofCookie: { ...of(ofCookie), session: ofCookie.session } }),
    ...(host === undefined ? {} : { host }),
    ...(userAgent === undefined ? {} : { userAgent }),
  };
}

/** The URL's form matters to a handshake alone, which is never handed on. */
function requesterOf({ principal, ofCookie, host, userAgent }: Asker): Requester {
  return {
    urlForm: BAYEUX_URLS['/notification/realtime'],
    principal: principal === undefined ? undefined : { ...principal, roles: new Set() },
    ofCookie: ofCookie === undefined ? undefined : { ...ofCookie, roles: new Set() },
    ...(host === undefined ? {} : { host }),
    ...(userAgent === undefined ? {} : { userAgent }),
  };
}
