import { type Element, numberOf } from './document/element.ts';
import type { Problems } from './document/problems.ts';
import type { OutputRecord, ScoringModel } from './engine.ts';

interface Column {
  readonly field: string;
  readonly column: string;
  readonly precision: number;
  readonly zeroThreshold: number;
}

const RECORDS_MAX = 1_000;
const REPORTED_MAX = 20;

/**
 * Scores the records of a ModelVerification and compares. A difference is a warning: the model is deployed, and its
 * annotated source tells. The first 1,000 records are checked.
 */
export function verify(element: Element, model: ScoringModel, problems: Problems): void {
  const columns = (element.child('VerificationFields')?.childrenOf('VerificationField') ?? []).map((field): Column => {
    const name = field.required('field');
    return {
      field: name,
      column: local(field.attribute('column') ?? name),
      precision: field.number('precision', 1e-6),
      zeroThreshold: field.number('zeroThreshold', 1e-16),
    };
  });
  const inputs = new Set(model.information.inputFields.map(({ name }) => name));
  const expected = columns.filter(({ field }) => !inputs.has(field));
  let reported = 0;
  for (const [index, row] of (element.child('InlineTable')?.childrenOf('row') ?? []).slice(0, RECORDS_MAX).entries()) {
    const cells = new Map(row.children.map((cell) => [cell.name, cell.text]));
    const record: Record<string, unknown> = Object.create(null);
    for (const { field, column } of columns)
      if (inputs.has(field) && cells.has(column)) record[field] = cells.get(column);
    const result = model.apply(record);
    for (const column of expected) {
      const difference = differs(column, cells.get(column.column), result);
      if (difference === undefined || reported >= REPORTED_MAX) continue;
      reported++;
      problems.warn(row, `record ${index + 1}: ${difference}`);
    }
  }
}

function differs(column: Column, text: string | undefined, result: OutputRecord): string | undefined {
  if (text === undefined || text === '' || !Object.hasOwn(result, column.field)) return undefined;
  const actual = result[column.field];
  const message = `'${column.field}' is ${String(actual)}; the document expects ${text}`;
  const wanted = numberOf(text);
  if (wanted === undefined || typeof actual !== 'number') return String(actual) === text ? undefined : message;
  if (Math.abs(wanted) <= column.zeroThreshold && Math.abs(actual) <= column.zeroThreshold) return undefined;
  return Math.abs(actual - wanted) <= column.precision * Math.abs(wanted) ? undefined : message;
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
