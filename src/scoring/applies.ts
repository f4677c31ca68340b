/**
 * Single records: those of one model that come while a worker scores others go to it together, so that many clients
 * with one record each cost little more than one with many.
 */
import type { StoredModel } from '../model/entities/scoring/model.ts';
import { PlatformError, refusedBy } from '../model/errors.ts';
import { Shares } from '../pacing/shares.ts';
import type { Refusals } from '../ports/refusals.ts';
import type { Asker } from './asker.ts';
import { APPLIES_MAX, RECORD_BYTES_MAX, SCORING_LIMIT } from './limits.ts';
import type { ModelRuns } from './model-runs.ts';

/** Records of one task, and their characters. */
const RECORDS_AT_ONCE = 256;
/** Of a model with uploaded functions: each record may take the whole time of functions. */
const RECORDS_WITH_FUNCTIONS = 16;
const CHARACTERS_AT_ONCE = 1_048_576;
/** Turns of the event loop for which records are gathered while more come in each: a task costs as much as tens of records. */
const GATHERING_TURNS_MAX = 8;
/** Lanes that are kept without work, to know how many records come together. */
const LANES_KEPT_MAX = 1_000;
/** Who takes turns for them: a user's batch does not hold up its single records. */
const SINGLE_RECORDS = '\nsingle records';

interface Waiting {
  readonly asker: Asker;
  readonly text: string;
  readonly take: (output: string | undefined) => void;
  readonly fail: (error: Error) => void;
}

interface Lane {
  /** As it was read last: it is the same content, which may have been activated anew. */
  model: StoredModel;
  readonly waiting: Waiting[];
  /** Tasks under way. */
  running: number;
  isDue: boolean;
  /** Turns for which records have been gathered, and how many waited at the end of the last one. */
  turns: number;
  gathered: number;
  /** Records of the last task. */
  last: number;
}

export class Applies {
  readonly #runs: ModelRuns;
  readonly #refusals: Refusals;
  readonly #shares: Shares;
  readonly #lanes = new Map<string, Lane>();

  constructor(runs: ModelRuns, refusals: Refusals, isOnlyTenant?: () => boolean) {
    this.#runs = runs;
    this.#refusals = refusals;
    this.#shares = new Shares(SCORING_LIMIT.APPLIES, APPLIES_MAX, isOnlyTenant);
  }

  get waitingCount(): number {
    return this.#shares.used;
  }

  /**
   * Scores one record. @param text JSON. @returns its outputs as JSON; undefined: the text is not a record.
   * @throws PlatformError as ModelRuns, 400 for a record that is too long, 503 when too many wait.
   */
  async apply(asker: Asker, model: StoredModel, text: string): Promise<string | undefined> {
    const { tenant, user } = asker;
    if (text.length > RECORD_BYTES_MAX) {
      this.#refusals.count(SCORING_LIMIT.RECORD, { tenant, user });
      throw new PlatformError('scoring/too-many-bytes', { limit: SCORING_LIMIT.RECORD, maximum: RECORD_BYTES_MAX });
    }
    const limit = this.#shares.take(tenant, user);
    if (limit !== undefined) {
      this.#refusals.count(limit, { tenant, user });
      throw refusedBy(limit);
    }
    try {
      return await new Promise((take, fail) => {
        const key = `${tenant}\n${model.blob}`;
        const lane = this.#lanes.get(key) ?? this.#open(key, model);
        lane.model = model;
        lane.waiting.push({ asker, text, take, fail });
        this.#makeDue(lane);
      });
    } finally {
      this.#shares.give(tenant, user);
    }
  }

  #open(key: string, model: StoredModel): Lane {
    if (this.#lanes.size >= LANES_KEPT_MAX)
      for (const [old, { waiting, running, isDue }] of this.#lanes)
        if (waiting.length === 0 && running === 0 && !isDue) this.#lanes.delete(old);
    const lane: Lane = { model, waiting: [], running: 0, isDue: false, turns: 0, gathered: 0, last: 1 };
    this.#lanes.set(key, lane);
    return lane;
  }

  /**
   * Requests that are read in one turn of the event loop go together, and so do those of the turns behind it while each
   * brings more. One record alone waits only behind a task of several: clients that were answered together ask again together.
   */
  #makeDue(lane: Lane): void {
    if (lane.isDue || lane.running >= this.#runs.threads) return;
    lane.isDue = true;
    lane.turns = 0;
    lane.gathered = lane.last > 1 ? 0 : 1;
    setImmediate(this.#gather, lane);
  }

  readonly #gather = (lane: Lane): void => {
    const { length } = lane.waiting;
    if (length > lane.gathered && length < recordsMaxOf(lane.model) && lane.turns < GATHERING_TURNS_MAX) {
      lane.turns += 1;
      lane.gathered = length;
      setImmediate(this.#gather, lane);
      return;
    }
    lane.isDue = false;
    void this.#run(lane);
  };

  async #run(lane: Lane): Promise<void> {
    const some = nextOf(lane);
    if (some.length === 0) return;
    lane.running += 1;
    if (lane.waiting.length > 0) this.#makeDue(lane);
    try {
      const { tenant } = (some[0] as Waiting).asker;
      const answer = await this.#runs.run({ tenant, user: SINGLE_RECORDS }, lane.model, {
        kind: 'apply',
        records: some.map(({ text }) => text),
      });
      if (answer.kind !== 'texts') throw new Error(`a scoring worker answered with ${answer.kind}`);
      for (const [index, reason] of answer.refusals)
        some[index]?.fail(new PlatformError('scoring/model-refused', { name: lane.model.name, reason }));
      // Without effect for those that were refused.
      for (const [index, { take }] of some.entries()) take(answer.texts[index]);
    } catch (error) {
      for (const { fail } of some) fail(error as Error);
    } finally {
      lane.running -= 1;
      lane.last = some.length;
      if (lane.waiting.length > 0) this.#makeDue(lane);
    }
  }
}

const recordsMaxOf = ({ functions = [] }: StoredModel): number =>
  functions.length > 0 ? RECORDS_WITH_FUNCTIONS : RECORDS_AT_ONCE;

/** Takes the next records out of the lane. */
function nextOf({ model, waiting }: Lane): Waiting[] {
  const recordsMax = recordsMaxOf(model);
  let [count, characters] = [0, 0];
  while (count < Math.min(waiting.length, recordsMax) && (count === 0 || characters < CHARACTERS_AT_ONCE))
    characters += (waiting[count++] as Waiting).text.length;
  return waiting.splice(0, count);
}
