/**
 * Consumers of Notifications 2.0 that are connected to another node than their topic's home: this node has the socket,
 * the home has everything else. Messages between them may get lost: frames are sent again when they are not
 * acknowledged, and each side looks after the other's connections every two seconds.
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import type { PlatformError } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { shortenedFrame } from '../../realtime/notifications/message.ts';
import { MESSAGE_BYTES } from '../../realtime/notifications/parts.ts';
import { CLOSE } from '../../realtime/notifications/hub.ts';
import type { ConsumerIdentity, NotificationHub } from '../../realtime/notifications/hub.ts';
import type { ConsumerChannel, ConsumerSocket } from '../../realtime/notifications/consumer.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';
import type { TopicRelay } from './topic-relay.ts';

const OPEN = 'consumers.open';
const UNSUBSCRIBE = 'consumers.unsubscribe';
const ALIVE = 'consumers.alive';
/** Of one connection: `<kind>\n<id>\n<text>`. */
const TO_HOME = 'consumers.home';
const TO_EDGE = 'consumers.edge';
const REQUEST_TIMEOUT_MS = 5_000;
const LOOK_MS = 2_000;
/** A connection whose node says nothing of it for five looks has ended. */
const SILENT_LOOKS = 5;
/** Status of a bound. */
const UNAVAILABLE = 503;

type Kind = 'text' | 'blocked' | 'drained' | 'closed' | 'frame' | 'end';

/** A socket of this node, of a topic that has another home. */
interface Edge {
  readonly home: string;
  readonly identity: ConsumerIdentity;
  readonly channel: ConsumerChannel;
  /** The client takes no frames now. */
  isBlocked: boolean;
}

/** What a node has of the topics of another one; `blocked` are some of `ids`. */
interface AliveEdges {
  readonly ids: readonly string[];
  readonly blocked: readonly string[];
}

/** A connection that another node has the socket of. */
interface Remote {
  readonly node: string;
  readonly socket: ConsumerSocket;
  isBlocked: boolean;
  silentLooks: number;
}

interface OpenRequest {
  readonly id: string;
  readonly identity: ConsumerIdentity;
  readonly baseUrl: string;
}

export interface ConsumerRelayOptions {
  readonly messages: NodeMessages;
  readonly topics: Pick<TopicRelay, 'homeOf' | 'isHome'>;
  readonly hub: Pick<NotificationHub, 'refusal' | 'open' | 'unsubscribe'>;
  readonly refusals: Refusals;
  readonly log: Log;
  /** Between two looks at the connections. Default 2,000. */
  readonly lookMs?: number;
}

