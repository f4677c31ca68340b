import t from 'tap';
import { parseTimeBytes } from '../../src/model/documents/iso-time.ts';
import { CsvRows } from '../../src/smartrest/rows/csv.ts';
import { SmartRestError } from '../../src/smartrest/rows/error.ts';
import { MeasurementRow, scanMeasurementRow, SCAN_RESULT } from '../../src/smartrest/rows/measurement-rows.ts';
import { interpretRow, STATIC_TEMPLATES } from '../../src/smartrest/static/templates.ts';
import { classifyPublish, receivedBy } from '../../src/smartrest/topics.ts';
import { Random } from './random.ts';
import { rounds } from '../helpers/rounds.ts';

const pieces = [
  '"',
  '""',
  '\\"',
  '\\',
  ',',
  ',',
  ',',
  '\n',
  '\r',
  '\r\n',
  ' ',
  'a',
  '21.5',
  '-',
  'e5',
  '2024-05-02',
  'T10:00:00Z',
  'CRITICAL',
  '°',
  'true',
  '__proto__',
  'c8y_Command',
  '\0',
  '\u2028',
  ...STATIC_TEMPLATES.keys(),
];
const context = { serial: 'dev1', isChild: false, now: 0 };

/**
 * Runs a body as a device link does: the scanner first, one row of the general path, and on. @returns rows that were
 * read.
 */
function run(body: Buffer, row: MeasurementRow): number {
  let at = 0;
  let count = 0;
  for (;;) {
    const before = at;
    const result = scanMeasurementRow(body, at, body.length, row);
    if (result === SCAN_RESULT.END) return count;
    count += 1;
    at = row.next;
    if (result === SCAN_RESULT.OTHER) at = readOne(body, at);
    if (at <= before || at > body.length) throw new Error(`went from ${before} to ${at}`);
  }
}

function readOne(body: Buffer, start: number): number {
  const rows = new CsvRows(body, start);
  try {
    if (!rows.next()) return body.length;
    for (const effect of interpretRow(rows.fields(), context)) {
      for (const text of Object.values(effect)) if (typeof text === 'string' && text.startsWith('{')) JSON.parse(text);
    }
  } catch (error) {
    if (!(error instanceof SmartRestError)) throw error;
    if (/[\r\n]/.test(error.toRow().replace(/"[^"]*"/g, '')))
      throw new Error('the error row has a line break', { cause: error });
  }
  return rows.position;
}

t.test('any bytes give rows or SmartREST errors, and an end', (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const row = new MeasurementRow();
  let count = 0;
  for (let round = 0; round < rounds(5_000, 60_000); round += 1) {
    const body =
      round % 3 === 0
        ? Buffer.from(Array.from({ length: random.below(60) }, () => random.below(256)))
        : Buffer.from(
            Array.from({ length: random.below(30) }, () => random.pick(pieces)).join(random.pick(['', '', ','])),
          );
    try {
      count += run(body, row);
      classifyPublish(body);
      receivedBy(body.toString('latin1'));
      parseTimeBytes(body, 0, body.length);
    } catch (error) {
      t.fail(`seed ${random.seed}, round ${round}, ${body.toString('hex')}: ${(error as Error).stack}`);
      break;
    }
  }
  t.ok(count > 800, `${count} rows, seed ${random.seed}`);
  t.end();
});
