/** Statistics of counts: those of the records so far against those of the baseline (docs/spec/pmml-clusters.md#baselines). */
import { type Element, PmmlError } from '../../document/element.ts';
import { categoryIndex, type CategoryIndex } from '../../fields/category.ts';
import type { Field } from '../../fields/field.ts';
import { LOOK_BACK_MAX } from '../../fields/look-back.ts';
import { numericField } from '../../fields/numeric-fields.ts';
import type { Row } from '../../fields/row.ts';
import type { ModelContext } from '../model.ts';

/** Scores the record in the row. */
export type Score = (row: Row) => number;

type Statistic = 'chiSquareIndependence' | 'chiSquareDistribution' | 'scalarProduct';

const CELLS_MAX = 100_000;

/** A table of counts with one axis for each field, the last one running fastest. */
interface CountTable {
  readonly axes: readonly Axis[];
  readonly counts: Float64Array;
}

interface Axis {
  readonly size: number;
  readonly indexOf: CategoryIndex;
  /** The field may look back itself. */
  readonly isComputed: boolean;
}

export function readCounts(statistic: Statistic, tests: Element, baseline: Element, context: ModelContext): Score {
  const table = readTable(baseline, tests, context);
  const window = new Window(table, tests, context);
  const measure = measureOf(statistic, tests, table);
  return (row) => (window.add(row) ? measure(window.counts) : Number.NaN);
}

/** Counts of the last records, as many as a model may look back to where the window has no size. A new series begins without any. */
class Window {
  readonly counts: Float64Array;
  readonly #axes: readonly Axis[];
  readonly #weight: (row: Row) => number;
  readonly #size: number;
  /** Cells and weights of the records in the window, as a ring. */
  readonly #cells: number[] = [];
  readonly #weights: number[] = [];
  #at = 0;
  #series = -1;

  constructor(table: CountTable, tests: Element, { scope }: ModelContext) {
    this.#axes = table.axes;
    this.counts = new Float64Array(table.counts.length);
    const name = tests.attribute('weightField');
    this.#weight = name === undefined ? () => 1 : numericField(scope, name, tests).number;
    const size = tests.number('windowSize', 0);
    if (!(Number.isInteger(size) && size >= 0 && size <= LOOK_BACK_MAX))
      throw new PmmlError(tests, `'windowSize' is '${size}'; it is 0 to ${LOOK_BACK_MAX}`);
    this.#size = size === 0 ? LOOK_BACK_MAX : size;
    scope.names.lookBack.add(
      this.#size - 1,
      table.axes.some(({ isComputed }) => isComputed),
    );
  }

  /** @returns false where the record lacks a value, or has one that the table does not list */
  add(row: Row): boolean {
    if (row.series !== this.#series) this.#begin(row);
    let cell = 0;
    for (const { size, indexOf } of this.#axes) {
      const index = indexOf(row);
      if (index < 0) return false;
      cell = cell * size + index;
    }
    const weight = this.#weight(row);
    if (Number.isNaN(weight)) return false;
    this.counts[cell] = (this.counts[cell] as number) + weight;
    this.#keep(cell, weight);
    return true;
  }

  #begin(row: Row): void {
    this.#series = row.series;
    this.counts.fill(0);
    this.#cells.length = 0;
    this.#weights.length = 0;
    this.#at = 0;
  }

  #keep(cell: number, weight: number): void {
    if (this.#cells.length < this.#size) {
      this.#cells.push(cell);
      this.#weights.push(weight);
      return;
    }
    const old = this.#cells[this.#at] as number;
    this.counts[old] = (this.counts[old] as number) - (this.#weights[this.#at] as number);
    this.#cells[this.#at] = cell;
    this.#weights[this.#at] = weight;
    this.#at = (this.#at + 1) % this.#size;
  }
}

function measureOf(statistic: Statistic, tests: Element, { axes, counts }: CountTable): (own: Float64Array) => number {
  switch (statistic) {
    case 'chiSquareIndependence':
      if (axes.length < 2) throw new PmmlError(tests, 'chiSquareIndependence needs a table of two or more fields');
      return (own) => independence(own, counts, axes);
    case 'chiSquareDistribution': {
      const all = total(counts);
      if (!(all > 0)) throw new PmmlError(tests, 'chiSquareDistribution needs a table with counts');
      return (own) => {
        const scale = total(own) / all;
        return chiSquare(own, (cell) => scale * (counts[cell] as number));
      };
    }
    default:
      return scalarProduct(tests, counts);
  }
}

const total = (counts: Float64Array): number => counts.reduce((sum, count) => sum + count, 0);

/** Σ (observed - expected)² / expected, over the cells in which something is expected. */
function chiSquare(observed: Float64Array, expectedIn: (cell: number) => number): number {
  let sum = 0;
  for (let cell = 0; cell < observed.length; cell++) {
    const expected = expectedIn(cell);
    if (expected > 0) sum += ((observed[cell] as number) - expected) ** 2 / expected;
  }
  return sum;
}

