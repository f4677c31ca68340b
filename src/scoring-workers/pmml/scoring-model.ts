import type { TopModel } from './compile.ts';
import type { FieldInformation, InputRecord, ModelInformation, OutputRecord, ScoringModel } from './engine.ts';
import { explainRecord } from './explanation.ts';
import { literal, type Loader, loadRefused, makeLoader } from './fields/inputs.ts';
import type { LookBack } from './fields/look-back.ts';
import { isTarget } from './fields/mining-field.ts';
import { InvalidRecord, Row } from './fields/row.ts';
import { type DataType, textOf, type Value } from './fields/types.ts';
import type { EvaluatedModel, ModelOutput, Prediction, TargetField } from './models/model.ts';

export interface ScoringModelForm {
  readonly top: TopModel;
  readonly slots: number;
  readonly lookBack: LookBack;
  readonly modelName: string | undefined;
  readonly description: string;
  readonly version: string;
}

/** What a result shows: one of the targets, or an output field. */
interface Shown {
  readonly name: string;
  readonly type: DataType | undefined;
  readonly value: (row: Row) => Value | undefined;
}

const SLOT_BYTES = 24;
const FIELD_BYTES = 400;

/** A PMML model with its row: the engine behind `ScoringModel`. */
export class CompiledScoringModel implements ScoringModel {
  readonly information: ModelInformation;
  readonly bytes: number;
  readonly inputs: ReadonlyMap<string, boolean>;
  readonly lookBack: number;
  readonly #top: TopModel;
  readonly #row: Row;
  readonly #shown: readonly Shown[];
  readonly #load: Loader;
  readonly #result: MakeResult;
  readonly #missing: () => OutputRecord;
  readonly #lookBack: LookBack;
  /** The row holds a record of the series that goes on. */
  #isFollowing = false;

  constructor(form: ScoringModelForm) {
    const { top } = form;
    this.#top = top;
    this.#row = new Row(form.slots);
    this.#shown = shownOf(top.model);
    this.#load = makeLoader(top.inputs);
    this.#result = resultMaker(this.#shown);
    this.#missing = () => this.#result(undefined);
    this.#lookBack = form.lookBack;
    this.lookBack = form.lookBack.records;
    const inputs = new Map<string, boolean>();
    for (const { name, plainSlot } of top.inputs)
      inputs.set(name, plainSlot !== undefined && inputs.get(name) !== false);
    this.inputs = inputs;
    this.bytes = top.model.bytes + form.slots * SLOT_BYTES + top.miningFields.length * FIELD_BYTES;
    this.information = {
      modelName: form.modelName,
      description: form.description,
      version: form.version,
      functionName: top.model.functionName,
      inputFields: [
        ...top.miningFields
          .filter((field) => !isTarget(field))
          .map(({ name, usage }) => information(usage.toUpperCase(), name, top.typeOf(name))),
        ...implied(top),
      ],
      outputFields: this.#shown.map(({ name, type }) => information('OUTPUT', name, type)),
    };
  }

  begin(): void {
    this.#row.series++;
    this.#lookBack.clear();
    this.#isFollowing = false;
  }

