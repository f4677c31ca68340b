import { type Element, PmmlError } from '../document/element.ts';
import { dataTypeOf } from '../fields/data-field.ts';
import { constant, type Expression, ofValues, replacementOf } from '../fields/expression.ts';
import type { Row } from '../fields/row.ts';
import type { Scope } from '../fields/scope.ts';
import { castText, type DataType, type Value } from '../fields/types.ts';
import { tableOf } from '../fields/tables.ts';

/** Rows by the value of a column, level by level; the last level holds the results. */
type Level = Map<Value, Level | Expression>;

/** `MapValues`: looks the values of fields up in a table; of rows that are alike the first counts. */
export function compileMapValues(element: Element, scope: Scope): Expression {
  const type = dataTypeOf(element) ?? 'string';
  const pairs = element.childrenOf('FieldColumnPair').map((pair) => ({
    field: scope.field(pair.required('field'), pair),
    column: localName(pair.required('column')),
  }));
  if (pairs.length === 0) throw new PmmlError(element, 'has no FieldColumnPair');
  const output = localName(element.required('outputColumn'));
  const table = tableOf(element, scope);
  const root: Level = new Map();
  for (const row of table) {
    const cell = row.get(output);
    if (cell === undefined) continue;
    addRow(root, pairs, row, replacementOf(cell, type));
  }
  const optional = (text: string | undefined): Expression =>
    text === undefined ? constant(type, undefined) : replacementOf(text, type);
  const byDefault = optional(element.attribute('defaultValue'));
  const missing = optional(element.attribute('mapMissingTo'));
  const values = pairs.map(({ field }) => field.value);
  const chosen = (row: Row): Expression => {
    let level: Level | Expression | undefined = root;
    for (let i = 0; i < values.length; i++) {
      const value = values[i](row);
      if (value === undefined) return missing;
      if (level instanceof Map) level = level.get(value);
    }
    return level === undefined || level instanceof Map ? byDefault : level;
  };
  return {
    ...ofValues(type, (row) => chosen(row).value(row)),
    number: (row) => chosen(row).number(row),
  };
}

function addRow(
  root: Level,
  pairs: readonly { readonly field: { readonly type: DataType }; readonly column: string }[],
  row: ReadonlyMap<string, string>,
  result: Expression,
): void {
  let level = root;
  for (let i = 0; i < pairs.length; i++) {
    const { field, column } = pairs[i];
    const cell = row.get(column);
    // Of an integer field a cell may be 1.0.
    const value = cell === undefined ? undefined : castText(cell, field.type);
    if (value === undefined) return;
    if (i === pairs.length - 1) {
      if (!level.has(value)) level.set(value, result);
      return;
    }
    const next = level.get(value);
    if (next instanceof Map) level = next;
    else {
      const made: Level = new Map();
      level.set(value, made);
      level = made;
    }
  }
}

/** The name without the prefix of its namespace. */
function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
