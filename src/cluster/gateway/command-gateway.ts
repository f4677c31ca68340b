/**
 * Sends JSON commands through the cluster's journal and waits for the answers, which the owners of their shards send to
 * this node. An answer is matched by shard and sequence; one that overtakes the journal's acknowledgement is kept until
 * that comes.
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import { encodeCommand } from '../../ingest/journal/command-record.ts';
import { REQUESTS_MAX, UNDER_WAY } from '../../ingest/journal/command-bus.ts';
import type { DeviceCommands, OfferedRecord } from '../../ingest/journal/command-bus.ts';
import { partName, receiptRecord } from '../../ingest/journal/received-packet.ts';
import type { ReceivedPacket } from '../../ingest/journal/received-packet.ts';
import type { AcknowledgementSink } from '../../ingest/journal/record-intake.ts';
import type { Command } from '../../model/commands/command.ts';
import { ERRORS, PlatformError, limitText, refusedBy } from '../../model/errors.ts';
import type { ErrorCode } from '../../model/errors.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { Shares } from '../../pacing/shares.ts';
import type { GatewayJournal, ShardRecords } from './journal.ts';
import { GROUP_BYTES_MAX } from '../../model/commands/group-bounds.ts';
import { GROUP_RECORDS_MAX } from '../../ports/cluster/journal.ts';

/** Answers that came before their acknowledgement. A plain map holds them: each command of a cluster may add one. */
const EARLY_MAX = 20_000;
const EARLY_AGE_MAX_MS = 10_000;
const SWEEP_MS = 500;
/** An answer that has not come after this time may be lost, with its owner or on the way: the owner is asked. */
const LATE_MS = 2_000;
/** At a time. */
const ASKED_MAX = 1_000;
/** The answer may be on its way when an owner says for the first time that the command is over. */
const OVER_COUNT = 2;
/**
 * Room that a part leaves for its receipt: keys of sessions are bounded by what the stores take, and JSON may escape
 * all of it.
 */
const RECEIPT_BYTES_MAX = 16_384;

/** One outcome on its way to the gateway. */
export interface CommandAnswer {
  readonly seq: number;
  readonly answer?: unknown;
  readonly error?: { readonly code: ErrorCode; readonly details: Readonly<Record<string, string | number>> };
}

type Reply = NonNullable<OfferedRecord['onAnswer']>;
interface Expected {
  readonly shard: number;
  readonly seq: number;
  readonly reply: Reply;
  readonly storedAt: number;
  /** How often its owner has said that the command is over. */
  overCount: number;
}
interface Early {
  readonly shard: number;
  readonly answer: CommandAnswer;
  readonly deadline: number;
}

export interface CommandGatewayOptions {
  readonly intake: GatewayJournal;
  readonly refusals: Refusals;
  /** Requests under way at once. Default 20,000. */
  readonly requestsMax?: number;
  /** A name of what keeps commands from being answered, beside the journal's. */
  readonly refusal?: () => string | undefined;
  /** A command that was stored and has no answer after this time gets the error `commands/answer-timeout`. */
  readonly answerTimeoutMs: number;
  /**
   * Of commands that wait for their answers: those that are over, as the owner of the shard says. Rejects when it
   * cannot be asked.
   */
  readonly overOf?: (shard: number, seqs: readonly number[]) => Promise<readonly number[]>;
  /** Milliseconds, growing. */
  readonly now?: () => number;
}

const SILENT: AcknowledgementSink = {
  durable() {
    /* The answer comes from the actor, after its state is committed. */
  },
  flushDurable() {
    /* Nothing is written here. */
  },
  failed() {
    /* Told by its own sink. */
  },
};

export class CommandGateway implements DeviceCommands {
  readonly #intake: GatewayJournal;
  readonly #refusals: Refusals;
  readonly #refusal: (() => string | undefined) | undefined;
  readonly #answerTimeoutMs: number;
  readonly #now: () => number;
  /** By shard and sequence, both in the order of their deadlines. */
  readonly #expected = new Map<string, Expected>();
  readonly #early = new Map<string, Early>();
  readonly #timer: NodeJS.Timeout;
  /** Shards whose owners are being asked for answers that are late. */
  readonly #asking = new Set<number>();
  readonly #overOf: CommandGatewayOptions['overOf'];
  /** Of this node. */
  readonly #underWay: Shares;

