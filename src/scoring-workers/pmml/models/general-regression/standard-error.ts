import { type Element, PmmlError } from '../../document/element.ts';
import type { ModelContext } from '../model.ts';
import type { Design } from './design.ts';

/** Features of outputs that need the standard error of the mean. */
const FEATURES: ReadonlySet<string> = new Set(['standardError', 'confidenceIntervalLower', 'confidenceIntervalUpper']);

function outputsOf({ element }: ModelContext): readonly Element[] {
  const outputs = element.child('Output')?.childrenOf('OutputField') ?? [];
  return outputs.filter((output) => FEATURES.has(output.attribute('feature') ?? ''));
}

/** Warns of outputs that ask for a standard error where there is none. */
export function warnOfStandardError(context: ModelContext, reason: string): void {
  for (const output of outputsOf(context)) context.problems.warn(output, `the field has no value: ${reason}`);
}

/**
 * The standard error of the mean by the values of the design: √(xᵀ·Cov·x), Cov of the PCovMatrix.
 *
 * @param design not finished yet
 * @param category of the coefficients
 * @returns undefined where no output asks for it, or the document has no PCovMatrix
 */
export function readStandardError(
  context: ModelContext,
  design: Design,
  category: string | undefined,
): ((values: Float64Array) => number) | undefined {
  const matrix = context.element.child('PCovMatrix');
  if (outputsOf(context).length === 0) return undefined;
  if (matrix === undefined) {
    warnOfStandardError(context, 'the standard error needs a PCovMatrix');
    return undefined;
  }
  const parameters = (context.element.child('ParameterList')?.childrenOf('Parameter') ?? []).map((parameter) =>
    parameter.required('name'),
  );
  const indexes = new Map(parameters.map((name, index) => [name, index]));
  const columns = parameters.map((name) => design.column(name, category));
  const indexOf = (cell: Element, attribute: string): number => {
    const index = indexes.get(cell.required(attribute));
    if (index === undefined) throw new PmmlError(cell, `no Parameter has the name '${cell.required(attribute)}'`);
    return index;
  };
  // A pair of parameters may stand once or in both orders.
  const pairs = new Map<string, { readonly a: number; readonly b: number; readonly factor: number }>();
  for (const cell of matrix.childrenOf('PCovCell')) {
    const [row, column] = [indexOf(cell, 'pRow'), indexOf(cell, 'pCol')];
    const key = `${Math.min(row, column)} ${Math.max(row, column)}`;
    const factor = cell.requiredNumber('value') * (row === column ? 1 : 2);
    pairs.set(key, { a: columns[row], b: columns[column], factor });
  }
  const cells = [...pairs.values()];
  return (values) => {
    let sum = 0;
    for (const { a, b, factor } of cells) sum += factor * (a === -1 ? 1 : values[a]) * (b === -1 ? 1 : values[b]);
    return Math.sqrt(sum);
  };
}
