import { type Element, PmmlError } from '../../document/element.ts';
import { textOf } from '../../fields/types.ts';
import type { TargetField, Trace } from '../model.ts';
import { type Design, targetCategoryOf } from './design.ts';

/** Coefficients of one target category, or of all: a linear combination of columns of the design. */
export class Coefficients {
  readonly #parameters: readonly string[];
  readonly #betas: Float64Array;
  readonly #columns: Int32Array;

  /** @param cells `PCell` elements */
  constructor(cells: readonly Element[], design: Design, category: string | undefined) {
    this.#parameters = cells.map((cell) => cell.required('parameterName'));
    this.#betas = Float64Array.from(cells, (cell) => cell.requiredNumber('beta'));
    this.#columns = Int32Array.from(this.#parameters, (parameter) => design.column(parameter, category));
  }

  get bytes(): number {
    return this.#betas.length * 40;
  }

  /** The linear predictor; NaN where a column that counts is missing. */
  dot(values: Float64Array): number {
    const betas = this.#betas;
    const columns = this.#columns;
    let sum = 0;
    for (let i = 0; i < betas.length; i++) {
      const column = columns[i] as number;
      sum += column === -1 ? (betas[i] as number) : (betas[i] as number) * (values[column] as number);
    }
    return sum;
  }

  explain(values: Float64Array, trace: Trace): void {
    this.#parameters.forEach((parameter, i) => {
      const column = this.#columns[i] as number;
      const factor = column === -1 ? 1 : (values[column] as number);
      const beta = this.#betas[i] as number;
      trace.line(
        `Applied [Parameter: ${parameter}] [beta: ${shown(beta)}] on [${shown(factor)}], the value is [${shown(beta * factor)}]`,
      );
    });
  }
}

export const shown = (number: number): string => (Number.isNaN(number) ? 'missing' : textOf(number, 'double'));

/** `PCell` elements by target category; '' for those of all categories. */
export function cellsByCategory(element: Element, target: TargetField | undefined): Map<string, Element[]> {
  const matrix = element.child('ParamMatrix');
  if (matrix === undefined) throw new PmmlError(element, 'has no ParamMatrix');
  const groups = new Map<string, Element[]>();
  for (const cell of matrix.childrenOf('PCell')) {
    const category = targetCategoryOf(cell, target) ?? '';
    const group = groups.get(category);
    if (group === undefined) groups.set(category, [cell]);
    else group.push(cell);
  }
  return groups;
}
