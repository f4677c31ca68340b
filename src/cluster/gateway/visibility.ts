/**
 * Read your writes over all nodes: a query first asks every node what it has acknowledged, then the owners of these
 * shards to make it visible. Rounds of questions coalesce: one is under way, the next one serves everybody who came
 * meanwhile. A DELETE by filters sends commands to other shards while it is waited for: the answer of its owner says up
 * to where, and that is waited for then.
 */
import { within } from '../../pacing/within.ts';
import { SHARD_COUNT, shardOf } from '../../ingest/journal/command-record.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';
import type { ShardJournal } from '../../ports/cluster/journal.ts';
import type { ShardLeases } from '../../ports/cluster/leases.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

const ACKNOWLEDGED = 'acknowledged';
const VISIBLE = 'visible';
/** A node that does not tell what it acknowledged is replaced by the journal after this time. */
const SILENT_MS = 1_000;
/** An owner that is on its way is asked again after this time. */
const RETRY_MS = 25;
/** A missing node may go on and acknowledge for this long: all that it does is in the journal. */
const MISSED_MS = 30_000;

/** Shard and sequence. */
type Wanted = readonly (readonly [number, number])[];
interface VisibleRequest {
  readonly wanted: Wanted;
  readonly query?: HistoryQuery;
  readonly timeoutMs: number;
}

export interface VisibilityOptions {
  readonly messages: NodeMessages;
  readonly leases: ShardLeases;
  readonly journal: ShardJournal;
  /** Last sequence of each shard that this node's gateway has acknowledged. */
  readonly acknowledgedSeq: (shard: number) => number;
  /** Rejects when the shard is not here. */
  readonly visibleHere: (shard: number, seq: number, timeoutMs: number, query?: HistoryQuery) => Promise<void>;
}

export class Visibility {
  readonly #options: VisibilityOptions;
  /** What gateways that are gone may have acknowledged: the journal's end when they were missed. */
  readonly #floor = new Float64Array(SHARD_COUNT);
  #floorReady: Promise<void> = Promise.resolve();
  #members = new Set<string>();
  #missedAt = Number.NEGATIVE_INFINITY;
  #round: Promise<Float64Array> | undefined;
  #nextRound: Promise<Float64Array> | undefined;
  /** What DELETEs that this node has carried out have sent, by shard. */
  readonly #sent = new Float64Array(SHARD_COUNT);
  #isStopped = false;

