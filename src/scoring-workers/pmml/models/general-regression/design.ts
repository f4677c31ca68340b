/** The predictors of a GeneralRegressionModel: what each parameter's coefficient is multiplied with. */
import { type NumberMatrix, readMatrix } from '../../document/arrays.ts';
import { type Element, numberOf, PmmlError } from '../../document/element.ts';
import { type CategoryIndex, categoryIndex, MISSING } from '../../fields/category.ts';
import type { Field } from '../../fields/field.ts';
import { ensureFields, numericField } from '../../fields/numeric-fields.ts';
import type { Row } from '../../fields/row.ts';
import { isNumeric, textOf } from '../../fields/types.ts';
import { categoryOf, type ModelContext, type TargetField } from '../model.ts';

/** The target category of a cell, as the target's values are written. */
export function targetCategoryOf(cell: Element, target: TargetField | undefined): string | undefined {
  const text = cell.attribute('targetCategory');
  return text === undefined ? undefined : textOf(categoryOf(text, target), target?.type);
}

/** One factor of a parameter: 1 where the field has the value of this index, or a column of the contrast matrix. */
interface FactorCell {
  readonly factor: number;
  readonly index: number;
  readonly contrasts: NumberMatrix | undefined;
}

interface CovariateCell {
  readonly slot: number;
  readonly exponent: number;
}

interface Column {
  readonly factors: readonly FactorCell[];
  readonly covariates: readonly CovariateCell[];
}

/** A factor of the model: its values in the order of `texts`. */
interface Factor {
  readonly field: Field;
  readonly texts: string[];
  readonly indexes: Map<string, number>;
  /** By value of the field (row) and value that a cell names (column). */
  readonly contrasts: NumberMatrix | undefined;
}

/**
 * Columns of the design matrix, made on demand: one for each parameter and target category that the ParamMatrix names.
 * `compute` fills `values` for a record.
 */
export class Design {
  values = new Float64Array();
  readonly #context: ModelContext;
  /** Cells by parameter by target category; '' where the cell has none. */
  readonly #cells = new Map<string, Map<string, Element[]>>();
  readonly #factors = new Map<string, Factor>();
  readonly #factorNumbers = new Map<string, number>();
  readonly #covariates = new Map<string, Field>();
  readonly #columns: Column[] = [];
  readonly #columnOf = new Map<string, number>();
  #indexes: readonly CategoryIndex[] = [];
  #found = new Int32Array();
  #ensure: ((row: Row) => void) | undefined;

  constructor(context: ModelContext) {
    this.#context = context;
    const { element } = context;
    for (const predictor of element.child('FactorList')?.childrenOf('Predictor') ?? []) this.#addFactor(predictor);
    for (const predictor of element.child('CovariateList')?.childrenOf('Predictor') ?? []) {
      const name = predictor.required('name');
      this.#covariates.set(name, numericField(context.scope, name, predictor));
    }
    for (const cell of element.child('PPMatrix')?.childrenOf('PPCell') ?? []) {
      const category = targetCategoryOf(cell, context.target) ?? '';
      const parameters = this.#cells.get(category) ?? new Map<string, Element[]>();
      this.#cells.set(category, parameters);
      const parameter = cell.required('parameterName');
      const cells = parameters.get(parameter);
      if (cells === undefined) parameters.set(parameter, [cell]);
      else cells.push(cell);
    }
  }