  constructor(options: CommandGatewayOptions) {
    this.#overOf = options.overOf;
    this.#underWay = new Shares(UNDER_WAY, options.requestsMax ?? REQUESTS_MAX);
    this.#intake = options.intake;
    this.#refusals = options.refusals;
    this.#refusal = options.refusal;
    this.#answerTimeoutMs = options.answerTimeoutMs;
    this.#now = options.now ?? (() => performance.now());
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS);
    this.#timer.unref();
  }

  get underWayCount(): number {
    return this.#underWay.used;
  }
  get earlyCount(): number {
    return this.#early.size;
  }

  async request<Answer>(command: Command): Promise<Answer> {
    const limit =
      this.#intake.refusal ?? this.#refusal?.() ?? this.#underWay.refusal(command.tenant, command.user ?? '');
    if (limit !== undefined) throw this.#busy(limit, command);
    return this.requestBeyondBound<Answer>(command);
  }

  /** As `request`, for commands of the projector and follow-ups, which the journal's bound does not refuse. */
  async requestBeyondBound<Answer>(command: Command): Promise<Answer> {
    if (this.#underWay.used >= this.#underWay.maximum) throw this.#busy(UNDER_WAY, command);
    return this.#request<Answer>(encodeCommand(command), command.tenant, command.user);
  }

  /**
   * A follow-up: resolves when its actor has handled it, whatever it decided. Rejects when the outcome is unknown; it is sent
   * again then. Refused by no limit: the state has it.
   */
  async deliver(command: Command, pendingId: string): Promise<void> {
    try {
      await this.#request(encodeCommand(command, pendingId), command.tenant);
    } catch (error) {
      if (!(error instanceof PlatformError) || error.status === 503) throw error;
    }
  }

  #request<Answer>(record: Buffer, tenant: number, user = ''): Promise<Answer> {
    if (record.length > GROUP_BYTES_MAX)
      return Promise.reject(new PlatformError('general/record-too-large', { limit: GROUP_BYTES_MAX }));
    this.#underWay.add(tenant, user);
    return new Promise<Answer>((resolve, reject) => {
      const onAnswer: Reply = {
        refused: { tenant, user },
        resolve: (answer) => {
          this.#underWay.give(tenant, user);
          resolve(answer as Answer);
        },
        reject: (error) => {
          this.#underWay.give(tenant, user);
          reject(error);
        },
      };
      this.#append(record, onAnswer);
    });
  }

  /** In the order of the calls, unless the room is used up. */
  #append(record: Buffer, reply: Reply): void {
    const part: ShardRecords = {
      shard: record[4],
      records: record,
      recordCount: 1,
      onStored: (shard, seq) => this.#stored(shard, seq, reply),
    };
    const failed = (_token: number, error: Error): void => {
      reply.reject(
        new PlatformError('general/busy', { limit: `the journal could not be written: ${limitText(error.message)}` }),
      );
    };
    if (!this.#intake.offer([part], { ...SILENT, failed }, 0)) this.#intake.whenFree(() => this.#append(record, reply));
  }

  /**
   * See DeviceCommands. Records of one shard are durable together or not at all, as far as they fit into a group. Of a
   * QoS 2 message each such part has its receipt before it: a part that a gateway has stored before it ended is not
   * stored again.
   */
  offer(
    records: readonly OfferedRecord[],
    sink: AcknowledgementSink,
    token: number,
    received?: ReceivedPacket,
  ): boolean {
    const bytesMax = received === undefined ? GROUP_BYTES_MAX : GROUP_BYTES_MAX - RECEIPT_BYTES_MAX;
    const fitting = records.filter(({ record }) => record.length <= bytesMax);
    const parts = received === undefined ? partsOf(fitting) : this.#missingParts(fitting, received);
    if (
      !this.#intake.offer(
        parts.map((list) => this.#part(list)),
        sink,
        token,
      )
    )
      return false;
    const offered = new Set(parts.flat());
    for (const { record, onAnswer } of records.filter((one) => !offered.has(one))) {
      // After this call: its caller waits for answers from then on. What is stored already was answered to a
      // connection that is gone.
      if (record.length > bytesMax)
        setImmediate(() => onAnswer?.reject(new PlatformError('general/record-too-large', { limit: bytesMax })));
      else if (onAnswer) setImmediate(onAnswer.resolve, undefined);
    }
    return true;
  }

  #missingParts(records: readonly OfferedRecord[], received: ReceivedPacket): OfferedRecord[][] {
    const parts = partsOf(records, GROUP_BYTES_MAX - RECEIPT_BYTES_MAX, GROUP_RECORDS_MAX - 1);
    const counts = new Map<number, number>();
    const missing: OfferedRecord[][] = [];
    for (const list of parts) {
      const shard = list[0].record[4];
      const part = counts.get(shard) ?? 0;
      counts.set(shard, part + 1);
      if (received.stored?.has(partName(shard, part)) !== true)
        missing.push([{ record: receiptRecord(received, shard, part, parts.length) }, ...list]);
    }
    return missing;
  }

  /** @param list of one shard. */
  #part(list: readonly OfferedRecord[]): ShardRecords {
    return {
      shard: list[0].record[4],
      records: list.length === 1 ? list[0].record : Buffer.concat(list.map(({ record }) => record)),
      recordCount: list.length,
      onStored: (shard, firstSeq) => {
        list.forEach(({ onAnswer }, index) => {
          if (onAnswer) this.#stored(shard, firstSeq + index, onAnswer);
        });
      },
    };
  }

  /** Answers that the owner of a shard has sent. */
  take(shard: number, answers: readonly CommandAnswer[]): void {
    const acknowledgedSeq = this.#intake.acknowledgedSeq(shard);
    for (const answer of answers) {
      const key = `${shard}/${answer.seq}`;
      const expected = this.#expected.get(key);
      if (expected) {
        this.#expected.delete(key);
        settle(expected.reply, answer);
      } else if (answer.seq > acknowledgedSeq) {
        if (this.#early.size >= EARLY_MAX) this.#early.delete(this.#early.keys().next().value as string);
        this.#early.set(key, { shard, answer, deadline: this.#now() + EARLY_AGE_MAX_MS });
      }
    }
  }

  /** Ends the waiting of everything; nothing is answered any more. */
  stop(): void {
    clearInterval(this.#timer);
    for (const { reply } of this.#expected.values()) reply.reject(refusedBy('the server stops'));
    this.#expected.clear();
  }

  #stored(shard: number, seq: number, reply: Reply): void {
    const key = `${shard}/${seq}`;
    const early = this.#early.get(key);
    if (early) {
      this.#early.delete(key);
      settle(reply, early.answer);
    } else {
      this.#expected.set(key, { shard, seq, reply, storedAt: this.#now(), overCount: 0 });
    }
  }

  #sweep(): void {
    const now = this.#now();
    const late = new Map<number, number[]>();
    for (const [key, { shard, seq, reply, storedAt }] of this.#expected) {
      const waitedMs = now - storedAt;
      if (waitedMs >= this.#answerTimeoutMs) {
        this.#expected.delete(key);
        this.#unanswered(reply, 'commands/answer-timeout', this.#answerTimeoutMs);
      } else if (waitedMs >= LATE_MS) {
        const seqs = late.get(shard);
        if (seqs === undefined) late.set(shard, [seq]);
        else seqs.push(seq);
      } else {
        break;
      }
    }
    if (this.#overOf !== undefined)
      for (const [shard, seqs] of late) if (!this.#asking.has(shard)) void this.#ask(shard, seqs, this.#overOf);
    for (const [key, { deadline }] of this.#early) {
      if (deadline > now) break;
      this.#early.delete(key);
    }
  }

  /**
   * A killed owner's successor has the state and owes no answers; what an owner sends while NATS is away is lost.
   */
  async #ask(
    shard: number,
    seqs: readonly number[],
    overOf: NonNullable<CommandGatewayOptions['overOf']>,
  ): Promise<void> {
    this.#asking.add(shard);
    try {
      for (let from = 0; from < seqs.length; from += ASKED_MAX)
        for (const seq of await overOf(shard, seqs.slice(from, from + ASKED_MAX))) {
          const key = `${shard}/${seq}`;
          const expected = this.#expected.get(key);
          if (expected === undefined) continue;
          expected.overCount += 1;
          if (expected.overCount < OVER_COUNT) continue;
          this.#expected.delete(key);
          if (expected.reply.over) expected.reply.over();
          else
            this.#unanswered(expected.reply, 'commands/answer-lost', 'its shard has another owner, or NATS was away');
        }
    } catch {
      // Its owner is on its way: asked again.
    } finally {
      this.#asking.delete(shard);
    }
  }

  #unanswered(reply: Reply, code: 'commands/answer-timeout' | 'commands/answer-lost', limit: number | string): void {
    this.#refusals.count(code, reply.refused ?? UNATTRIBUTED);
    reply.reject(new PlatformError(code, { limit }));
  }

  #busy(limit: string, { tenant, user }: Command): PlatformError {
    this.#refusals.count(limit, { tenant, user });
    return refusedBy(limit);
  }
}

/** By shard, in order; what does not fit into one group of its shard goes into several. */
function partsOf(
  records: readonly OfferedRecord[],
  bytesMax = GROUP_BYTES_MAX,
  recordsMax = GROUP_RECORDS_MAX,
): OfferedRecord[][] {
  const open = new Map<number, { readonly list: OfferedRecord[]; bytes: number }>();
  const parts: OfferedRecord[][] = [];
  for (const offered of records) {
    const { record } = offered;
    let part = open.get(record[4]);
    if (part === undefined || part.bytes + record.length > bytesMax || part.list.length === recordsMax) {
      part = { list: [], bytes: 0 };
      open.set(record[4], part);
      parts.push(part.list);
    }
    part.list.push(offered);
    part.bytes += record.length;
  }
  return parts;
}

function settle(reply: Reply, { answer, error }: CommandAnswer): void {
  if (!error) reply.resolve(answer);
  // A node of another version may know another error.
  else if (Object.hasOwn(ERRORS, error.code)) reply.reject(new PlatformError(error.code, error.details));
  else reply.reject(new PlatformError('general/internal', { reference: error.code }));
}
