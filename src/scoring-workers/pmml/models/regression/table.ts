import { type Element, PmmlError } from '../../document/element.ts';
import { type CategoryIndex, categoryIndex } from '../../fields/category.ts';
import type { Field } from '../../fields/field.ts';
import { numericField } from '../../fields/numeric-fields.ts';
import type { Row } from '../../fields/row.ts';
import type { Expression } from '../../fields/expression.ts';
import { isNumeric, textOf } from '../../fields/types.ts';
import type { ModelContext, Trace } from '../model.ts';

/** CategoricalPredictors of one field that stand beside each other: at most one of them applies. */
interface Switch {
  readonly field: Field;
  readonly index: CategoryIndex;
  readonly coefficients: Float64Array;
}

interface Term {
  readonly coefficient: number;
  readonly factors: readonly Expression[];
  readonly names: string;
}

/** A RegressionTable: an intercept and what fields add to it (docs/spec/pmml-equations.md#regression). */
export class RegressionTable {
  readonly targetCategory: string | undefined;
  readonly intercept: number;
  readonly #fields: readonly Field[];
  readonly #slots: Int32Array;
  readonly #coefficients: Float64Array;
  /** Undefined where all are 1. */
  readonly #exponents: Float64Array | undefined;
  readonly #switches: readonly Switch[];
  readonly #terms: readonly Term[];

  /**
   * Reads a `RegressionTable`, or, without an element, the table of a category that the document leaves out: always 0.
   *
   * @throws PmmlError where a field is missing or holds texts in place of numbers
   */
  constructor(context: ModelContext, element: Element | undefined, targetCategory: string | undefined) {
    const { scope } = context;
    this.targetCategory = targetCategory;
    this.intercept = element?.number('intercept', 0) ?? 0;
    const numeric = element?.childrenOf('NumericPredictor') ?? [];
    this.#fields = numeric.map((predictor) => numericField(scope, nameOf(predictor), predictor));
    this.#slots = Int32Array.from(this.#fields, ({ slot }) => slot);
    this.#coefficients = Float64Array.from(numeric, (predictor) => predictor.requiredNumber('coefficient'));
    const exponents = Float64Array.from(numeric, (predictor) => predictor.number('exponent', 1));
    this.#exponents = exponents.every((exponent) => exponent === 1) ? undefined : exponents;
    this.#switches = readSwitches(element?.childrenOf('CategoricalPredictor') ?? [], context);
    this.#terms = (element?.childrenOf('PredictorTerm') ?? []).map((term) => readTerm(term, context));
  }

  /** Fields whose slots `value` reads; `ensure` must have filled them. */
  get fields(): readonly Field[] {
    return this.#fields;
  }

  get bytes(): number {
    return (
      this.#slots.length * 20 +
      this.#switches.reduce((sum, { coefficients }) => sum + 200 + coefficients.length * 16, 0) +
      this.#terms.length * 200
    );
  }

  /** The linear predictor; NaN where a field that counts is missing. */
  value(row: Row): number {
    const { numbers } = row;
    const slots = this.#slots;
    const coefficients = this.#coefficients;
    const exponents = this.#exponents;
    let sum = 0;
    if (exponents === undefined)
      for (let i = 0; i < slots.length; i++)
        sum += (coefficients[i] as number) * (numbers[slots[i] as number] as number);
    else
      for (let i = 0; i < slots.length; i++)
        sum += (coefficients[i] as number) * power(numbers[slots[i] as number] as number, exponents[i] as number);
    for (const { index, coefficients: steps } of this.#switches) {
      const found = index(row);
      if (found >= 0) sum += steps[found] as number;
    }
    for (const { coefficient, factors } of this.#terms) {
      let product = coefficient;
      for (const factor of factors) product *= factor.number(row);
      sum += product;
    }
    return sum + this.intercept;
  }

