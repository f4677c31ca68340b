/**
 * Durable state of an MQTT session (issue: sessions survive a restart, QoS 2 is exactly once). The actor's key is the
 * session.
 */
import { textKeyIn } from '../../../ingest/journal/command-record.ts';
import { COMMAND } from '../../../model/commands/kinds.ts';
import type {
  SessionExpire,
  SessionItem,
  SessionMessage,
  SessionMessageRemove,
  SessionReceipts,
  SessionRelease,
  SessionRemove,
  SessionSave,
  SessionShard,
} from '../../../model/commands/sessions.ts';
import { PlatformError } from '../../../model/errors.ts';
import { isSessionOver } from '../../../model/sessions/expiry.ts';
import { changedMarks } from '../../../model/sessions/marks.ts';
import type { ActorContext } from '../../runtime/context.ts';

/** As stored in the collection `session`; messages are in `sessionMessage` under `<session>\n<id, 16 digits>`. */
export interface SessionState {
  readonly subscriptions: readonly (readonly [string, 0 | 1 | 2])[];
  readonly expirySeconds: number;
  readonly disconnectedAt: number;
  readonly received: readonly number[];
  /** Whose memory the session is in, or was in last (mqtt/sessions/registry.ts). */
  readonly holder?: string;
  /** The first holder: receipts of holders before it are of an earlier session under the key. */
  readonly since?: string;
  /** Shards in which there may be receipts of QoS 2 messages (receipts.ts). */
  readonly receivesIn?: readonly number[];
  /** Marks of messages that the client has acknowledged, the oldest first (model/sessions/marks.ts). */
  readonly acknowledged?: readonly string[];
}

export const messageKey = (session: string, id: number): string => `${session}\n${String(id).padStart(16, '0')}`;

const NEW: SessionState = { subscriptions: [], expirySeconds: 0, disconnectedAt: 0, received: [] };

function load(context: ActorContext, session: string): SessionState {
  const text = context.get('session', session);
  return text === undefined ? NEW : (JSON.parse(text) as SessionState);
}

function save(context: ActorContext, session: string, state: SessionState): void {
  context.put('session', session, JSON.stringify(state));
}

/**
 * A node that was taken for dead may have a session in memory that has gone on at another one: what it says of it
 * changes nothing.
 */
const isHeldBy = (state: SessionState, { holder, after = holder }: { holder?: string; after?: string }): boolean =>
  holder === undefined || state.holder === holder || (state.holder ?? '') === after;

function stateFor(context: ActorContext, body: { session: string; holder?: string; after?: string }): SessionState {
  const state = load(context, body.session);
  if (!isHeldBy(state, body)) throw new PlatformError('mqtt/session-elsewhere', { session: body.session });
  return state;
}

export function saveSession(context: ActorContext, body: SessionSave): undefined {
  const { session, subscriptions, expirySeconds, disconnectedAt, holder } = body;
  const state = stateFor(context, body);
  save(context, session, {
    ...state,
    subscriptions,
    expirySeconds,
    disconnectedAt,
    ...(holder === undefined ? {} : { holder, since: state.since ?? holder }),
  });
  return undefined;
}

export function removeSession(context: ActorContext, body: SessionRemove): undefined {
  const text = context.get('session', body.session);
  if (text === undefined) return undefined;
  const state = stateFor(context, body);
  removeReceiptsOf(context, state, { session: body.session, holder: state.holder });
  context.remove('session', body.session);
  const length = messageKey(body.session, 0).length;
  for (const entry of context.list('sessionMessage', `${body.session}\n`)) {
    // Longer ones are of a session whose name goes on behind the line feed.
    if (entry.id.length === length) context.remove('sessionMessage', entry.id);
  }
  return undefined;
}

/** Of a session without a connection. */
export function expireSession(context: ActorContext, body: SessionExpire): { isRemoved: boolean } {
  const text = context.get('session', body.session);
  if (text === undefined) return { isRemoved: false };
  const stored = JSON.parse(text) as SessionState;
  if (stored.holder !== body.holder) return { isRemoved: false };
  const state = stored.disconnectedAt === 0 ? { ...stored, disconnectedAt: body.lostAt } : stored;
  const isRemoved = isSessionOver(state, context.command.receivedAt);
  if (isRemoved) removeSession(context, { session: body.session });
  else if (state !== stored) save(context, body.session, state);
  return { isRemoved };
}

export function addSessionMessage(context: ActorContext, body: SessionMessage): undefined {
  if (body.holder !== undefined) stateFor(context, body);
  const { topic, payload, qos, isReleased, mark } = body;
  context.put(
    'sessionMessage',
    messageKey(body.session, body.id),
    JSON.stringify({ topic, payload, qos, isReleased, mark }),
  );
  return undefined;
}

export function removeSessionMessage(context: ActorContext, body: SessionMessageRemove): undefined {
  if (body.holder !== undefined) stateFor(context, body);
  context.remove('sessionMessage', messageKey(body.session, body.id));
  const text = body.marks === undefined ? undefined : context.get('session', body.session);
  // A session that has ended stays so.
  if (text === undefined) return undefined;
  const state = JSON.parse(text) as SessionState;
  save(context, body.session, { ...state, acknowledged: changedMarks(state.acknowledged ?? [], body.marks!) });
  return undefined;
}

/** A QoS 2 message was received: in the same group as the message itself, so both are durable or neither. */
export function receivePacket(context: ActorContext, body: SessionItem): undefined {
  const state = load(context, body.session);
  if (!state.received.includes(body.id))
    save(context, body.session, { ...state, received: [...state.received, body.id] });
  return undefined;
}

export function releasePacket(context: ActorContext, body: SessionRelease): undefined {
  const state = stateFor(context, body);
  if (state.received.includes(body.id))
    save(context, body.session, { ...state, received: state.received.filter((id) => id !== body.id) });
  removeReceiptsOf(
    context,
    { ...state, receivesIn: body.shards ?? state.receivesIn ?? [] },
    { session: body.session, id: body.id, holder: body.holder },
  );
  return undefined;
}

/** Before the session's first QoS 2 message that is of another shard. */
export function noteReceivingShard(context: ActorContext, body: SessionShard): undefined {
  const state = stateFor(context, body);
  const { receivesIn = [] } = state;
  if (!receivesIn.includes(body.shard))
    save(context, body.session, { ...state, receivesIn: [...receivesIn, body.shard] });
  return undefined;
}

/** The answer to the command comes when they are gone: PUBCOMP allows the client to use the packet id again. */
function removeReceiptsOf(context: ActorContext, { receivesIn = [] }: SessionState, body: SessionReceipts): void {
  for (const shard of receivesIn)
    context.send({ kind: COMMAND.SESSION_RECEIPTS_REMOVE, key: textKeyIn(context.command.tenant, shard), body });
}
