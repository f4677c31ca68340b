/**
 * Answers that no message of NATS takes, on their way from a shard's owner to the gateway that waits for them: in
 * parts, as requests one after the other for each gateway, so that a gateway has one unfinished answer of each node.
 * One of which a part does not arrive is lost, as any answer may be: its command is answered `commands/answer-lost`.
 */
import type { Log } from '../../ports/log.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';

const SUBJECT = 'answer-part';
/** Below the smallest message that NATS is set up for. */
const PART_BYTES = 262_144;
const TIMEOUT_MS = 5_000;
/** Of all answers on their way from this node. One that is larger goes alone. */
const BYTES_MAX = 67_108_864;
const NOTHING = new Uint8Array();

/** Before the bytes of a part, up to a line feed. */
interface PartHead {
  readonly shard: number;
  readonly seq: number;
  readonly at: number;
  readonly total: number;
}
interface Unfinished {
  readonly shard: number;
  readonly seq: number;
  readonly parts: Buffer[];
  length: number;
  changedAt: number;
}

export interface LargeAnswersOptions {
  /** Of the answers on their way together, but for one. Default 64 MiB. */
  readonly bytesMax?: number | undefined;
  readonly messages: NodeMessages;
  /** An answer of another node, whole. */
  readonly onAnswer: (shard: number, text: string) => void;
  readonly log: Log;
}

export class LargeAnswers {
  readonly #options: LargeAnswersOptions;
  /** By node. */
  readonly #unfinished = new Map<string, Unfinished>();
  /** The last answer on its way to each gateway. */
  readonly #tails = new Map<string, Promise<void>>();
  /** Shard and sequence. */
  readonly #onTheirWay = new Set<string>();
  #bytesUnderWay = 0;

  constructor(options: LargeAnswersOptions) {
    this.#options = options;
    options.messages.answer(SUBJECT, (payload, from) => {
      this.#take(Buffer.from(payload.buffer, payload.byteOffset, payload.length), from);
      return NOTHING;
    });
  }

  /** Whether the answer to a command is on its way. */
  isOnItsWay(shard: number, seq: number): boolean {
    return this.#onTheirWay.has(`${shard}/${seq}`);
  }

  /** @returns false without room. */
  send(gateway: string, shard: number, seq: number, text: string): boolean {
    const bytes = Buffer.from(text);
    const { bytesMax = BYTES_MAX } = this.#options;
    if (this.#bytesUnderWay > 0 && this.#bytesUnderWay + bytes.length > bytesMax) return false;
    this.#bytesUnderWay += bytes.length;
    this.#onTheirWay.add(`${shard}/${seq}`);
    const sent = (this.#tails.get(gateway) ?? Promise.resolve())
      .then(() => this.#send(gateway, shard, seq, bytes))
      .catch((error: Error) => {
        this.#options.log.warn(
          { node: gateway, bytes: bytes.length, error: error.message },
          'a large answer did not reach the node that waits for it',
        );
      })
      .finally(() => {
        this.#bytesUnderWay -= bytes.length;
        this.#onTheirWay.delete(`${shard}/${seq}`);
        if (this.#tails.get(gateway) === sent) this.#tails.delete(gateway);
      });
    this.#tails.set(gateway, sent);
    return true;
  }

  async #send(gateway: string, shard: number, seq: number, bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += PART_BYTES) {
      const head: PartHead = { shard, seq, at, total: bytes.length };
      const payload = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), bytes.subarray(at, at + PART_BYTES)]);
      await this.#options.messages.request(gateway, SUBJECT, payload, TIMEOUT_MS);
    }
  }

  #take(payload: Buffer, from: string): void {
    const end = payload.indexOf('\n');
    const { shard, seq, at, total } = JSON.parse(payload.subarray(0, end).toString()) as PartHead;
    const now = performance.now();
    if (at === 0) {
      // Of nodes that have gone.
      for (const [node, { changedAt }] of this.#unfinished)
        if (now - changedAt > 2 * TIMEOUT_MS) this.#unfinished.delete(node);
      this.#unfinished.set(from, { shard, seq, parts: [], length: 0, changedAt: now });
    }
    const answer = this.#unfinished.get(from);
    // Of an answer whose first part was lost.
    if (answer === undefined || answer.shard !== shard || answer.seq !== seq || answer.length !== at) return;
    // A copy: the payload is part of what was read from the connection.
    answer.parts.push(Buffer.from(payload.subarray(end + 1)));
    answer.length += payload.length - end - 1;
    answer.changedAt = now;
    if (answer.length < total) return;
    this.#unfinished.delete(from);
    this.#options.onAnswer(shard, Buffer.concat(answer.parts).toString());
  }
}