  /** The same with every step rounded to 32 bits (`x-mathContext="float"`). */
  floatValue(row: Row): number {
    const { numbers } = row;
    const f = Math.fround;
    let sum = 0;
    for (let i = 0; i < this.#slots.length; i++) {
      const exponent = this.#exponents?.[i] ?? 1;
      const number = f(numbers[this.#slots[i] as number] as number);
      const factor = exponent === 1 ? number : f(power(number, exponent));
      sum = f(sum + f(f(this.#coefficients[i] as number) * factor));
    }
    for (const { index, coefficients } of this.#switches) {
      const found = index(row);
      if (found >= 0) sum = f(sum + f(coefficients[found] as number));
    }
    for (const { coefficient, factors } of this.#terms) {
      let product = f(coefficient);
      for (const factor of factors) product = f(product * f(factor.number(row)));
      sum = f(sum + product);
    }
    return f(sum + f(this.intercept));
  }

  explain(row: Row, trace: Trace): void {
    const show = (number: number): string => (Number.isNaN(number) ? 'missing' : textOf(number, 'double'));
    trace.line(`Applied [Intercept], the value is [${show(this.intercept)}]`);
    for (const [i, field] of this.#fields.entries()) {
      const coefficient = this.#coefficients[i] as number;
      const exponent = this.#exponents?.[i] ?? 1;
      const value = coefficient * power(row.numbers[field.slot] as number, exponent);
      trace.line(
        `Applied [NumericPredictor] [coefficient: ${show(coefficient)}, exponent: ${show(exponent)}] on field(s) [${field.name}], the value is [${show(value)}]`,
      );
    }
    for (const { field, index, coefficients } of this.#switches) {
      const found = index(row);
      const value = found >= 0 ? (coefficients[found] as number) : 0;
      trace.line(
        `Applied [CategoricalPredictor] [coefficient: ${show(value)}] on field(s) [${field.name}], the value is [${show(value)}]`,
      );
    }
    for (const { coefficient, factors, names } of this.#terms) {
      const value = factors.reduce((product, factor) => product * factor.number(row), coefficient);
      trace.line(
        `Applied [PredictorTerm] [coefficient: ${show(coefficient)}] on field(s) [${names}], the value is [${show(value)}]`,
      );
    }
  }
}

/** A power that is missing where the number is, also with the exponent 0. */
const power = (number: number, exponent: number): number => (Number.isNaN(number) ? number : number ** exponent);

/** The name of a predictor's field: `name`, in some documents `field`. */
const nameOf = (predictor: Element): string => predictor.attribute('field') ?? predictor.required('name');

function readSwitches(predictors: readonly Element[], context: ModelContext): Switch[] {
  const switches: Switch[] = [];
  for (let i = 0; i < predictors.length; ) {
    const first = predictors[i] as Element;
    const name = nameOf(first);
    const texts: string[] = [];
    const coefficients: number[] = [];
    for (; i < predictors.length && nameOf(predictors[i] as Element) === name; i++) {
      const predictor = predictors[i] as Element;
      texts.push(predictor.required('value'));
      coefficients.push(predictor.requiredNumber('coefficient'));
    }
    const field = context.scope.field(name, first);
    const index = categoryIndex(field, texts, first, context.problems);
    switches.push({ field, index, coefficients: Float64Array.from(coefficients) });
  }
  return switches;
}

function readTerm(element: Element, context: ModelContext): Term {
  const references = element.childrenOf('FieldRef');
  if (references.length === 0) throw new PmmlError(element, 'has no FieldRef');
  const factors = references.map((reference) => {
    const factor = context.expression(reference);
    if (factor.type !== undefined && !isNumeric(factor.type))
      throw new PmmlError(reference, `'${reference.attribute('field')}' is a field of texts; numbers are needed here`);
    return factor;
  });
  const names = references.map((reference) => reference.required('field')).join(', ');
  return { coefficient: element.requiredNumber('coefficient'), factors, names };
}
