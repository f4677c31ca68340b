/** Arrays, sparse arrays and matrices of numbers, and arrays of texts (docs/spec/pmml-equations.md#arrays). */
import { type Element, numberOf, PmmlError } from './element.ts';

/** Values that a sparse array or a matrix may have without being in the document one by one. */
const SPREAD_VALUES_MAX = 4_000_000;

/** Some documents write the array's name in small letters. */
export const ARRAY_NAMES = ['Array', 'array', 'INT-SparseArray', 'REAL-SparseArray'] as const;

const isSparse = ({ name }: Element): boolean => name === 'INT-SparseArray' || name === 'REAL-SparseArray';

/** Numbers of which most may be the same. */
export interface SparseNumbers {
  readonly length: number;
  /** Value at all places that `indexes` does not name. */
  readonly byDefault: number;
  /** Places from 0, in rising order. */
  readonly indexes: Int32Array;
  readonly values: Float64Array;
}

/** A table of numbers, row after row. */
export interface NumberMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
}

/** Texts of an `Array`: separated by blanks; quotes protect blanks, and `\"` stands for a quote among them. */
export function readTexts(element: Element): string[] {
  const texts = splitTexts(element.text, element);
  checkCount(element, texts.length);
  return texts;
}

/**
 * Numbers of an `Array` or of a sparse array, one by one.
 *
 * @param length of a sparse array that does not tell its own (`n`)
 * @throws PmmlError where one is not a number, or where there are more or fewer than `n` says
 */
export function readNumbers(element: Element, length?: number): Float64Array {
  if (isSparse(element)) return spread(readSparse(element, length), element);
  const numbers = parseNumbers(element);
  checkCount(element, numbers.length);
  return numbers;
}

/** Numbers of a sparse array, or of an `Array` as one that leaves nothing out. */
export function readSparse(element: Element, expected?: number): SparseNumbers {
  if (!isSparse(element)) {
    const values = readNumbers(element);
    return { length: values.length, byDefault: 0, indexes: Int32Array.from(values.keys()), values };
  }
  const kind = element.name === 'INT-SparseArray' ? 'INT-Entries' : 'REAL-Entries';
  const indices = element.child('Indices');
  const entries = element.child(kind);
  const places = indices === undefined ? new Float64Array() : parseNumbers(indices);
  const values = entries === undefined ? new Float64Array() : parseNumbers(entries);
  if (places.length !== values.length)
    throw new PmmlError(element, `has ${places.length} Indices and ${values.length} ${kind}`);
  const highest = places.reduce((most, place) => Math.max(most, place), 0);
  const length = count(element, 'n') ?? Math.max(highest, expected ?? 0);
  const order = [...places.keys()].sort((a, b) => (places[a] as number) - (places[b] as number));
  let before = 0;
  for (const at of order) {
    const place = places[at] as number;
    if (!Number.isInteger(place) || place < 1 || place > length)
      throw new PmmlError(element, `the index ${place} is not between 1 and ${length}`);
    if (place === before) throw new PmmlError(element, `the index ${place} is there twice`);
    before = place;
  }
  return {
    length,
    byDefault: element.number('defaultValue', 0),
    indexes: Int32Array.from(order, (at) => (places[at] as number) - 1),
    values: Float64Array.from(order, (at) => values[at] as number),
  };
}

/** The first child that is an array of numbers. */
export function arrayIn(element: Element): Element {
  const [array] = element.childrenOf(...ARRAY_NAMES);
  if (array === undefined) throw new PmmlError(element, `has none of ${ARRAY_NAMES.join(', ')}`);
  return array;
}

function spread(sparse: SparseNumbers, element: Element): Float64Array {
  checkSize(element, sparse.length);
  const values = new Float64Array(sparse.length).fill(sparse.byDefault);
  for (let i = 0; i < sparse.indexes.length; i++) values[sparse.indexes[i] as number] = sparse.values[i] as number;
  return values;
}

/**
 * A `Matrix` of any kind: rows as arrays, the diagonal alone, the lower half, or cells.
 *
 * @throws PmmlError where its parts do not fit together
 */
export function readMatrix(element: Element): NumberMatrix {
  const word = element.oneOf('kind', ['any', 'symmetric', 'diagonal', 'sparse'] as const, 'any');
  // Not of the standard, but what some tools call a matrix of cells.
  const kind = word === 'sparse' ? 'any' : word;
  const arrays = element.childrenOf(...ARRAY_NAMES);
  const cells = element.childrenOf('MatCell');
  if (arrays.length > 0)
    return matrixOfArrays(
      element,
      kind,
      arrays.map((array) => readNumbers(array, element.number('nbCols'))),
    );
  const highest = (name: string): number => cells.reduce((most, cell) => Math.max(most, cell.requiredNumber(name)), 0);
  const isSquare = kind !== 'any';
  const side = isSquare ? Math.max(highest('row'), highest('col')) : 0;
  const rows = count(element, 'nbRows') ?? (isSquare ? side : highest('row'));
  const columns = count(element, 'nbCols') ?? (isSquare ? rows : highest('col'));
  const matrix = emptyMatrix(element, rows, columns);
  for (const cell of cells) {
    const row = cell.requiredNumber('row');
    const column = cell.requiredNumber('col');
    const value = numberOf(cell.text);
    if (value === undefined) throw new PmmlError(cell, `'${cell.text.trim()}' is not a number`);
    if (!isPlace(row, rows) || !isPlace(column, columns))
      throw new PmmlError(cell, `row ${row}, column ${column} is not in a matrix of ${rows} rows, ${columns} columns`);
    matrix.values[(row - 1) * columns + column - 1] = value;
    if (kind === 'symmetric' && isPlace(column, rows) && isPlace(row, columns))
      matrix.values[(column - 1) * columns + row - 1] = value;
  }
  return matrix;
}

