import { type Element, PmmlError } from './document/element.ts';
import type { Problems } from './document/problems.ts';
import type { Expression } from './fields/expression.ts';
import { type DataField, opTypeOf, readDataField } from './fields/data-field.ts';
import { type Field, makeField, onceForRecord, store } from './fields/field.ts';
import { type Input, makeInput, makeTargetInput } from './fields/inputs.ts';
import { changesValues, isTarget, type MiningField, readMiningField, Treatment } from './fields/mining-field.ts';
import { Dictionary } from './fields/row.ts';
import { derivedFieldsOf, type Names, Scope } from './fields/scope.ts';
import { type DataType, isNumeric } from './fields/types.ts';
import {
  type CompileModel,
  type EvaluatedModel,
  MINING_FUNCTIONS,
  type MiningFunction,
  type Model,
  type ModelContext,
  type ModelOutput,
  type TargetField,
} from './models/model.ts';
import { type ApplyTarget, compileTarget } from './models/targets.ts';
import { regressorFields } from './models/time-series/regressors.ts';
import { compileOutputs } from './output/outputs.ts';
import type { Predicate } from './predicates/predicate.ts';

/** What models of one document are compiled with. */
export interface Parts {
  readonly names: Names;
  readonly problems: Problems;
  /** Fields of the DataDictionary by name. */
  readonly data: ReadonlyMap<string, DataField>;
  readonly expression: (element: Element, scope: Scope) => Expression;
  readonly predicate: (element: Element, scope: Scope) => Predicate;
  /** Model element → its family. */
  readonly families: ReadonlyMap<string, CompileModel>;
}

/** The outermost model: it takes the values of records. */
export interface TopModel {
  readonly model: EvaluatedModel;
  readonly inputs: readonly Input[];
  readonly miningFields: readonly MiningField[];
  /** Names of its LocalTransformations. */
  readonly derived: readonly string[];
  readonly scope: Scope;
  /** Type of each mining field, for the model's information. */
  typeOf(name: string): DataType | undefined;
}

const COLLECTION_FUNCTIONS: ReadonlySet<MiningFunction> = new Set(['associationRules', 'sequences']);
const NESTING_MAX = 64;

/**
 * @param element a model element of the document's first level
 * @throws PmmlError where the model is not what the standard allows
 */
export function compileTopModel(element: Element, parts: Parts): TopModel {
  const fields = miningFieldsOf(element);
  const scope = new Scope(parts.names, { locals: localsOf(element) });
  const functionName = functionOf(element);
  const inputs: Input[] = [];
  for (const mining of fields) {
    const data = parts.data.get(mining.name);
    if (data === undefined) {
      // Older tools list derived fields in the MiningSchema too.
      if (!isTarget(mining) && !parts.names.globals.has(mining.name) && !localsOf(element).has(mining.name))
        throw new PmmlError(mining.element, `the DataDictionary has no field '${mining.name}'`);
      continue;
    }
    const field = inputField(data, mining, parts);
    scope.declare(field);
    inputs.push(
      isTarget(mining)
        ? makeTargetInput(field)
        : makeInput(field, besideInput(mining), data, COLLECTION_FUNCTIONS.has(functionName)),
    );
  }
  if (functionName === 'timeSeries' && lacksStep(element, fields)) inputs.push(stepInput(scope, parts));
  const model = finishModel({ element, fields, functionName, scope, parts, depth: 0 });
  return {
    model,
    inputs,
    miningFields: fields,
    derived: [...localsOf(element).keys()],
    scope,
    typeOf: (name) => parts.data.get(name)?.type,
  };
}

/** Supplementary and group fields, orders and weights are no inputs of the model: what they hold refuses no record. */
function besideInput(field: MiningField): MiningField {
  if (field.usage === 'active') return field;
  return { ...field, invalid: field.invalid === 'returnInvalid' ? 'asIs' : field.invalid, isMissingInvalid: false };
}

function lacksStep(element: Element, fields: readonly MiningField[]): boolean {
  const regressors = regressorFields(element);
  return fields.every((field) => isTarget(field) || regressors.has(field.name));
}

