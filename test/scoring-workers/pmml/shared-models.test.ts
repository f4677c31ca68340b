/**
 * PMML models made by others with inputs and expected outputs (`../shared/data/pmml`, its INDEX.md tells the conventions).
 * Skipped, visibly, where the folder is missing.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import t from 'tap';
import type { OutputRecord, ScoringModel } from '../../../src/scoring-workers/pmml/engine.ts';
import { readPmml } from '../../../src/scoring-workers/pmml/read.ts';
import { ROOT } from '../../helpers/root.ts';

const FOLDER = process.env.MILLRACE_PMML_CASES ?? join(ROOT, '..', 'shared', 'data', 'pmml');
/** Cases, by a part of their name, of a run by hand. */
const ONLY = process.env.MILLRACE_PMML_CASE;

const cases = existsSync(FOLDER)
  ? readdirSync(FOLDER, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && (ONLY === undefined || entry.name.includes(ONLY)))
      .map(({ name }) => name)
      .sort()
  : [];

/** Tolerance of each case, from the table of INDEX.md. */
const TOLERANCES = new Map<string, number>(
  (existsSync(join(FOLDER, 'INDEX.md')) ? readFileSync(join(FOLDER, 'INDEX.md'), 'utf8') : '')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells.length > 8)
    .map((cells) => [cells[1] ?? '', cells[5] === 'exact' ? 0 : Number(cells[5])]),
);

/**
 * Expected values that do not follow from the model, by column. glm-dmg-cox: of childs = 5, happy = 1, educ = 19 the
 * standard's formula gives a cumulative hazard of 2.33; what is expected is the survival of childs = 1, educ = 0.
 */
const NOT_COMPARED: Readonly<Record<string, readonly string[]>> = { 'glm-dmg-cox': ['life'] };

type Row = Readonly<Record<string, string>>;

function table(path: string): Row[] {
  return existsSync(path) ? (parse(readFileSync(path), { columns: true, bom: true }) as Row[]) : [];
}

const cellValue = (cell: string): unknown => (cell.startsWith('[') ? JSON.parse(cell) : cell);

function recordOf(row: Row): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row)
      .filter(([, cell]) => cell !== 'N/A')
      .map(([name, cell]) => [name, cellValue(cell)]),
  );
}

const isSame = (actual: unknown, expected: unknown, tolerance: number): boolean => {
  if (Array.isArray(expected))
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((one, i) => isSame(actual[i], one, tolerance))
    );
  const wanted = Number(expected);
  if (typeof actual === 'number' && !Number.isNaN(wanted) && expected !== '')
    return Math.abs(actual - wanted) <= tolerance * Math.max(1, Math.abs(wanted));
  const text = String(actual);
  if (text === String(expected)) return true;
  if (typeof actual === 'boolean') return text === String(expected).toLowerCase();
  return text !== '' && !Number.isNaN(Number(text)) && Number(text) === wanted;
};

/** A result that the document has no output for, from the explanation. */
function ofExplanation(model: ScoringModel, record: Record<string, unknown>, name: string): unknown {
  const lines = model.explain(record).split('\n');
  const inner = /^@(\w+)(?:\((.*)\))?$/.exec(name);
  const feature = inner?.[1] ?? '';
  const category = inner?.[2];
  const found = (pattern: RegExp): string | null =>
    lines.map((line) => pattern.exec(line)?.[1]).find((value) => value !== undefined) ?? null;
  const quoted = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  if (feature === 'logistic') return 1 / (1 + Math.exp(-Number(ofExplanation(model, record, '@predictedValue'))));
  if (feature === 'probability' || feature === 'confidence') {
    const of = category ?? found(/^The \[predictedValue\] is \[(.*) \(\w+\)\]$/) ?? '';
    const value = found(
      new RegExp(`^The \\[${feature}\\] of \\[${quoted(of)}(?:\\.0)? \\(\\w+\\)\\] is \\[(.*) \\(\\w+\\)\\]$`),
    );
    return value === null ? null : Number(value);
  }
  const value = found(new RegExp(`^The \\[${quoted(feature)}\\] is \\[(.*) \\(\\w+\\)\\]$`));
  if (value === null || value === 'missing') return null;
  return Number.isNaN(Number(value)) ? value : Number(value);
}

function actualOf(
  model: ScoringModel,
  record: Record<string, unknown>,
  outputs: OutputRecord,
  column: string,
): unknown {
  if (column === '@forecast') return Object.values(model.apply({ h: record['@step'] }))[0];
  return column.startsWith('@') ? ofExplanation(model, record, column) : outputs[column];
}

t.test('models of others', { skip: cases.length === 0 ? `no folder ${FOLDER}` : false }, async (t) => {
  for (const name of cases) {
    const folder = join(FOLDER, name);
    const { model, problems } = readPmml([readFileSync(join(folder, 'model.pmml'))]);
    if (model === undefined) {
      t.fail(`${name}: ${problems.map(({ element, line, text }) => `${element} (line ${line}): ${text}`).join('; ')}`);
      continue;
    }
    const tolerance = TOLERANCES.get(name) ?? 1e-9;
    const expected = table(join(folder, 'expected.csv'));
    const wrong: string[] = [];
    table(join(folder, 'input.csv')).forEach((row, i) => {
      const record = recordOf(row);
      const outputs: OutputRecord = model.apply(record);
      for (const [column, wanted] of Object.entries(expected[i] ?? {})) {
        if (wanted === '*' || NOT_COMPARED[name]?.includes(column) === true) continue;
        const actual = actualOf(model, record, outputs, column);
        if (wanted === 'N/A' ? actual !== null && actual !== undefined : !isSame(actual, cellValue(wanted), tolerance))
          wrong.push(`row ${i + 1}: ${column} is ${JSON.stringify(actual)}, expected ${wanted}`);
      }
    });
    t.same(wrong.slice(0, 5), [], `${name}${wrong.length > 5 ? ` (${wrong.length} differences)` : ''}`);
    t.same(
      problems.filter(({ severity }) => severity === 'error'),
      [],
    );
  }
});
