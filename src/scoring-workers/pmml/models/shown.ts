import { textOf } from '../fields/types.ts';
import type { EvaluatedModel } from './model.ts';

/** A prediction as an explanation shows it: `[X (STRING)]`. */
export function shownPrediction(model: EvaluatedModel): string {
  const { value } = model.prediction;
  if (value === undefined) return '[missing]';
  const type = typeof value === 'string' ? 'STRING' : typeof value === 'boolean' ? 'BOOLEAN' : 'DOUBLE';
  return `[${textOf(value, undefined)} (${(model.target?.type ?? type).toUpperCase()})]`;
}