/** The step that a forecast is for, where the model declares no field for it. */
function stepInput(scope: Scope, parts: Parts): Input {
  const slot = parts.names.slots.take();
  const field = makeField({ name: 'h', type: 'integer', optype: 'continuous', slot, dictionary: undefined });
  scope.declare(field);
  return makeTargetInput(field);
}

function inputField(data: DataField, mining: MiningField, parts: Parts): Field {
  const dictionary = isNumeric(data.type) ? undefined : new Dictionary();
  return makeField({
    name: data.name,
    type: data.type,
    optype: mining.optype ?? data.optype,
    slot: parts.names.slots.take(),
    dictionary,
    order: data.valid,
    isValid: data.isValid,
  });
}

/** A model inside of another one. */
function compileNested(element: Element, around: Scope, parts: Parts, depth: number): EvaluatedModel {
  if (depth > NESTING_MAX) throw new PmmlError(element, `models are nested deeper than ${NESTING_MAX}`);
  const fields = miningFieldsOf(element);
  const treated = fields.filter((field) => !isTarget(field) && changesValues(field));
  const scope = new Scope(parts.names, {
    parent: around,
    locals: localsOf(element),
    isTransparent: treated.length === 0,
  });
  for (const mining of treated) scope.declare(treatedField(mining, around.field(mining.name, mining.element), parts));
  return finishModel({ element, fields, functionName: functionOf(element), scope, parts, depth });
}

/** A field of the model around this one with the treatment of this one's mining field. */
function treatedField(mining: MiningField, field: Field, parts: Parts): Field {
  const treatment = new Treatment(mining, field.type, parts.data.get(mining.name));
  const slot = parts.names.slots.take();
  const dictionary = isNumeric(field.type) ? undefined : new Dictionary();
  const ensure = onceForRecord(slot, (row) => store(row, slot, treatment.ofPrepared(field.value(row)), dictionary));
  return makeField({
    name: field.name,
    type: field.type,
    optype: mining.optype ?? field.optype,
    slot,
    dictionary,
    order: field.order,
    isValid: (value) => field.isValid(value),
    ensure,
  });
}

interface Unfinished {
  readonly element: Element;
  readonly fields: readonly MiningField[];
  readonly functionName: MiningFunction;
  readonly scope: Scope;
  readonly parts: Parts;
  readonly depth: number;
}

function finishModel(given: Unfinished): EvaluatedModel {
  const { element, fields, functionName, scope, parts, depth } = given;
  const compile = parts.families.get(element.name);
  if (compile === undefined) throw new PmmlError(element, 'models of this kind are not supported');
  const targets = targetsOf(element, fields, functionName, parts);
  const context: ModelContext = {
    element,
    functionName,
    scope,
    target: targets[0],
    targets,
    problems: parts.problems,
    activeFields: fields.filter(({ usage }) => usage === 'active').map(({ name }) => name),
    expression: (child, among = scope) => parts.expression(child, among),
    predicate: (child, among = scope) => parts.predicate(child, among),
    nested: (child, among) => compileNested(child, among, parts, depth + 1),
  };
  const model = element.flag('isScorable', true) ? compile(context) : unscorable(context, compile);
  return withOutputs(given, model, targets);
}

/** A model for information only: it says nothing about any record. */
function unscorable(context: ModelContext, compile: CompileModel): Model {
  context.problems.warn(context.element, "'isScorable' is false: the model has no results");
  const model = compile(context);
  return { prediction: model.prediction, bytes: model.bytes, evaluate: () => model.prediction.clear() };
}

