/** What a scoring worker does with its tasks. It knows no threads: those are in thread.ts. */
import type { MessagePort } from 'node:worker_threads';
import type { Problem } from '../pmml/document/problems.ts';
import { annotate } from '../pmml/document/annotate.ts';
import { declaredUtf8, decodedDocument } from '../pmml/document/encoding.ts';
import { receiveContent } from '../content/source-port.ts';
import { unpacked, type Unpacked } from '../content/unpacked.ts';
import type { InputRecord, LookupTable, OutputRecord, ReadOptions, ReadResult, ScoringModel } from '../pmml/engine.ts';
import {
  ANNOTATED_BYTES_MAX,
  type AnnotateTask,
  type Answer,
  type ApplyTask,
  type BatchTask,
  type CheckTask,
  type ExplainTask,
  type InspectTask,
  type MeasurementsTask,
  type ModelKey,
  type ModelSource,
  type ModelUses,
  type Task,
  type ValuesPiece,
  type ValuesTask,
  type WorkerSettings,
} from '../protocol.ts';
import { scoreMeasurements } from '../measurements/score.ts';
import { csvRecords } from '../records/csv-records.ts';
import { jsonRecords, readRecord, rowsOf } from '../records/input.ts';
import { csvLine, csvValue, matchScore } from '../records/output.ts';
import { BadRecord, RefusedRecord } from '../records/slices.ts';
import { scoreValues } from '../records/values.ts';
import { CountedPredictions } from './counted-predictions.ts';
import { LoadedModels } from './loaded-models.ts';
import { refusalOf, RefusedModel } from './refusals.ts';
import { trainClusters } from '../training/clustering.ts';
import { tableOf } from '../training/series.ts';
import { readSeries } from '../training/series-text.ts';
import { FunctionLibrary } from '../functions/library.ts';
import { FunctionWatch } from '../functions/watch.ts';
import { isJavaScript, readJavaScript } from '../resources/java-script.ts';
import { inspectResource, readLookupTables } from '../resources/resources.ts';

/** What reads a document and makes a model of it. */
export interface ModelEngine {
  /** Begins to read; `write` and `end` throw an Error named `XmlError` for what is not XML. */
  begin(options: ReadOptions): { write(chunk: Uint8Array): void; end(): ReadResult };
}

/** Of an explanation: that of a large ensemble has a line for each node that it visits. */
const EXPLANATION_LENGTH_MAX = 16 * 1_048_576;
const encoder = new TextEncoder();
/** Of the results of one task. */
const RESULT_CHARACTERS_MAX = 67_108_864;
/** Of a model: its information would not be stored with more. */
const FIELDS_MAX = 50_000;

export class WorkerTasks {
  readonly #engine: ModelEngine;
  readonly #settings: WorkerSettings;
  readonly #watch = new FunctionWatch();
  readonly loaded: LoadedModels;

  /** @param onLoaded called with the bytes of a tenant's compiled models when they have changed */
  constructor(engine: ModelEngine, settings: WorkerSettings, onLoaded?: (tenant: number, bytes: number) => void) {
    this.#engine = engine;
    this.#settings = settings;
    this.loaded = new LoadedModels(settings.modelBytesMax, onLoaded);
  }

  /** Does a task. Never rejects: errors lose their fields between threads, so that they are answers. */
  async run(task: Task): Promise<Answer> {
    this.#watch.begin('mark' in task ? task.mark : undefined);
    try {
      switch (task.kind) {
        case 'check':
          return await this.#check(task);
        case 'annotate':
          return await this.#annotate(task);
        case 'inspect':
          return await this.#inspect(task);
        case 'series':
          return { kind: 'series', count: tableOf(readSeries(textOf(task.text))).names.length };
        case 'train':
          return {
            kind: 'trained',
            clusters: encoder.encode(JSON.stringify(trainClusters(readSeries(textOf(task.text))))),
          };
        case 'apply':
          return await this.#withModel(task.key, task.source, (model) => this.#apply(model, task));
        case 'explain':
          return await this.#withModel(task.key, task.source, (model) => explain(model, task));
        case 'batch':
          return await this.#withModel(task.key, task.source, (model) => batch(model, task));
        case 'measurements':
          return await this.#withModel(task.key, task.source, (model) => measurements(model, task));
        case 'values':
          return await this.#withModel(task.key, task.source, (model) => values(model, task));
      }
    } catch (error) {
      if (error instanceof BadRecord) {
        const { record, message: reason, place } = error;
        const isRefused = error instanceof RefusedRecord;
        return { kind: 'bad-record', record, reason, isRefused, ...(place === undefined ? {} : { place }) };
      }
      return refusalOf(error) ?? { kind: 'failed', message: String((error as Error).stack ?? error) };
    }
  }