const isPlace = (number: number, most: number): boolean => Number.isInteger(number) && number >= 1 && number <= most;

function emptyMatrix(element: Element, rows: number, columns: number): NumberMatrix {
  checkSize(element, rows * columns);
  const values = new Float64Array(rows * columns).fill(element.number('offDiagDefault', 0));
  const diagonal = element.number('diagDefault', 0);
  for (let i = 0; i < Math.min(rows, columns); i++) values[i * columns + i] = diagonal;
  return { rows, columns, values };
}

function matrixOfArrays(
  element: Element,
  kind: 'any' | 'symmetric' | 'diagonal',
  arrays: readonly Float64Array[],
): NumberMatrix {
  const [first] = arrays as readonly [Float64Array];
  if (kind === 'diagonal') {
    const side = first.length;
    if (arrays.length !== 1) throw new PmmlError(element, `is diagonal and has ${arrays.length} arrays, not one`);
    checkSides(element, side, side);
    const matrix = emptyMatrix(element, side, side);
    first.forEach((value, i) => {
      matrix.values[i * side + i] = value;
    });
    return matrix;
  }
  const rows = arrays.length;
  const isHalf = kind === 'symmetric' && arrays.every(({ length }, i) => length === i + 1);
  const columns = isHalf ? rows : first.length;
  checkSides(element, rows, columns);
  if (isHalf) checkSize(element, rows * columns);
  const values = new Float64Array(rows * columns);
  arrays.forEach((array, row) => {
    if (!isHalf && array.length !== columns)
      throw new PmmlError(element, `row ${row + 1} has ${array.length} numbers, the first one ${columns}`);
    array.forEach((value, column) => {
      values[row * columns + column] = value;
      if (isHalf) values[column * columns + row] = value;
    });
  });
  return { rows, columns, values };
}

function checkSides(element: Element, rows: number, columns: number): void {
  const wantedRows = count(element, 'nbRows') ?? rows;
  const wantedColumns = count(element, 'nbCols') ?? columns;
  if (wantedRows !== rows || wantedColumns !== columns)
    throw new PmmlError(
      element,
      `has ${rows} rows, ${columns} columns; its attributes say ${wantedRows} rows, ${wantedColumns} columns`,
    );
}

function checkSize(element: Element, values: number): void {
  if (!(values <= SPREAD_VALUES_MAX))
    throw new PmmlError(element, `has ${values} values; at most ${SPREAD_VALUES_MAX} are possible`);
}

function checkCount(element: Element, found: number): void {
  const wanted = count(element, 'n');
  if (wanted !== undefined && wanted !== found)
    throw new PmmlError(element, `has ${found} values; its attribute 'n' says ${wanted}`);
}

function count(element: Element, name: string): number | undefined {
  const number = element.number(name);
  if (number !== undefined && (!Number.isInteger(number) || number < 0))
    throw new PmmlError(element, `'${name}' is '${number}'; it is a whole number from 0`);
  return number;
}

function parseNumbers(element: Element): Float64Array {
  const text = element.text.trim();
  if (text === '') return new Float64Array();
  return Float64Array.from(text.split(/[\s,]+/), (word) => {
    const bare = word.startsWith('"') && word.endsWith('"') ? word.slice(1, -1) : word;
    const number = numberOf(bare);
    if (number === undefined) throw new PmmlError(element, `'${word}' is not a number`);
    return number;
  });
}

function splitTexts(text: string, element: Element): string[] {
  const texts: string[] = [];
  let i = 0;
  const isBlank = (): boolean => /\s/.test(text[i] as string);
  while (i < text.length) {
    if (isBlank()) {
      i++;
      continue;
    }
    if (text[i] !== '"') {
      const from = i;
      while (i < text.length && !isBlank()) i++;
      texts.push(text.slice(from, i));
      continue;
    }
    let quoted = '';
    for (i++; text[i] !== '"'; i++) {
      if (i >= text.length) throw new PmmlError(element, 'a quote is not closed');
      if (text[i] === '\\' && text[i + 1] === '"') i++;
      quoted += text[i];
    }
    texts.push(quoted);
    i++;
  }
  return texts;
}