/** The records are counted on from the table; in each cell the product of its shares of the axes is expected. */
function independence(own: Float64Array, begin: Float64Array, axes: readonly Axis[]): number {
  const observed = own.map((count, cell) => count + (begin[cell] as number));
  const all = total(observed);
  const margins = axes.map(({ size }) => new Float64Array(size));
  const eachIndex = (cell: number, take: (axis: number, index: number) => void): void => {
    for (let axis = axes.length - 1, rest = cell; axis >= 0; axis--) {
      const { size } = axes[axis] as Axis;
      take(axis, rest % size);
      rest = Math.floor(rest / size);
    }
  };
  observed.forEach((count, cell) => {
    eachIndex(cell, (axis, index) => {
      const margin = margins[axis] as Float64Array;
      margin[index] = (margin[index] as number) + count;
    });
  });
  return chiSquare(observed, (cell) => {
    let expected = all;
    eachIndex(cell, (axis, index) => {
      expected *= (margins[axis]?.[index] as number) / all;
    });
    return expected;
  });
}

/** How alike the directions of the counts are, 1 at most: `SizeWeighted` takes their lengths into account too. */
function scalarProduct(tests: Element, counts: Float64Array): (own: Float64Array) => number {
  const scheme = tests.oneOf('normalizationScheme', ['Independent', 'SizeWeighted', 'none'] as const, 'Independent');
  const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0);
  const squares = dot(counts, counts);
  return (own) => {
    const product = dot(own, counts);
    if (scheme === 'none') return product;
    const ownSquares = dot(own, own);
    return product / (scheme === 'Independent' ? Math.sqrt(ownSquares * squares) : (ownSquares + squares) / 2);
  };
}

function readTable(baseline: Element, tests: Element, context: ModelContext): CountTable {
  const [element] = baseline.childrenOf('CountTable', 'NormalizedCountTable');
  if (element !== undefined) return countedTable(element, tests, context);
  const refs = baseline.childrenOf('FieldRef');
  if (refs.length < 2)
    throw new PmmlError(baseline, 'has neither a CountTable, a NormalizedCountTable, nor two or more FieldRef');
  const axes = refs.map((ref): Axis => {
    const field = context.scope.field(ref.required('field'), ref);
    if (field.order.length === 0)
      throw new PmmlError(ref, `'${field.name}' declares no values, which a table of counts needs`);
    const texts = field.order.map(String);
    return axisOf(field, texts, ref, context);
  });
  return emptyTable(axes, baseline);
}

function axisOf(field: Field, texts: readonly string[], from: Element, { problems }: ModelContext): Axis {
  const indexOf = categoryIndex(field, texts, from, problems);
  return { size: texts.length, indexOf, isComputed: field.ensure !== undefined };
}

function emptyTable(axes: readonly Axis[], from: Element): CountTable {
  const cells = axes.reduce((product, { size }) => product * size, 1);
  if (cells > CELLS_MAX) throw new PmmlError(from, `has ${cells} cells; at most ${CELLS_MAX} are possible`);
  return { axes, counts: new Float64Array(cells) };
}

/** Fields of a table by name, with their values in the order in which they come. */
type Levels = Map<string, Map<string, number>>;

interface Cell {
  readonly values: readonly { readonly field: string; readonly value: string }[];
  readonly count: number;
}

function countedTable(element: Element, tests: Element, context: ModelContext): CountTable {
  const cells: Cell[] = [];
  collect(element, [], cells, tests.required('field'), context);
  if (cells.length === 0) throw new PmmlError(element, 'has no counts');
  const levels: Levels = new Map();
  for (const { values } of cells)
    for (const { field, value } of values) {
      const level = levels.get(field) ?? new Map<string, number>();
      levels.set(field, level);
      if (!level.has(value)) level.set(value, level.size);
    }
  const axes = [...levels].map(([name, values]): Axis => {
    const field = context.scope.field(name, element);
    return axisOf(field, [...values.keys()], element, context);
  });
  const table = emptyTable(axes, element);
  for (const { values, count } of cells) {
    if (values.length !== axes.length)
      throw new PmmlError(element, `a count is about ${values.length} fields; there are ${axes.length}`);
    let at = 0;
    for (const [name, level] of levels) {
      const value = values.find(({ field }) => field === name)?.value;
      if (value === undefined) throw new PmmlError(element, `a count has no value of '${name}'`);
      at = at * level.size + (level.get(value) as number);
    }
    table.counts[at] = (table.counts[at] as number) + count;
  }
  return table;
}

/** Counts stand in FieldValueCounts, inside of the FieldValues of further fields. */
function collect(element: Element, above: Cell['values'], cells: Cell[], tested: string, context: ModelContext): void {
  const { nesting } = context.scope.names;
  nesting.enter(element);
  try {
    for (const child of element.childrenOf('FieldValue', 'FieldValueCount')) {
      const values = [...above, { field: child.attribute('field') ?? tested, value: child.required('value') }];
      const count = child.number('count');
      if (count !== undefined) cells.push({ values, count });
      else if (child.name === 'FieldValueCount') throw new PmmlError(child, "the attribute 'count' is missing");
      else collect(child, values, cells, tested, context);
    }
  } finally {
    nesting.leave();
  }
}