export class ConsumerRelay {
  readonly #options: ConsumerRelayOptions;
  readonly #edges = new Map<string, Edge>();
  /** By `<node>/<id>`. */
  readonly #remotes = new Map<string, Remote>();
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(options: ConsumerRelayOptions) {
    this.#options = options;
    const { messages } = options;
    messages.answer(OPEN, (payload, from) => this.#opened(JSON.parse(textOf(payload)) as OpenRequest, from));
    messages.answer(UNSUBSCRIBE, async (payload) => {
      const { tenant, topic, subscriber } = JSON.parse(textOf(payload)) as ConsumerIdentity;
      return Uint8Array.of(Number(await options.hub.unsubscribe({ tenant, topic }, subscriber)));
    });
    messages.listen(TO_HOME, (payload, from) => this.#toHome(parse(payload), from));
    messages.listen(TO_EDGE, (payload, from) => this.#toEdge(parse(payload), from));
    messages.listen(ALIVE, (payload, from) => this.#alive(JSON.parse(textOf(payload)) as AliveEdges, from));
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), this.#options.lookMs ?? LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const { channel } of [...this.#edges.values()]) channel.end(CLOSE.GOING_AWAY, 'the server is stopping');
  }

  /** Sockets of this node whose topics have another home, and the other way round. */
  get counts(): { readonly edges: number; readonly remotes: number } {
    return { edges: this.#edges.size, remotes: this.#remotes.size };
  }

  /** What another home says against it, it says once the socket is open. */
  refusal(identity: ConsumerIdentity): PlatformError | undefined {
    return this.#options.topics.isHome(identity) ? this.#options.hub.refusal(identity) : undefined;
  }

  open(identity: ConsumerIdentity, channel: ConsumerChannel, baseUrl: string): ConsumerSocket {
    const { messages, topics, hub } = this.#options;
    const home = topics.homeOf(identity);
    if (home === messages.nodeId) return hub.open(identity, channel, baseUrl);
    this.#count += 1;
    const id = String(this.#count);
    if (home === undefined) {
      channel.end(CLOSE.TRY_AGAIN, 'no node serves the topic now: try again');
      return { message: () => undefined, drained: () => undefined, closed: () => undefined };
    }
    const edge: Edge = { home, identity, channel, isBlocked: false };
    this.#edges.set(id, edge);
    const request: OpenRequest = { id, identity, baseUrl };
    messages.request(home, OPEN, Buffer.from(JSON.stringify(request)), REQUEST_TIMEOUT_MS).then(
      (answer) => {
        if (answer.length > 0) end(channel, textOf(answer));
      },
      (error: Error) => {
        this.#options.log.debug({ home, error: error.message }, 'the home of a topic has not answered');
        channel.end(CLOSE.TRY_AGAIN, 'the node that serves the topic has not answered: try again');
      },
    );
    const send = (kind: Kind, text = ''): void => messages.send(home, TO_HOME, framed(kind, id, text));
    return {
      message: (text) => send('text', text),
      drained: () => {
        edge.isBlocked = false;
        send('drained');
      },
      closed: () => {
        if (this.#edges.delete(id)) send('closed');
      },
    };
  }

  /** Rejects when the home of the topic does not answer. @returns whether there was such a subscriber. */
  async unsubscribe(identity: Pick<ConsumerIdentity, 'tenant' | 'topic' | 'subscriber'>): Promise<boolean> {
    const { messages, topics, hub } = this.#options;
    const home = topics.homeOf(identity);
    if (home === undefined || home === messages.nodeId) return hub.unsubscribe(identity, identity.subscriber);
    const payload = Buffer.from(JSON.stringify(identity));
    const [removed] = await messages.request(home, UNSUBSCRIBE, payload, REQUEST_TIMEOUT_MS);
    // A node of an earlier version says nothing.
    return removed !== 0;
  }

  /** @returns the code and the reason for which it is ended; nothing when it is open. */
  #opened({ id, identity, baseUrl }: OpenRequest, node: string): Uint8Array {
    const { messages, topics, hub } = this.#options;
    if (!topics.isHome(identity))
      return Buffer.from(endText(CLOSE.TRY_AGAIN, 'another node serves the topic now: try again'));
    const refusal = hub.refusal(identity);
    if (refusal !== undefined)
      return Buffer.from(endText(refusal.status === UNAVAILABLE ? CLOSE.TRY_AGAIN : CLOSE.POLICY, refusal.message));
    const key = `${node}/${id}`;
    const ended = (): void => {
      const remote = this.#remotes.get(key);
      this.#remotes.delete(key);
      remote?.socket.closed();
    };
    const channel: ConsumerChannel = {
      send: (text) => {
        this.#sendFrame(node, id, text);
        return this.#remotes.get(key)?.isBlocked !== true;
      },
      // NATS gathers by itself.
      cork: (callback) => callback(),
      end: (code, reason) => {
        messages.send(node, TO_EDGE, framed('end', id, endText(code, reason)));
        // As a socket does: after the caller has come to an end.
        queueMicrotask(ended);
      },
    };
    this.#remotes.set(key, { node, socket: hub.open(identity, channel, baseUrl), isBlocked: false, silentLooks: 0 });
    return new Uint8Array();
  }

  /** Its links have become longer on the way from the store: a message that does not fit any more is shortened. */
  #sendFrame(node: string, id: string, text: string): void {
    const { messages, refusals, log } = this.#options;
    let payload = framed('frame', id, text);
    if (payload.length > messages.payloadBytesMax) {
      refusals.count(MESSAGE_BYTES, UNATTRIBUTED);
      payload = framed('frame', id, shortenedFrame(text));
    }
    try {
      messages.send(node, TO_EDGE, payload);
    } catch (error) {
      log.warn(
        { node, error: String(error), bytes: payload.length },
        'a frame could not be sent to a consumer: it is sent again',
      );
    }
  }

  #toHome({ kind, id, text }: Parsed, node: string): void {
    const key = `${node}/${id}`;
    const remote = this.#remotes.get(key);
    if (remote === undefined) return;
    if (kind === 'text') remote.socket.message(text);
    else if (kind === 'blocked') remote.isBlocked = true;
    else if (kind === 'drained') drained(remote);
    else if (kind === 'closed') {
      this.#remotes.delete(key);
      remote.socket.closed();
    }
  }

  #toEdge({ kind, id, text }: Parsed, home: string): void {
    const edge = this.#edges.get(id);
    if (edge?.home !== home) return;
    if (kind === 'frame') {
      if (edge.channel.send(text)) return;
      edge.isBlocked = true;
      this.#options.messages.send(home, TO_HOME, framed('blocked', id, ''));
    } else if (kind === 'end') end(edge.channel, text);
  }

  /**
   * The node has these connections; what it has and this one does not know is ended. What was told of a connection that
   * takes frames again may have been lost.
   */
  #alive({ ids, blocked }: AliveEdges, node: string): void {
    const open = new Set(ids);
    for (const [key, remote] of this.#remotes) {
      const id = key.slice(node.length + 1);
      if (remote.node !== node || !open.delete(id)) continue;
      remote.silentLooks = 0;
      if (remote.isBlocked && !blocked.includes(id)) drained(remote);
    }
    for (const id of open)
      this.#options.messages.send(
        node,
        TO_EDGE,
        framed('end', id, endText(CLOSE.RESTART, 'the connection is not known: try again')),
      );
  }