  async #withModel(
    key: ModelKey,
    source: ModelSource | undefined,
    work: (model: ScoringModel) => Answer,
  ): Promise<Answer> {
    const known = this.loaded.get(key);
    if (known !== undefined) {
      for (const port of portsOf(source)) port.close();
      return work(known);
    }
    if (source === undefined) return { kind: 'missing' };
    const { result, functions } = await this.#read(source, { isUpload: false, isFirst: false });
    try {
      if (result.model === undefined)
        throw new RefusedModel(result.problems.find(({ severity }) => severity === 'error')?.text ?? 'it has no model');
      this.loaded.add(key, result.model, functions);
    } catch (error) {
      functions.close();
      throw error;
    }
    return work(result.model);
  }

  /** Records of different requests: each is a series of its own, with the whole time for its functions. */
  #apply(model: ScoringModel, { records, mark }: ApplyTask): Answer {
    const predictions = new CountedPredictions(model);
    const refusals: [number, string][] = [];
    let characters = 0;
    const texts = records.map((text, index) => {
      const record = readRecord(text);
      if (record === undefined) return undefined;
      this.#watch.begin(mark);
      model.begin();
      try {
        const output = JSON.stringify(model.apply(record));
        if (characters + output.length > RESULT_CHARACTERS_MAX)
          throw new RefusedModel(`its results have more than ${RESULT_CHARACTERS_MAX} characters`);
        predictions.add(model);
        characters += output.length;
        return output;
      } catch (error) {
        // Those beside it are of other requests.
        const refusal = refusalOf(error);
        if (refusal === undefined) throw error;
        refusals.push([index, refusal.message]);
        return undefined;
      }
    });
    return { kind: 'texts', texts, refusals, predictions: predictions.counts };
  }

  async #check({ source, isUpload, isFirst }: CheckTask): Promise<Answer> {
    const { result, uses, functions } = await this.#read(source, { isUpload, isFirst });
    functions.close();
    const { model, modelName, problems } = result;
    const bytes = (model?.bytes ?? 0) + functions.bytes;
    const { inputFields = [], outputFields = [] } = model?.information ?? {};
    const fields = inputFields.length + outputFields.length;
    if (fields > FIELDS_MAX)
      return { kind: 'refused', reason: 'model', message: `it has ${fields} fields; a model may have ${FIELDS_MAX}` };
    if (bytes > this.#settings.modelBytesMax)
      return {
        kind: 'refused',
        reason: 'memory',
        message: `it takes ${bytes} bytes when compiled; a worker has ${this.#settings.modelBytesMax} for models`,
      };
    return {
      kind: 'checked',
      information: model?.information,
      modelName,
      bytes,
      lookBack: model?.lookBack ?? 0,
      problems,
      uses,
    };
  }

  async #annotate({ port, problems }: AnnotateTask): Promise<Answer> {
    const { annotatedBytesMax = ANNOTATED_BYTES_MAX } = this.#settings;
    const { pieces } = await this.#unpacked(port, false);
    const document: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > annotatedBytesMax) return { kind: 'refused', reason: 'not-annotated', message: firstOf(problems) };
      document.push(piece);
    }
    const text = declaredUtf8(annotate(decodedDocument(Buffer.concat(document)), problems, 'Millrace'));
    return { kind: 'document', document: Buffer.from(text) };
  }

  async #inspect({ fileName, port }: InspectTask): Promise<Answer> {
    const content = receiveContent(port);
    return { kind: 'inspected', ...(await inspectResource(fileName, content, this.#settings.contentBytesMax)) };
  }

  /** @returns the result, what the document asked for, and its functions, which the caller closes. */
  async #read(
    source: ModelSource,
    { isUpload, isFirst }: Pick<CheckTask, 'isUpload' | 'isFirst'>,
  ): Promise<{ result: ReadResult; uses: ModelUses; functions: FunctionLibrary }> {
    const functions = new FunctionLibrary(this.#settings.modelBytesMax, this.#watch);
    try {
      const tables = await this.#resourcesOf(source, functions);
      const asked = { tables: new Set<string>(), functions: new Set<string>() };
      const reading = this.#engine.begin({
        table: (name) => {
          asked.tables.add(name);
          return tables.get(name) ?? (isFirst ? NO_TABLE : undefined);
        },
        customFunction: (name) => {
          asked.functions.add(name);
          return functions.find(name) ?? (isFirst ? noFunction : undefined);
        },
      });
      const { pieces } = await this.#unpacked(source.model, isUpload);
      for await (const piece of pieces) reading.write(piece);
      const result = reading.end();
      return { result, uses: { tables: [...asked.tables], functions: [...asked.functions] }, functions };
    } catch (error) {
      functions.close();
      throw error;
    }
  }

  /** @param isUpload a serialised model has to be of this version then. */
  #unpacked(port: MessagePort, isUpload: boolean): Promise<Unpacked> {
    const { contentBytesMax: bytesMax, version } = this.#settings;
    return unpacked(receiveContent(port), { bytesMax, ...(isUpload ? { version } : {}) });
  }

  /** Lookup tables by name; files of functions go into the library. */
  async #resourcesOf(
    { resources }: ModelSource,
    functions: FunctionLibrary,
  ): Promise<ReadonlyMap<string, LookupTable>> {
    const found = new Map<string, LookupTable>();
    for (const { fileName, port } of resources) {
      const content = receiveContent(port);
      if (isJavaScript(fileName)) await functions.add(fileName, await readJavaScript(content));
      else
        for (const [name, table] of await readLookupTables(fileName, content, this.#settings.contentBytesMax))
          found.set(name, table);
    }
    return found;
  }
}

/** The problem that comes first in the document: the first error, where there is one. */
function firstOf(problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const [first] = [...(errors.length > 0 ? errors : problems)].sort((a, b) => a.offset - b.offset);
  if (first === undefined) return 'it has no problems';
  return first.element === '' ? first.text : `${first.element} (line ${first.line}): ${first.text}`;
}

/** What stands in for a lookup table and a function. */
const NO_TABLE: LookupTable = { columns: [], rows: [] };
const noFunction = (): undefined => undefined;

const portsOf = (source: ModelSource | undefined): readonly { close(): void }[] =>
  source === undefined ? [] : [source.model, ...source.resources.map(({ port }) => port)];

function explain(model: ScoringModel, { record: text }: ExplainTask): Answer {
  const record = readRecord(text);
  if (record === undefined) return { kind: 'text', text: undefined };
  model.begin();
  const whole = model.explain(record);
  const cut = `${whole.slice(0, EXPLANATION_LENGTH_MAX)}\n… (cut after ${EXPLANATION_LENGTH_MAX} characters)\n`;
  return { kind: 'text', text: whole.length > EXPLANATION_LENGTH_MAX ? cut : whole };
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');

/** Record by record: a slice would be held several times as objects. */
function batch(model: ScoringModel, task: BatchTask): Answer {
  const bytes = Buffer.from(task.input.buffer, task.input.byteOffset, task.input.length);
  const records = task.format === 'csv' ? csvRecords(bytes, task.columns, model) : jsonRecords(bytes.toString('utf8'));
  const predictions = new CountedPredictions(model);
  const written = writerOf(task, bytes);
  let text = '';
  let number = 0;
  model.begin();
  for (const record of records) {
    number += 1;
    const output = appliedOf(model, record, number);
    if (number <= task.before) continue;
    predictions.add(model);
    text += written(output, number - 1);
    if (text.length > RESULT_CHARACTERS_MAX) return tooLong(number - task.before, text.length);
  }
  const count = number - task.before;
  return { kind: 'batch', output: encoder.encode(text), count, predictions: predictions.counts };
}

/** Text of an output. @param index of its record, from 0 */
type WriteOutput = (output: OutputRecord, index: number) => string;

function writerOf(task: BatchTask, bytes: Buffer): WriteOutput {
  const { output: format, outputs, detail, before } = task;
  if (format === 'json')
    return (output, index) => (index === before ? JSON.stringify(output) : `,${JSON.stringify(output)}`);
  if (detail === undefined) return (output) => csvLine(output, outputs);
  const rows = rowsOf(bytes.toString('utf8'), 1);
  return (output, index) => detailLine(rows[index] as readonly string[], output, task);
}

/** @throws RefusedRecord where the model fails at this record, for instance in a function */
function appliedOf(model: ScoringModel, record: InputRecord, number: number): OutputRecord {
  try {
    return model.apply(record);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    throw new RefusedRecord(number, refusal.message);
  }
}

const NO_OUTPUTS: OutputRecord = {};

/** @returns NO_OUTPUTS for values that fail, for instance in a function of the model: those of other devices go on */
function outputsOrNone(model: ScoringModel, record: InputRecord): OutputRecord {
  try {
    return model.apply(record);
  } catch (error) {
    if (refusalOf(error) === undefined) throw error;
    return NO_OUTPUTS;
  }
}

function measurements(model: ScoringModel, { records, plan, room }: MeasurementsTask): Answer {
  const predictions = new CountedPredictions(model);
  const guarded = { begin: () => model.begin(), apply: (record: InputRecord) => outputsOrNone(model, record) };
  const count = (output: OutputRecord): void => {
    if (output !== NO_OUTPUTS) predictions.add(model);
  };
  const measured = scoreMeasurements(guarded, records, plan, count, room);
  return { kind: 'measured', ...measured, predictions: predictions.counts };
}

const tooLong = (records: number, characters: number): Answer => ({
  kind: 'refused',
  reason: 'too-long',
  message: `the results of ${records} records have ${characters} characters; at most ${RESULT_CHARACTERS_MAX} are sent at once`,
});

function values(model: ScoringModel, task: ValuesTask): Answer {
  const predictions = new CountedPredictions(model);
  const pieces: ValuesPiece[] = [];
  let text = '';
  let count = 0;
  const missing: OutputRecord = Object.fromEntries(
    model.information.outputFields.map(({ name: field }) => [field, null]),
  );
  let isRefused = false;
  const guarded = {
    begin: () => model.begin(),
    apply: (record: InputRecord) => {
      const output = outputsOrNone(model, record);
      isRefused = output === NO_OUTPUTS;
      return isRefused ? missing : output;
    },
  };
  const scored = (): void => {
    if (!isRefused) predictions.add(model);
  };
  for (const { text: written, ...piece } of scoreValues(guarded, task, scored)) {
    text += written;
    count += piece.records;
    if (text.length > RESULT_CHARACTERS_MAX) return tooLong(count, text.length);
    pieces.push({ ...piece, bytes: Buffer.byteLength(written) });
  }
  return { kind: 'values', output: encoder.encode(text), pieces, count, predictions: predictions.counts };
}

/** The input's row, and behind it what was expected, what was computed, and how near that is. */
function detailLine(
  row: readonly string[],
  output: OutputRecord,
  { columns, outputs: [computedName = ''], detail }: BatchTask,
): string {
  const computed = output[computedName];
  const expected = row[columns.indexOf(detail?.expected ?? '')] ?? '';
  const score = matchScore(expected, computed);
  const values = [...row, expected, computed, score, score >= (detail?.matchScore ?? 1)];
  return `${values.map(csvValue).join(',')}\n`;
}