  #addFactor(predictor: Element, name = predictor.required('name')): Factor {
    const field = this.#context.scope.field(name, predictor);
    const categories = predictor.child('Categories')?.childrenOf('Category');
    const matrix = predictor.child('Matrix');
    const texts =
      categories?.map((category) => category.required('value')) ??
      field.order.map((value) => textOf(value, field.type));
    const contrasts = matrix === undefined ? undefined : readContrasts(matrix, texts);
    const indexes = new Map(texts.map((text, index) => [text, index]));
    const factor: Factor = { field, texts, indexes, contrasts };
    this.#factorNumbers.set(name, this.#factors.size);
    this.#factors.set(name, factor);
    return factor;
  }

  /**
   * Number of the column of a parameter; -1 for one without cells, such as the intercept, whose value is always 1.
   *
   * @param category the target category whose coefficient it is; a cell of that category goes before one without
   */
  column(parameter: string, category: string | undefined): number {
    const ofCategory = category === undefined ? undefined : this.#cells.get(category);
    const isOwn = ofCategory !== undefined;
    const parameters = ofCategory ?? this.#cells.get('');
    if (parameters === undefined && this.#cells.size > 0)
      throw new PmmlError(this.#context.element, `the PPMatrix has no cells of the target category '${category}'`);
    const cells = parameters?.get(parameter);
    if (cells === undefined) return -1;
    const key = JSON.stringify([isOwn ? category : null, parameter]);
    const known = this.#columnOf.get(key);
    if (known !== undefined) return known;
    const factors: FactorCell[] = [];
    const covariates: CovariateCell[] = [];
    for (const cell of cells) this.#addCell(cell, factors, covariates);
    const number = this.#columns.length;
    this.#columns.push({ factors, covariates });
    this.#columnOf.set(key, number);
    return number;
  }

  #addCell(cell: Element, factors: FactorCell[], covariates: CovariateCell[]): void {
    const name = cell.attribute('field') ?? cell.required('predictorName');
    const text = cell.required('value');
    const factor = this.#factors.get(name) ?? (this.#isFactor(name, cell) ? this.#addFactor(cell, name) : undefined);
    if (factor !== undefined) {
      factors.push(this.#factorCell(cell, { name, factor, text }));
      return;
    }
    const field = this.#covariates.get(name) ?? numericField(this.#context.scope, name, cell);
    this.#covariates.set(name, field);
    const exponent = numberOf(text);
    if (exponent === undefined)
      throw new PmmlError(cell, `'value' is '${text}'; of the covariate '${name}' it is an exponent`);
    covariates.push({ slot: field.slot, exponent });
  }

  /** A predictor of neither list is one or the other by its type. */
  #isFactor(name: string, cell: Element): boolean {
    if (this.#covariates.has(name)) return false;
    const field = this.#context.scope.field(name, cell);
    return !isNumeric(field.type) || field.optype !== 'continuous';
  }

  #factorCell(cell: Element, { name, factor, text }: { name: string; factor: Factor; text: string }): FactorCell {
    const number = this.#factorNumbers.get(name) as number;
    const { texts, indexes, contrasts } = factor;
    let index = indexes.get(text);
    if (contrasts !== undefined) {
      if (index === undefined) throw new PmmlError(cell, `'${text}' is not a category of '${name}'`);
      if (index >= contrasts.columns)
        throw new PmmlError(cell, `the contrast matrix of '${name}' has no column for the category '${text}'`);
      return { factor: number, index, contrasts };
    }
    if (index === undefined) {
      index = texts.push(text) - 1;
      indexes.set(text, index);
    }
    return { factor: number, index, contrasts };
  }

  /** After all columns are there: makes ready to compute them. */
  finish(): void {
    const { element, problems } = this.#context;
    const fields = [...this.#factors.values()];
    this.#indexes = fields.map(({ field, texts }) => categoryIndex(field, texts, element, problems));
    this.#found = new Int32Array(fields.length);
    this.#ensure = ensureFields(this.#covariates.values());
    this.values = new Float64Array(this.#columns.length);
  }

  get bytes(): number {
    return this.#columns.reduce(
      (sum, { factors, covariates }) => sum + 80 + covariates.length * 40 + factors.length * 64,
      0,
    );
  }

  /** Fills `values`; NaN where a field that counts is missing. */
  compute(row: Row): void {
    this.#ensure?.(row);
    const found = this.#found;
    for (let i = 0; i < found.length; i++) found[i] = (this.#indexes[i] as CategoryIndex)(row);
    for (let i = 0; i < this.#columns.length; i++) this.values[i] = this.#valueOf(this.#columns[i] as Column, row);
  }

  #valueOf({ factors, covariates }: Column, row: Row): number {
    let product = 1;
    for (const { factor, index, contrasts } of factors) {
      const found = this.#found[factor] as number;
      if (found === MISSING) return Number.NaN;
      if (contrasts === undefined) product *= found === index ? 1 : 0;
      else if (found < 0) return Number.NaN;
      else product *= contrasts.values[found * contrasts.columns + index] as number;
    }
    // What a factor takes out does not ask for its covariates.
    if (product === 0) return 0;
    for (const { slot, exponent } of covariates) {
      const number = row.numbers[slot] as number;
      if (Number.isNaN(number)) return number;
      product *= exponent === 1 ? number : number ** exponent;
    }
    return product;
  }
}

function readContrasts(element: Element, texts: readonly string[]): NumberMatrix {
  const matrix = readMatrix(element);
  const { rows, columns } = matrix;
  if (rows !== texts.length || (columns !== rows && columns !== rows - 1))
    throw new PmmlError(element, `has ${rows} rows, ${columns} columns; the predictor has ${texts.length} categories`);
  return matrix;
}