  #look(): void {
    const byHome = new Map<string, { readonly ids: string[]; readonly blocked: string[] }>();
    for (const [id, { home, identity, channel, isBlocked }] of [...this.#edges]) {
      if (this.#options.topics.homeOf(identity) !== home) {
        channel.end(CLOSE.RESTART, 'another node serves the topic now: connect again');
        continue;
      }
      const edges = byHome.get(home) ?? { ids: [], blocked: [] };
      byHome.set(home, edges);
      edges.ids.push(id);
      if (isBlocked) edges.blocked.push(id);
    }
    for (const [home, edges] of byHome) this.#options.messages.send(home, ALIVE, Buffer.from(JSON.stringify(edges)));
    for (const [key, remote] of [...this.#remotes]) {
      remote.silentLooks += 1;
      if (remote.silentLooks <= SILENT_LOOKS) continue;
      this.#remotes.delete(key);
      remote.socket.closed();
    }
  }
}

function drained(remote: Remote): void {
  remote.isBlocked = false;
  remote.socket.drained();
}

const endText = (code: number, reason: string): string => `${code} ${reason}`;

/** @param text of `endText`; the home of an earlier version refuses with the reason alone. */
function end(channel: ConsumerChannel, text: string): void {
  const blank = text.indexOf(' ');
  const code = Number(text.slice(0, blank));
  if (Number.isNaN(code)) channel.end(CLOSE.POLICY, text);
  else channel.end(code, text.slice(blank + 1));
}

interface Parsed {
  readonly kind: string;
  readonly id: string;
  readonly text: string;
}

const textOf = (payload: Uint8Array): string => Buffer.from(payload).toString();
const framed = (kind: Kind, id: string, text: string): Uint8Array => Buffer.from(`${kind}\n${id}\n${text}`);

function parse(payload: Uint8Array): Parsed {
  const text = textOf(payload);
  const [one, two] = [text.indexOf('\n'), text.indexOf('\n', text.indexOf('\n') + 1)];
  return { kind: text.slice(0, one), id: text.slice(one + 1, two), text: text.slice(two + 1) };
}
