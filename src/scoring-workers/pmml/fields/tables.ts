import { type Element, PmmlError } from '../document/element.ts';
import { inlineRows } from '../document/inline-table.ts';
import type { Scope, Table } from './scope.ts';

/** The rows of an element's InlineTable, or of the table that its TableLocator names. */
export function tableOf(element: Element, scope: Scope): readonly ReadonlyMap<string, string>[] {
  const inline = element.child('InlineTable');
  if (inline !== undefined) return inlineRows(inline);
  const locator = element.child('TableLocator');
  if (locator === undefined) throw new PmmlError(element, 'has neither an InlineTable nor a TableLocator');
  const name = tableName(locator);
  const table = scope.names.table(name);
  if (table === undefined) throw new PmmlError(locator, `unknown lookup table '${name}'`);
  return rowsOf(table);
}

function rowsOf({ columns, rows }: Table): ReadonlyMap<string, string>[] {
  return rows.map(
    (row) => new Map(columns.flatMap((column, index) => (row[index] === undefined ? [] : [[column, row[index]]]))),
  );
}

/** Name of the table: an attribute of TableLocator, or an Extension in it, as producers write it. */
function tableName(locator: Element): string {
  for (const attribute of NAME_ATTRIBUTES) {
    const name = locator.attribute(attribute);
    if (name !== undefined) return name;
  }
  const { extensions } = locator;
  const named =
    extensions.find((extension) => NAME_ATTRIBUTES.includes(extension.attribute('name') ?? '')) ?? extensions[0];
  const name = named?.attribute('value') ?? named?.attribute('name');
  if (name === undefined)
    throw new PmmlError(locator, 'does not name a table: give it an Extension with name and value');
  return name;
}

const NAME_ATTRIBUTES = ['table', 'tableName', 'table-name', 'name', 'location', 'x-table'];
