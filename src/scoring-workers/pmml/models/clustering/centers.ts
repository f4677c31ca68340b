/** What centers of clusters are made of: their fields and their values. */
import { readNumbers, readTexts } from '../../document/arrays.ts';
import { type Element, PmmlError } from '../../document/element.ts';
import { dataTypeOf, opTypeFor } from '../../fields/data-field.ts';
import { computedField } from '../../fields/scope.ts';
import { castText } from '../../fields/types.ts';
import { asNumber, type ComparedField, comparedField } from '../comparison.ts';
import type { ModelContext } from '../model.ts';

export interface Cluster {
  readonly id: string;
  readonly name: string | undefined;
}

/**
 * The fields that centers have a value for, in order: the ClusteringFields, or in documents before PMML 3 the derived
 * fields of `CenterFields`, which take weight and compare function of the ClusteringField that they are made of.
 */
export function centerFields(context: ModelContext, measure: Element): readonly ComparedField[] {
  const { element, scope } = context;
  const clusteringFields = element.childrenOf('ClusteringField');
  const derived = element.child('CenterFields')?.childrenOf('DerivedField') ?? [];
  const fields =
    derived.length > 0
      ? derived.map((child, index) => derivedField(child, index, clusteringFields, context, measure))
      : clusteringFields
          .filter((field) => field.flag('isCenterField', true))
          .map((field) => comparedField(field, scope.field(field.required('field'), field), measure));
  if (fields.length === 0) throw new PmmlError(element, 'the ClusteringField is missing');
  return fields;
}

function derivedField(
  element: Element,
  index: number,
  clusteringFields: readonly Element[],
  context: ModelContext,
  measure: Element,
): ComparedField {
  const child = context.scope.names.expressionOf(element);
  const expression = context.expression(child);
  const type = dataTypeOf(element) ?? expression.type ?? 'double';
  const field = computedField({
    name: element.attribute('name') ?? `center ${index + 1}`,
    type,
    optype: opTypeFor(type),
    expression,
    slots: context.scope.names.slots,
  });
  const from = child.attribute('field');
  const settings = clusteringFields.find((one) => one.attribute('field') === from);
  return comparedField(settings ?? element, field, measure);
}

/** @throws PmmlError where the array has another number of values than there are fields, or one that its field cannot have */
export function centerOf(array: Element, fields: readonly ComparedField[]): Float64Array {
  const hasTexts = fields.some(({ field }) => field.type === 'string');
  const center = hasTexts ? ofTexts(array, fields) : readNumbers(array, fields.length);
  if (center.length !== fields.length)
    throw new PmmlError(array, `holds ${center.length} values; there are ${fields.length} clustering fields`);
  return center;
}

function ofTexts(array: Element, fields: readonly ComparedField[]): Float64Array {
  return Float64Array.from(readTexts(array), (text, index) => {
    const field = fields[index]?.field;
    if (field === undefined) return Number.NaN;
    const value = castText(text, field.type);
    if (value === undefined) throw new PmmlError(array, `'${text}' is not a value of '${field.name}'`);
    return asNumber(field, value);
  });
}
