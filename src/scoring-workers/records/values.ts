/** Scores values of devices as they lie in memory, and writes the results as pages show them (docs/internals/scoring.md#jobs). */
import { formatTime } from '../../model/documents/iso-time.ts';
import { ValueColumns, ValueRows } from '../../model/entities/scoring/measured-values.ts';
import type { OutputRecord, ScoringModel } from '../pmml/engine.ts';
import type { ValuesPiece, ValuesTask } from '../protocol.ts';

/** What came of some records of a device. */
export interface ScoredPiece extends Omit<ValuesPiece, 'bytes'> {
  /** `{"modelName", "outputRecords"}`. */
  readonly text: string;
}

/**
 * Values of one source and time are a record. Of several values of an input the last one counts.
 *
 * @param scored called after each record
 * @yields results of records that follow one another: of one device, and of one page
 */
export function* scoreValues(
  model: Pick<ScoringModel, 'begin' | 'apply'>,
  { rows: bytes, inputs, name, before, page, timesName }: ValuesTask,
  scored: () => void,
): Generator<ScoredPiece> {
  const rows = new ValueRows(bytes);
  const columns = new ValueColumns(inputs);
  const record = new InputValues(inputs.map(({ input }) => input));
  const outputs = new Outputs(name, timesName);
  let left = page.left;
  let behind = before;
  let last = -1;
  for (let at = 0; at < rows.count; ) {
    const begin = at;
    record.clear();
    do {
      record.set(columns.byFragment(rows, at), rows.value(at));
      record.set(columns.byType(rows, at), rows.value(at));
      at++;
    } while (at < rows.count && rows.isSameRecord(begin, at));
    if (!record.isFound) continue;
    if (last === -1 || !rows.isSameSource(last, begin)) {
      if (outputs.count > 0) yield outputs.take(rows.source(last), record);
      record.begin();
      model.begin();
    }
    last = begin;
    const output = model.apply(record.values);
    if (behind-- > 0) continue;
    outputs.add(output, rows.time(begin));
    record.see();
    scored();
    if (--left > 0) continue;
    yield outputs.take(rows.source(last), record);
    left = page.size;
  }
  if (outputs.count > 0) yield outputs.take(rows.source(last), record);
}

/** The values of one record by input: one object for all records, since a new one for each would cost more than most models. */
class InputValues {
  readonly values: Record<string, unknown>;
  /** Whether a value was one of any input. */
  isFound = false;
  readonly #names: readonly string[];
  /** Which inputs had a value in a record of the device. */
  #seen: boolean[] = [];

  constructor(names: readonly string[]) {
    this.#names = names;
    // Own members whatever they are called.
    this.values = Object.fromEntries(names.map((name) => [name, null]));
  }

  /** Another device begins. */
  begin(): void {
    this.#seen = this.#names.map(() => false);
  }

  clear(): void {
    this.isFound = false;
    for (const name of this.#names) this.values[name] = null;
  }

  set(columns: readonly number[], value: number): void {
    if (columns.length === 0) return;
    this.isFound = true;
    if (Number.isNaN(value)) return;
    for (const column of columns) this.values[this.#names[column] as string] = value;
  }

  /** The record counts for its device. */
  see(): void {
    for (let i = 0; i < this.#names.length; i++)
      if (this.values[this.#names[i] as string] !== null) this.#seen[i] = true;
  }

  /** Inputs that no record of the device so far has had. */
  get unseen(): readonly number[] {
    return this.#seen.flatMap((isSeen, index) => (isSeen ? [] : [index]));
  }
}

/** Results of records, in a list for each output. */
class Outputs {
  readonly #name: string;
  readonly #timesName: string;
  #outputs: OutputRecord[] = [];
  #times: string[] = [];
  #refused = 0;

  constructor(name: string, timesName: string) {
    this.#name = name;
    this.#timesName = timesName;
  }

  get count(): number {
    return this.#outputs.length;
  }

  add(output: OutputRecord, time: number): void {
    this.#outputs.push(output);
    this.#times.push(formatTime(time));
    if (isRefused(output)) this.#refused++;
  }

  take(deviceId: string, { unseen }: InputValues): ScoredPiece {
    const outputs = this.#outputs;
    const lists = Object.keys(outputs[0] ?? {}).map(
      (name) => `${JSON.stringify(name)}:${JSON.stringify(outputs.map((output) => output[name] ?? null))}`,
    );
    lists.push(`${JSON.stringify(this.#timesName)}:${JSON.stringify(this.#times)}`);
    const text = `{"modelName":${JSON.stringify(this.#name)},"outputRecords":{${lists.join(',')}}}`;
    const piece = { deviceId, records: outputs.length, refused: this.#refused, unseen, text };
    this.#outputs = [];
    this.#times = [];
    this.#refused = 0;
    return piece;
  }
}

/** All outputs of a record that a model refuses are missing. */
function isRefused(output: OutputRecord): boolean {
  for (const name in output) if (output[name] !== null) return false;
  return true;
}
