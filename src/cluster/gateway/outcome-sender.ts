/**
 * What an owner tells other nodes after a commit: first what changed (`changed`, to all of them), then the answers, to
 * the gateways that wait for them. Gathered over a turn of the event loop.
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import { toldFormer } from '../../accounts/users/lost-rights.ts';
import type { StoredTotp } from '../../accounts/login/second-factor.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import type { PlatformError } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { CommandAnswer } from './command-gateway.ts';
import { LargeAnswers } from '../peers/large-answers.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';

const ANSWERS = 'answers';
const CHANGED = 'changed';
/** A message of NATS has 1 MiB. */
const MESSAGE_CHARACTERS_MAX = 256 * 1024;
/** An answer that has more goes in parts. */
const ANSWER_BYTES_MAX = 900 * 1024;
/** No room for a large answer: the command is carried out, its sender has to look. */
const NO_ROOM = 'cluster/answer-bytes';

/** A record that was changed, and what is told of its former text. */
export type ToldRecord = readonly [collection: RecordChange['collection'], id: string, former?: string];

/**
 * What caches forget. Of records `id` is a JSON list of ToldRecord: other nodes read them again. Of a shard it is
 * unknown what its actors have changed and not told: a former owner ended between a commit and telling it, or this one
 * was cut off.
 */
export interface Change {
  readonly kind: 'user' | 'object' | 'links' | 'records' | 'shard';
  readonly tenant: number;
  /** User name, id of the object, the records, or the number of the shard. */
  readonly id: string;
  /** Of a user: what is remembered ends, live sessions do not. */
  readonly keepsConnections?: boolean;
}

/** An object is not below another one any more: told once for all links that a group commit ended. */
export const LINKS_ENDED: Change = { kind: 'links', tenant: 0, id: '' };

interface AnswersMessage {
  readonly shard: number;
  readonly answers: readonly CommandAnswer[];
}
interface Gathered {
  readonly gateway: string;
  readonly shard: number;
  readonly answers: CommandAnswer[];
}

export interface OutcomeSenderOptions {
  readonly messages: NodeMessages;
  /** Answers for this node's own gateway, and those that come from others. */
  readonly take: (shard: number, answers: readonly CommandAnswer[]) => void;
  /** Changes by this node, at once, and by others. */
  readonly onChanged: (changes: readonly Change[]) => void;
  /** Records that this node has changed, at once. */
  readonly onRecordsChanged: (tenant: number, changes: readonly RecordChange[]) => void;
  readonly refusals: Refusals;
  readonly log: Log;
  /** Bytes of large answers on their way; `commands/answer-lost` above. Default 64 MiB. */
  readonly largeAnswersBytesMax?: number;
}

