/** Sends JSON commands through the journal to their actors and waits for the answers. */
import type { Command } from '../../model/commands/command.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import type { Refusals, Refused } from '../../ports/refusals.ts';
import { Shares } from '../../pacing/shares.ts';
import { encodeCommand } from './command-record.ts';
import { GROUP_BYTES_MAX } from './group-commit.ts';
import type { GroupCommit } from './group-commit.ts';
import { receivedRecord } from './received-packet.ts';
import type { ReceivedPacket } from './received-packet.ts';
import type { AcknowledgementSink } from './record-intake.ts';

/** Requests under way at once; more are refused. */
export const REQUESTS_MAX = 20_000;
/** Name of this limit, and of the shares of users and tenants with `-of-…`. */
export const UNDER_WAY = 'commands/under-way';

/** What the command bus needs of the actors. */
export interface ReplyRegistry {
  expectReply(seq: number, reply: { resolve: (answer: unknown) => void; reject: (error: Error) => void }): void;
  cancelReply(seq: number): void;
}

/** A record for `offer`, and who is told of its actor's answer or refusal after the state is committed. */
export interface OfferedRecord {
  readonly record: Buffer;
  readonly onAnswer?: {
    resolve: (answer: unknown) => void;
    reject: (error: Error) => void;
    /** The command is carried out, and its answer is lost. Without it that is a rejection. */
    over?: () => void;
    /** Whom a lost answer concerns. */
    refused?: Refused;
  };
}

/**
 * Commands of devices: taken in order, acknowledged when they are durable. Implemented by CommandBus and
 * cluster/gateway/command-gateway.ts.
 */
export interface DeviceCommands extends CommandPort {
  /**
   * Appends the records of one message at once and in order with other calls. Acknowledged through `sink` when all are
   * durable.
   * @param received of a QoS 2 message: that it was received is stored with it.
   * @returns false when the group has too little room: nothing was appended.
   */
  offer(
    records: readonly OfferedRecord[],
    sink: AcknowledgementSink,
    token: number,
    received?: ReceivedPacket,
  ): boolean;
}

export class CommandBus implements DeviceCommands {
  readonly #intake: GroupCommit;
  readonly #replies: ReplyRegistry;
  readonly #refusals: Refusals;
  readonly #sink: AcknowledgementSink;
  readonly #underWay: Shares;

  constructor(options: { requestsMax?: number; intake: GroupCommit; replies: ReplyRegistry; refusals: Refusals }) {
    this.#intake = options.intake;
    this.#replies = options.replies;
    this.#refusals = options.refusals;
    this.#underWay = new Shares(UNDER_WAY, options.requestsMax ?? REQUESTS_MAX);
    this.#sink = {
      durable() {
        /* The answer comes from the actor, after its state is committed. */
      },
      flushDurable() {
        /* Nothing is written here. */
      },
      failed: (seq) => {
        this.#replies.cancelReply(seq);
      },
    };
  }

  get underWayCount(): number {
    return this.#underWay.used;
  }

  async request<Answer>(command: Command): Promise<Answer> {
    this.#refuseWhenFull(command);
    const limit = this.#underWay.refusal(command.tenant, command.user ?? '');
    if (limit !== undefined) throw this.#busy(limit, command);
    return this.#request<Answer>(command);
  }

  /**
   * As `request`, for commands of the projector, which the journal's bound does not refuse: the journal is trimmed only
   * when the projector goes on.
   */
  requestBeyondBound<Answer>(command: Command): Promise<Answer> {
    return this.#request<Answer>(command);
  }

  async #request<Answer>(command: Command): Promise<Answer> {
    if (this.#underWay.used >= this.#underWay.maximum) throw this.#busy(UNDER_WAY, command);
    const record = encodeCommand(command);
    const { tenant, user = '' } = command;
    this.#underWay.add(tenant, user);
    try {
      await this.#room(record.length);
      return await this.#append<Answer>(record);
    } finally {
      this.#underWay.give(tenant, user);
    }
  }

  /** See DeviceCommands. All in one group: all are durable or none. */
  offer(
    message: readonly OfferedRecord[],
    sink: AcknowledgementSink,
    token: number,
    received?: ReceivedPacket,
  ): boolean {
    const records = received === undefined ? message : [{ record: receivedRecord(received) }, ...message];
    let bytes = 0;
    for (const { record } of records) bytes += record.length;
    let at = this.#intake.reserve(bytes);
    if (at < 0) return false;
    for (const { record } of records) at += record.copy(this.#intake.buffer, at);
    this.#intake.appendMany(bytes, records.length, sink, token);
    const firstSeq = this.#intake.lastAppendedSeq - records.length + 1;
    for (let index = 0; index < records.length; index += 1) {
      const { onAnswer }: OfferedRecord = records[index];
      if (!onAnswer) continue;
      this.#replies.expectReply(firstSeq + index, onAnswer);
      // Told when the group fails: its numbers are given again, and the answer of another command must not arrive here.
      this.#intake.acknowledgeInOrder(this.#sink, firstSeq + index);
    }
    return true;
  }

  /**
   * Appends a follow-up of an actor: resolves when it is durable, rejects when its group failed. Never refused by the
   * journal's bound.
   */
  async appendFollowUp(command: Command, pendingId: string): Promise<void> {
    const record = encodeCommand(command, pendingId);
    await this.#room(record.length);
    await new Promise<void>((resolve, reject) => {
      const at = this.#intake.reserve(record.length);
      record.copy(this.#intake.buffer, at);
      this.#intake.append(
        record.length,
        {
          durable: () => resolve(),
          flushDurable() {
            /* Nothing is written here. */
          },
          failed: (_token, error) => reject(error),
        },
        0,
      );
    });
  }

  #append<Answer>(record: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const at = this.#intake.reserve(record.length);
      record.copy(this.#intake.buffer, at);
      const seq = this.#intake.lastAppendedSeq + 1;
      const failed = (_token: number, error: Error): void => {
        this.#replies.cancelReply(seq);
        reject(new PlatformError('general/busy', { limit: `the journal could not be written: ${error.message}` }));
      };
      this.#intake.append(record.length, { ...this.#sink, failed }, seq);
      this.#replies.expectReply(seq, { resolve: resolve as (answer: unknown) => void, reject });
    });
  }

  /** Waits until the open group has room. No await between this and `reserve`. */
  async #room(bytes: number): Promise<void> {
    if (bytes > GROUP_BYTES_MAX) throw new PlatformError('general/payload-too-large', { limit: GROUP_BYTES_MAX });
    while (this.#intake.reserve(bytes) < 0)
      await new Promise<void>((resolve) => {
        this.#intake.whenFree(resolve);
      });
  }

  #refuseWhenFull(command: Command): void {
    const limit = this.#intake.refusal;
    if (limit !== undefined) throw this.#busy(limit, command);
  }

  #busy(limit: string, { tenant, user }: Command): PlatformError {
    this.#refusals.count(limit, { tenant, user });
    return refusedBy(limit);
  }
}