  apply(record: InputRecord): OutputRecord {
    if (!this.#evaluate(record)) return this.#missing();
    try {
      return this.#result(this.#row);
    } catch (error) {
      // An output may refuse the record too, by an expression: then the others are still told.
      if (!(error instanceof InvalidRecord)) throw error;
      return this.#result(this.#row, true);
    }
  }

  /** @returns false where the model refuses the record */
  #evaluate(record: InputRecord): boolean {
    const row = this.#row;
    const looksBack = this.#lookBack.hasHistories;
    if (looksBack && this.#isFollowing) this.#lookBack.advance(row);
    this.#isFollowing = true;
    row.epoch++;
    const { model, inputs } = this.#top;
    let isLoaded = false;
    try {
      this.#load(row, record);
      isLoaded = true;
      model.evaluate(row);
      return true;
    } catch (error) {
      if (!(error instanceof InvalidRecord)) throw error;
      model.prediction.clear();
      if (looksBack && !isLoaded) loadRefused(inputs, row, record);
      return false;
    }
  }

  lastPrediction(): string | number | boolean | undefined {
    const { value } = this.#top.model.prediction;
    return Array.isArray(value) ? undefined : (value as string | number | boolean | undefined);
  }

  explain(record: InputRecord): string {
    this.#evaluate(record);
    return explainRecord({ top: this.#top, row: this.#row, record, outputs: this.#shown });
  }
}

/** Inputs that the document does not list: the step of a forecast. */
function implied(top: TopModel): FieldInformation[] {
  const listed = new Set(top.miningFields.map(({ name }) => name));
  return top.inputs.filter(({ name }) => !listed.has(name)).map(({ name }) => information('ACTIVE', name, 'integer'));
}

function information(usage: string, name: string, type: DataType | undefined): FieldInformation {
  return { usage, name, type: (type ?? 'string').toUpperCase() };
}

/** Targets, outputs, and outputs of segments, each name once. */
function shownOf(model: EvaluatedModel): readonly Shown[] {
  const shown = new Map<string, Shown>();
  // Intermediate outputs (`isFinalResult="false"`) of the model itself are shown too; those of its segments are not.
  const outputs: readonly ModelOutput[] = [
    ...model.outputs,
    ...(model.segmentOutputs ?? []).filter(({ isFinal }) => isFinal),
  ];
  const { target } = model;
  const targets = target === undefined ? defaultOf(model) : targetsOf(model, target);
  for (const one of targets) if (!model.outputs.some(({ name }) => name === one.name)) shown.set(one.name, one);
  for (const output of outputs)
    if (!shown.has(output.name))
      shown.set(output.name, { name: output.name, type: output.type, value: (row) => output.value(row) });
  return [...shown.values()];
}

function targetsOf(model: EvaluatedModel, target: TargetField): readonly Shown[] {
  const { prediction } = model;
  const others = model.targets.filter(({ name }) => name !== target.name);
  return [target, ...others].map(({ name, type }) => ({
    name,
    type: target.name === name && model.functionName === 'regression' && type === 'integer' ? 'double' : type,
    value: () => ofTarget(prediction, name, name === target.name),
  }));
}

function ofTarget(prediction: Prediction, name: string, isFirst: boolean): Value | undefined {
  const other = prediction.others?.get(name);
  return other === undefined ? (isFirst ? prediction.value : undefined) : other.value;
}

/** A model that names neither a target nor an output shows its prediction by the name of the feature. */
function defaultOf(model: EvaluatedModel): readonly Shown[] {
  if (model.outputs.length > 0) return [];
  const type = model.functionName === 'regression' || model.functionName === 'timeSeries' ? 'double' : 'string';
  return [{ name: 'predictedValue', type, value: () => model.prediction.value }];
}

/** @param row undefined: all is missing. @param isLenient an output that refuses the record is missing */
type MakeResult = (row: Row | undefined, isLenient?: boolean) => OutputRecord;

/**
 * A function that makes the record of a result. It is generated as one object literal, since members that are added one
 * by one cost more than most models; names stand in it as JSON texts and nothing else of the document does.
 */
function resultMaker(shown: readonly Shown[]): MakeResult {
  const readers = shown.map(({ value, type }) => (row: Row | undefined, isLenient: boolean): unknown => {
    if (row === undefined) return null;
    if (!isLenient) return jsonOf(value(row), type);
    try {
      return jsonOf(value(row), type);
    } catch (error) {
      if (error instanceof InvalidRecord) return null;
      throw error;
    }
  });
  const members = shown.map(({ name }, i) => `[${literal(name)}]: readers[${i}](row, isLenient)`);
  const body = `'use strict'; return (row, isLenient = false) => ({ ${members.join(', ')} });`;
  return new Function('readers', body)(readers) as MakeResult;
}

function jsonOf(value: Value | undefined, type: DataType | undefined): unknown {
  if (value === undefined) return null;
  if (typeof value !== 'number') return value;
  if (type === 'date' || type === 'dateTime' || type === 'time') return textOf(value, type);
  // JSON has no form for it.
  return Number.isFinite(value) ? value : Number.isNaN(value) ? null : String(value);
}