function withOutputs(given: Unfinished, model: Model, targets: readonly TargetField[]): EvaluatedModel {
  const { element, scope, parts, functionName } = given;
  const outputElement = element.child('Output');
  const targetElements = element.child('Targets')?.childrenOf('Target') ?? [];
  const applied = targetElements
    .map((child) => ofTarget(child, targets, element))
    .filter((apply) => apply !== undefined);
  const bare = { functionName, target: targets[0], targets, outputs: [], outputScope: model.innerScope ?? scope };
  if (outputElement === undefined && applied.length === 0) return Object.assign(model, bare);
  const state = { epoch: 0 };
  const outputScope = new Scope(parts.names, { parent: model.innerScope ?? scope });
  const [target] = targets;
  const outputs: readonly ModelOutput[] = compileOutputs(outputElement, {
    prediction: () => model.prediction,
    target,
    segment: (id) => model.segments?.get(id),
    actual: target === undefined ? undefined : scope.find(target.name, element),
    functionName,
    scope: outputScope,
    problems: parts.problems,
    isEvaluated: (row) => state.epoch === row.epoch,
  });
  return {
    prediction: model.prediction,
    bytes: model.bytes,
    ...(model.explain === undefined ? {} : { explain: model.explain.bind(model) }),
    ...(model.segmentOutputs === undefined ? {} : { segmentOutputs: model.segmentOutputs }),
    ...(model.segments === undefined ? {} : { segments: model.segments }),
    functionName,
    target,
    targets,
    outputs,
    outputScope,
    evaluate: (row) => {
      model.evaluate(row);
      state.epoch = row.epoch;
      for (const apply of applied) apply(model.prediction);
    },
  };
}

function ofTarget(element: Element, targets: readonly TargetField[], model: Element): ApplyTarget | undefined {
  const name = element.attribute('field') ?? targets[0]?.name;
  const target = targets.find((known) => known.name === name) ?? targets[0];
  const apply = compileTarget(element, target, model.attribute('x-mathContext') === 'float');
  if (apply === undefined || name === undefined || name === targets[0]?.name) return apply;
  return (prediction) => {
    const other = prediction.others?.get(name);
    if (other !== undefined) apply(other);
  };
}

function targetsOf(
  element: Element,
  fields: readonly MiningField[],
  functionName: MiningFunction,
  parts: Parts,
): readonly TargetField[] {
  const names = fields.filter(isTarget).map(({ name }) => name);
  const ofTargets = element.child('Targets')?.childrenOf('Target') ?? [];
  if (names.length === 0)
    for (const child of ofTargets) {
      const name = child.attribute('field');
      if (name !== undefined) names.push(name);
    }
  const named = targetAttribute(element);
  if (names.length === 0 && named !== undefined) names.push(named);
  return names.map((name) => {
    const data = parts.data.get(name);
    const type = data?.type ?? (functionName === 'regression' ? 'double' : 'string');
    const ofTarget = ofTargets.find((child) => child.attribute('field') === name);
    const optype =
      (ofTarget === undefined ? undefined : opTypeOf(ofTarget)) ??
      fields.find((field) => field.name === name)?.optype ??
      data?.optype ??
      (functionName === 'regression' ? 'continuous' : 'categorical');
    return { name, type, optype, data };
  });
}

/** Where older documents name the target, which their MiningSchema may lack. */
function targetAttribute(element: Element): string | undefined {
  return (
    element.attribute('targetFieldName') ??
    element.attribute('targetVariableName') ??
    element.child('BayesOutput')?.attribute('fieldName')
  );
}

function functionOf(element: Element): MiningFunction {
  return element.oneOf('functionName', MINING_FUNCTIONS, 'regression');
}

function miningFieldsOf(element: Element): readonly MiningField[] {
  const schema = element.child('MiningSchema');
  if (schema === undefined) throw new PmmlError(element, 'the MiningSchema is missing');
  return schema.childrenOf('MiningField').map(readMiningField);
}

function localsOf(element: Element): ReadonlyMap<string, Element> {
  return derivedFieldsOf(element.child('LocalTransformations'));
}

/** Fields of the DataDictionary by name. */
export function dataFieldsOf(dictionary: Element): ReadonlyMap<string, DataField> {
  const fields = new Map<string, DataField>();
  for (const child of dictionary.childrenOf('DataField')) {
    const field = readDataField(child);
    if (fields.has(field.name)) throw new PmmlError(child, `there are two fields '${field.name}'`);
    fields.set(field.name, field);
  }
  return fields;
}
