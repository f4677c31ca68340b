/** That a QoS 2 message was received is stored together with its records: what is written for it. */
import { COMMAND } from '../../model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { encodeCommand, textKeyIn } from './command-record.ts';

/** A QoS 2 message of a session that outlives its connection (MQTT 3.1.1 section 4.3.3). */
export interface ReceivedPacket {
  readonly tenant: number;
  /** Key of the MQTT session. */
  readonly session: string;
  /** The holder of the session. */
  readonly holder?: string | undefined;
  /** Packet identifier. */
  readonly id: number;
  readonly receivedAt: number;
  /** Parts of it that are stored already: a gateway ended before it had stored all (`partName`). */
  readonly stored?: ReadonlySet<string> | undefined;
}

export const partName = (shard: number, part: number): string => `${shard}/${part}`;

/** Of the session's actor, where all records are in one group. */
export const receivedRecord = ({ tenant, session, id, receivedAt }: ReceivedPacket): Buffer =>
  encodeCommand({
    kind: COMMAND.SESSION_RECEIVE,
    tenant,
    key: `s:${session}`,
    mode: PROCESSING_MODE.PERSISTENT,
    receivedAt,
    body: { session, id },
  });

/** Of the shard that part `part` of the message is of; the message has `parts` over all shards. */
export function receiptRecord(
  { tenant, session, holder, id, receivedAt }: ReceivedPacket,
  shard: number,
  part: number,
  parts: number,
): Buffer {
  const body = { session, holder, id, part, parts };
  return encodeCommand({
    kind: COMMAND.SESSION_RECEIPT,
    tenant,
    key: textKeyIn(tenant, shard),
    mode: PROCESSING_MODE.PERSISTENT,
    receivedAt,
    body,
  });
}
