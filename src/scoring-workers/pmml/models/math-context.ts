import type { Element } from '../document/element.ts';
import type { ModelContext } from './model.ts';

/** Whether a model computes with 32 bits: the attribute `x-mathContext` of the JPMML tools. */
export function isFloat(element: Element): boolean {
  return element.oneOf('x-mathContext', ['float', 'double'] as const, 'double') === 'float';
}

/** For families that compute with 64 bits in any case. */
export function warnOfFloat({ element, problems }: ModelContext): void {
  if (isFloat(element)) problems.warn(element, "'x-mathContext' is 'float'; this kind of model computes with 64 bits");
}