export class OutcomeSender {
  readonly #options: OutcomeSenderOptions;
  #changes: Change[] = [];
  readonly #answers = new Map<string, Gathered>();
  readonly #largeAnswers: LargeAnswers;
  #isScheduled = false;
  readonly #flushNow = (): void => {
    this.#flush();
  };

  constructor(options: OutcomeSenderOptions) {
    this.#options = options;
    const { messages, log } = options;
    this.#largeAnswers = new LargeAnswers({
      messages,
      log,
      bytesMax: options.largeAnswersBytesMax,
      onAnswer: (shard, text) => options.take(shard, [JSON.parse(text) as CommandAnswer]),
    });
    messages.listen(ANSWERS, (payload) => {
      const { shard, answers } = JSON.parse(Buffer.from(payload).toString()) as AnswersMessage;
      options.take(shard, answers);
    });
    messages.listen(CHANGED, (payload, from) => {
      if (from !== messages.nodeId) options.onChanged(JSON.parse(Buffer.from(payload).toString()) as Change[]);
    });
  }

  /** Whether the answer to a command is on its way to another node, in parts. */
  isSending(shard: number, seq: number): boolean {
    return this.#largeAnswers.isOnItsWay(shard, seq);
  }

  changed(change: Change): void {
    if (change === LINKS_ENDED && this.#changes.at(-1) === LINKS_ENDED) return;
    this.#options.onChanged([change]);
    this.#changes.push(change);
    this.#schedule();
  }

  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    this.#options.onRecordsChanged(tenant, changes);
    for (const texts of packed(changes.map((change) => JSON.stringify(toldRecord(change))))) {
      this.#changes.push({ kind: 'records', tenant, id: `[${texts.join(',')}]` });
    }
    this.#schedule();
  }

  answer(gateway: string, shard: number, seq: number, answer: unknown, error: PlatformError | undefined): void {
    const key = `${shard}/${gateway}`;
    let gathered = this.#answers.get(key);
    if (!gathered) this.#answers.set(key, (gathered = { gateway, shard, answers: [] }));
    const sent: CommandAnswer = error ? { seq, error: { code: error.code, details: error.details } } : { seq, answer };
    gathered.answers.push(sent);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flushNow);
  }

  #flush(): void {
    this.#isScheduled = false;
    const { messages, take } = this.#options;
    const changes = this.#changes;
    this.#changes = [];
    for (const texts of packed(changes.map((change) => JSON.stringify(change))))
      messages.broadcast(CHANGED, Buffer.from(`[${texts.join(',')}]`));
    const all = [...this.#answers.values()];
    this.#answers.clear();
    for (const { gateway, shard, answers } of all) {
      if (gateway === messages.nodeId) take(shard, answers);
      else this.#send(gateway, shard, answers);
    }
  }

  #send(gateway: string, shard: number, answers: readonly CommandAnswer[]): void {
    const texts: string[] = [];
    for (const answer of answers) {
      const text = JSON.stringify(answer);
      if (!isLarge(text)) {
        texts.push(text);
      } else if (!this.#largeAnswers.send(gateway, shard, answer.seq, text)) {
        this.#options.refusals.count(NO_ROOM, UNATTRIBUTED);
        texts.push(
          JSON.stringify({
            seq: answer.seq,
            error: { code: 'commands/answer-lost', details: { limit: NO_ROOM } },
          } satisfies CommandAnswer),
        );
      }
    }
    for (const some of packed(texts))
      this.#options.messages.send(gateway, ANSWERS, Buffer.from(`{"shard":${shard},"answers":[${some.join(',')}]}`));
  }
}

/** UTF-8 has at most three bytes for a character of a string. */
const isLarge = (text: string): boolean =>
  text.length * 3 > ANSWER_BYTES_MAX && Buffer.byteLength(text) > ANSWER_BYTES_MAX;

/**
 * Other nodes read the text that counts now. Of the former one they need what ends live sessions
 * (accounts/login/rights-watch.ts): a group's roles, whether it or an inventory role has lost grants, and of a user or
 * a member only that there was one; and whether a second factor was asked for, by which secret
 * (accounts/login/second-factor.ts).
 */
function toldRecord(change: RecordChange): ToldRecord {
  const { collection, id, expected } = change;
  if (expected === undefined) return [collection, id];
  if (collection === 'user' || collection === 'groupMember') return [collection, id, ''];
  const former = collection === 'totp' ? needOf(expected) : toldFormer(change);
  return former === undefined ? [collection, id] : [collection, id, former];
}

/** Without the secret. */
function needOf(text: string): string {
  const { id, isActive } = JSON.parse(text) as Pick<StoredTotp, 'id' | 'isActive'>;
  return JSON.stringify({ id, isActive });
}

/** The texts of one message, or of several where one would be too large. */
function* packed(texts: readonly string[]): Generator<readonly string[]> {
  let gathered: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (gathered.length > 0 && characters + text.length > MESSAGE_CHARACTERS_MAX) {
      yield gathered;
      gathered = [];
      characters = 0;
    }
    gathered.push(text);
    characters += text.length;
  }
  if (gathered.length > 0) yield gathered;
}
