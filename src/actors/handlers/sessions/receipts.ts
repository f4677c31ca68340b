/**
 * Receipts: in a cluster a QoS 2 message may be of another shard than its session. That it was received is stored in
 * the group of the message, so that both are there or neither, whatever is killed; the session knows in which shards to
 * look (`SessionState.receivesIn`, docs/internals/cluster.md). Kept in `meta`, which each shard has of its own, under
 * `received/<session>\n<packet id, 5 digits>/<part, 4 digits>`; `receiver/<session>` is the last reader: what a
 * former holder of the session stores after that (it was cut off, or stood still) does not count as a receipt, or a new
 * message under the same packet id would be taken for received.
 */
import type { SessionReceipt, SessionReceipts, StoredReceipt } from '../../../model/commands/sessions.ts';
import { isFormerHolder } from '../../../model/sessions/holder.ts';
import type { ActorContext } from '../../runtime/context.ts';

const ID_DIGITS = 5;
const PART_DIGITS = 4;

const prefixOf = (session: string): string => `received/${session}\n`;
const receiverOf = (session: string): string => `receiver/${session}`;
const packetText = (id: number): string => String(id).padStart(ID_DIGITS, '0');

export function putReceipt(
  context: ActorContext,
  { session, id, part, parts, holder = '' }: SessionReceipt,
): undefined {
  if (isFormerHolder(holder, context.get('meta', receiverOf(session)) ?? '')) return undefined;
  context.put(
    'meta',
    `${prefixOf(session)}${packetText(id)}/${String(part).padStart(PART_DIGITS, '0')}`,
    `${parts} ${holder}`,
  );
  return undefined;
}

export function listReceipts(context: ActorContext, { session, holder = '' }: SessionReceipts): StoredReceipt[] {
  if (isFormerHolder(context.get('meta', receiverOf(session)) ?? '', holder))
    context.put('meta', receiverOf(session), holder);
  return entriesOf(context, session, '').map(({ id, value }) => {
    const [packet, part] = id.slice(prefixOf(session).length).split('/');
    const [parts, of = ''] = value.split(' ');
    return { id: Number(packet), part: Number(part), parts: Number(parts), holder: of };
  });
}

/** `holder` has ended them, or the session: what a later one has stored since stays. */
export function removeReceipts(context: ActorContext, { session, id, holder }: SessionReceipts): undefined {
  const isLater = (other: string): boolean => holder !== undefined && isFormerHolder(holder, other);
  for (const entry of entriesOf(context, session, id === undefined ? '' : `${packetText(id)}/`)) {
    if (!isLater(entry.value.split(' ')[1] ?? '')) context.remove('meta', entry.id);
  }
  if (id === undefined) context.remove('meta', receiverOf(session));
  return undefined;
}

function entriesOf(context: ActorContext, session: string, rest: string): { id: string; value: string }[] {
  const prefix = prefixOf(session);
  const length = prefix.length + ID_DIGITS + 1 + PART_DIGITS;
  // Longer ones are of a session whose name goes on behind the line feed.
  return context.list('meta', prefix + rest).filter((entry) => entry.id.length === length);
}
