import { type Element, PmmlError } from '../document/element.ts';
import { castText, textOf, type Value } from '../fields/types.ts';
import type { Prediction, TargetField } from './model.ts';
import { highestOf } from '../math/vectors.ts';

/** What a `Target` makes of a prediction (Targets of the standard). */
export type ApplyTarget = (prediction: Prediction) => void;

/**
 * @param isFloat whether the model computes with 32 bits (`x-mathContext="float"`)
 * @returns undefined where the element changes nothing
 */
export function compileTarget(
  element: Element,
  target: TargetField | undefined,
  isFloat: boolean,
): ApplyTarget | undefined {
  const round = isFloat ? Math.fround : (number: number): number => number;
  const min = element.number('min', Number.NEGATIVE_INFINITY);
  const max = element.number('max', Number.POSITIVE_INFINITY);
  const factor = round(element.number('rescaleFactor', 1));
  const added = round(element.number('rescaleConstant', 0));
  const cast = castOf(element);
  const absent = readAbsent(element, target);
  const displays = readDisplays(element);
  const isPlain = min === Number.NEGATIVE_INFINITY && max === Number.POSITIVE_INFINITY && factor === 1 && added === 0;
  if (isPlain && cast === undefined && absent === undefined && displays.size === 0) return undefined;
  return (prediction) => {
    if (prediction.value === undefined) absent?.(prediction);
    else if (!Number.isNaN(prediction.number) && prediction.categories.length === 0) {
      const clamped = Math.min(Math.max(prediction.number, min), max);
      const scaled = round(round(clamped * factor) + added);
      prediction.setNumber(cast === undefined ? scaled : cast(scaled));
    }
    if (displays.size > 0 && prediction.value !== undefined)
      prediction.display = displays.get(textOf(prediction.value, undefined));
  };
}

function castOf(element: Element): ((number: number) => number) | undefined {
  const word = element.attribute('castInteger');
  if (word === undefined) return undefined;
  const casts = { round: Math.round, ceiling: Math.ceil, floor: Math.floor } as const;
  return casts[element.oneOf('castInteger', ['round', 'ceiling', 'floor'] as const, 'round')];
}

/** What stands in for a missing prediction: a default value, or the category with the highest prior probability. */
function readAbsent(element: Element, target: TargetField | undefined): ((prediction: Prediction) => void) | undefined {
  const values = element.childrenOf('TargetValue');
  const byDefault = values.find((value) => value.attribute('defaultValue') !== undefined);
  if (byDefault !== undefined) {
    const number = byDefault.requiredNumber('defaultValue');
    return (prediction) => prediction.setNumber(number);
  }
  const priors = values.filter((value) => value.attribute('priorProbability') !== undefined);
  if (priors.length === 0) return undefined;
  const categories: Value[] = priors.map((prior) => {
    const text = prior.required('value');
    const value = castText(text, target?.type ?? 'string');
    if (value === undefined) throw new PmmlError(prior, `'${text}' is no ${target?.type ?? 'string'}`);
    return value;
  });
  const probabilities = priors.map((prior) => prior.requiredNumber('priorProbability'));
  const best = probabilities.indexOf(highestOf(probabilities));
  return (prediction) => {
    prediction.setValue(categories[best]);
    categories.forEach((category, i) => {
      const index = prediction.indexOf(category);
      if (index !== -1) prediction.probabilities[index] = probabilities[i] as number;
    });
  };
}

function readDisplays(element: Element): ReadonlyMap<string, string> {
  const displays = new Map<string, string>();
  for (const value of element.childrenOf('TargetValue')) {
    const text = value.attribute('value');
    // Up to PMML 3.1 by another name.
    const display = value.attribute('displayValue') ?? value.attribute('rawDataValue');
    if (text !== undefined && display !== undefined) displays.set(text, display);
  }
  return displays;
}