  constructor(options: VisibilityOptions) {
    this.#options = options;
    options.messages.answer(ACKNOWLEDGED, () => bytesOf(this.#acknowledgedHere()));
    options.messages.answer(VISIBLE, (payload) =>
      this.#answerVisible(JSON.parse(Buffer.from(payload).toString()) as VisibleRequest),
    );
  }

  /** To be called first of all, and whenever members have changed: a node that is gone cannot be asked any more. */
  membersChanged(): void {
    const members = new Set(this.#options.leases.members.map(({ nodeId }) => nodeId));
    const isFirst = this.#members.size === 0;
    const isMissing = [...this.#members].some((nodeId) => !members.has(nodeId));
    this.#members = members;
    if (!isFirst && !isMissing) return;
    if (isMissing) this.#missedAt = performance.now();
    const before = this.#floorReady;
    this.#floorReady = before.then(() => this.#raiseFloor());
  }

  /**
   * To be called when a DELETE has been carried out here, and before its shard moves behind it: a request that waits for it
   * waits for what it has sent.
   */
  deletionDone(): void {
    raise(this.#sent, this.#acknowledgedHere());
  }

  stop(): void {
    this.#isStopped = true;
  }

  /**
   * Resolves when everything that was acknowledged before the call can be queried. Rejects when that takes longer than
   * `timeoutMs`.
   */
  async visible(timeoutMs: number, query?: HistoryQuery): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    await toldBy(this.#floorReady, deadline);
    const shards = shardsOf(query);
    const { leases } = this.#options;
    const owners = shards.map((shard) => leases.ownerOf(shard));
    const acknowledged = await toldBy(this.#acknowledged(), deadline);
    const wanted = shards
      .map((shard) => [shard, Math.max(acknowledged[shard], this.#floor[shard])] as const)
      .filter(([, seq]) => seq > 0);
    const sent = await this.#makeVisible(wanted, deadline, query);
    // A former owner may have carried out a DELETE behind its answer: it is asked again.
    if (shards.some((shard, index) => leases.ownerOf(shard) !== owners[index]))
      raise(sent, await toldBy(this.#acknowledged(), deadline));
    const known = new Map(wanted);
    const behind = shards
      .map((shard) => [shard, sent[shard]] as const)
      .filter(([shard, seq]) => seq > (known.get(shard) ?? 0));
    if (behind.length > 0) await this.#makeVisible(behind, deadline, query);
  }

  /** Resolves when what has a sequence below `seq` is visible in the shards: for a DELETE with that sequence. */
  async visibleBefore(seq: number, shards: readonly number[], timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    const lastSeqs = await toldBy(Promise.all(shards.map((shard) => this.#options.journal.lastSeq(shard))), deadline);
    const wanted = shards
      .map((shard, index) => [shard, Math.min(lastSeqs[index], seq - 1)] as const)
      .filter(([, last]) => last > 0);
    await this.#makeVisible(wanted, deadline, undefined);
  }

  /** @returns what DELETEs that were waited for have sent, by shard. */
  async #makeVisible(wanted: Wanted, deadline: number, query: HistoryQuery | undefined): Promise<Float64Array> {
    const { leases } = this.#options;
    const owners = new Map<string | undefined, (readonly [number, number])[]>();
    for (const one of wanted) {
      const owner = leases.ownerOf(one[0]);
      const list = owners.get(owner);
      if (list) list.push(one);
      else owners.set(owner, [one]);
    }
    const sent = new Float64Array(SHARD_COUNT);
    await Promise.all(
      Array.from(owners, async ([owner, list]) => raise(sent, await this.#makeVisibleAt(owner, list, deadline, query))),
    );
    return sent;
  }

  async #makeVisibleAt(
    owner: string | undefined,
    wanted: Wanted,
    deadline: number,
    query: HistoryQuery | undefined,
  ): Promise<Float64Array> {
    const { leases, messages } = this.#options;
    for (;;) {
      const timeoutMs = deadline - performance.now();
      if (timeoutMs <= 0 || this.#isStopped) throw new Error('not visible in time');
      const request: VisibleRequest = { wanted, timeoutMs, ...(query ? { query } : {}) };
      try {
        if (owner === undefined) throw new Error(`shard ${wanted[0][0]} has no owner`);
        if (owner === messages.nodeId) return await this.#visibleHere(request);
        return numbersOf(await messages.request(owner, VISIBLE, Buffer.from(JSON.stringify(request)), timeoutMs));
      } catch (error) {
        if (deadline - performance.now() <= RETRY_MS) throw error;
      }
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
      // Some may have moved: each goes to whom it belongs now.
      if (wanted.some(([shard]) => leases.ownerOf(shard) !== owner)) return this.#makeVisible(wanted, deadline, query);
    }
  }

  async #answerVisible(request: VisibleRequest): Promise<Uint8Array> {
    return bytesOf(await this.#visibleHere(request));
  }

  /** @returns what DELETEs have sent by then, by shard. */
  async #visibleHere({ wanted, timeoutMs, query }: VisibleRequest): Promise<Float64Array> {
    await Promise.all(wanted.map(([shard, seq]) => this.#options.visibleHere(shard, seq, timeoutMs, query)));
    return this.#sent.slice();
  }

  /** The acknowledged sequences of all nodes, from a round of questions that begins after this call. */
  #acknowledged(): Promise<Float64Array> {
    if (!this.#round) return this.#begin();
    this.#nextRound ??= this.#round.catch(() => undefined /* Its own callers hear of it. */).then(() => this.#begin());
    return this.#nextRound;
  }

  #begin(): Promise<Float64Array> {
    this.#nextRound = undefined;
    const round = this.#ask().finally(() => {
      if (this.#round === round) this.#round = undefined;
    });
    this.#round = round;
    return round;
  }

  async #ask(): Promise<Float64Array> {
    const { leases, messages } = this.#options;
    const found = this.#acknowledgedHere();
    const others = leases.members.filter(({ nodeId }) => nodeId !== messages.nodeId);
    let isSilent = performance.now() - this.#missedAt < MISSED_MS;
    await Promise.all(
      others.map(async ({ nodeId }) => {
        try {
          raise(found, numbersOf(await messages.request(nodeId, ACKNOWLEDGED, new Uint8Array(0), SILENT_MS)));
        } catch {
          // Whatever it has acknowledged is in the journal.
          isSilent = true;
        }
      }),
    );
    if (isSilent) raise(found, await this.#journalEnds());
    return found;
  }

  #acknowledgedHere(): Float64Array {
    return Float64Array.from({ length: SHARD_COUNT }, (_, shard) => this.#options.acknowledgedSeq(shard));
  }

  async #journalEnds(): Promise<Float64Array> {
    return Float64Array.from(
      await Promise.all(Array.from({ length: SHARD_COUNT }, (_, shard) => this.#options.journal.lastSeq(shard))),
    );
  }

  async #raiseFloor(): Promise<void> {
    while (!this.#isStopped) {
      try {
        raise(this.#floor, await this.#journalEnds());
        return;
      } catch {
        // The journal is away: queries wait for their time.
        await new Promise((resolve) => {
          setTimeout(resolve, RETRY_MS * 4).unref();
        });
      }
    }
  }
}

/** A DELETE of the tenant concerns every source: its shard is asked too. */
function shardsOf(query: HistoryQuery | undefined): number[] {
  if (query?.tenant === undefined || query.source === undefined)
    return Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
  return [...new Set([shardOf(query.tenant, query.source), shardOf(query.tenant, TENANT_KEY)])];
}

function raise(target: Float64Array, values: Float64Array): void {
  for (let index = 0; index < values.length; index += 1)
    if (values[index] > target[index]) target[index] = values[index];
}

const bytesOf = (numbers: Float64Array): Uint8Array =>
  new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
const numbersOf = (bytes: Uint8Array): Float64Array => new Float64Array(Uint8Array.from(bytes).buffer);

const toldBy = <Value>(promise: Promise<Value>, deadline: number): Promise<Value> =>
  within(
    promise,
    Math.max(0, deadline - performance.now()),
    'the nodes do not tell in time what they have acknowledged',
  );
