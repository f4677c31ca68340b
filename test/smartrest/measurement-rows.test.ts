import t from 'tap';
import { numberScan, scanNumber } from '../../src/model/documents/number-scan.ts';
import { CsvRows } from '../../src/smartrest/rows/csv.ts';
import type { NewMeasurement } from '../../src/smartrest/effects/effects.ts';
import { SmartRestError } from '../../src/smartrest/rows/error.ts';
import {
  BUILT_IN,
  MeasurementRow,
  scanMeasurementRow,
  SCAN_RESULT,
  VALUES_MAX,
} from '../../src/smartrest/rows/measurement-rows.ts';
import { interpretRow } from '../../src/smartrest/static/templates.ts';
import { Random } from './random.ts';
import { rounds } from '../helpers/rounds.ts';

const NOW = Date.UTC(2030, 0, 1);
const NAME = 'x'.repeat(1_000);
const LONG = 'x'.repeat(1_001);
const row = new MeasurementRow();

/** The row as the effect of the general path, so that the two can be compared. */
function effectOf(body: Buffer): NewMeasurement {
  const text = (start: number, end: number): string => body.toString('utf8', start, end);
  const values = row.values.slice(0, row.count).map((part) => {
    const sent = text(part.textStart, part.textEnd);
    const names =
      part.builtIn >= 0
        ? BUILT_IN[part.builtIn]
        : {
            fragment: text(part.fragmentStart, part.fragmentEnd),
            series: text(part.seriesStart, part.seriesEnd),
            unit: text(part.unitStart, part.unitEnd),
          };
    return { ...names, value: part.value, text: sent };
  });
  const type = row.template === 201 ? text(row.typeStart, row.typeEnd) : values[0].fragment;
  return { kind: 'measurement', type, time: Number.isNaN(row.time) ? NOW : row.time, values };
}

const scan = (body: Buffer | string): number => scanMeasurementRow(Buffer.from(body as string), 0, body.length, row);

t.test('rows that are taken', (t) => {
  const time = Date.UTC(2024, 4, 2, 10);
  const one = (fragment: string, series: string, value: number, text: string, unit: string, at = NOW): unknown => ({
    kind: 'measurement',
    type: fragment,
    time: at,
    values: [{ fragment, series, value, text, unit }],
  });
  const cases: readonly (readonly [string, unknown])[] = [
    ['211,21.5', one('c8y_TemperatureMeasurement', 'T', 21.5, '21.5', 'C')],
    ['211,-3,2024-05-02T12:00:00+02:00', one('c8y_TemperatureMeasurement', 'T', -3, '-3', 'C', time)],
    ['212,95,', one('c8y_Battery', 'level', 95, '95', '%')],
    ['200,c8y_T,T,21.5', one('c8y_T', 'T', 21.5, '21.5', '')],
    ['200,c8y_T,T,21.5,', one('c8y_T', 'T', 21.5, '21.5', '')],
    ['200,c8y_T,A+:1,+021.50,°C,2024-05-02T10:00:00Z', one('c8y_T', 'A+:1', 21.5, '+021.50', '°C', time)],
    ['200,c8y_T,T,1e3,m/s (max.)', one('c8y_T', 'T', 1000, '1e3', 'm/s (max.)')],
    ['200,c8y_T,T,1,,2024-05-02T10:00:00Z', one('c8y_T', 'T', 1, '1', '', time)],
    [`200,${NAME},${NAME},1,${NAME}`, one(NAME, NAME, 1, '1', NAME)],
    [
      '210,-71,0.2',
      {
        kind: 'measurement',
        type: 'c8y_SignalStrength',
        time: NOW,
        values: [
          { ...BUILT_IN[0], value: -71, text: '-71' },
          { ...BUILT_IN[1], value: 0.2, text: '0.2' },
        ],
      },
    ],
    [
      '210,,0.2,2024-05-02T10:00:00Z',
      { kind: 'measurement', type: 'c8y_SignalStrength', time, values: [{ ...BUILT_IN[1], value: 0.2, text: '0.2' }] },
    ],
    [
      '210,-71,,2024-05-02T10:00:00Z',
      { kind: 'measurement', type: 'c8y_SignalStrength', time, values: [{ ...BUILT_IN[0], value: -71, text: '-71' }] },
    ],
    [
      '201,c8y Env,,f,T,1,C,g,h,2',
      {
        kind: 'measurement',
        type: 'c8y Env',
        time: NOW,
        values: [
          { fragment: 'f', series: 'T', value: 1, text: '1', unit: 'C' },
          { fragment: 'g', series: 'h', value: 2, text: '2', unit: '' },
        ],
      },
    ],
  ];
  for (const [body, want] of cases) {
    t.equal(scan(Buffer.from(body)), SCAN_RESULT.MEASUREMENT, body);
    t.same(effectOf(Buffer.from(body)), want, body);
    t.equal(row.next, Buffer.byteLength(body));
  }
  t.end();
});

t.test('rows that are left to the general path', (t) => {
  for (const body of [
    '301,x,y',
    '20',
    '2000,1',
    '213,1',
    '20x,1',
    '211',
    '211,',
    '211,abc',
    '211,1x',
    '211,0x10',
    '211,NaN',
    '211,Infinity',
    '211,1e999',
    '211,.5',
    '211,5.',
    '211,1e',
    '211,-',
    '211,"1"',
    '211, 1',
    '211,1 ',
    '211,1,now',
    '211,1,2024-05-02T10:00:00Z,x',
    '200,f,T',
    '200,f,,1',
    '200,,T,1',
    '200,f.x,T,1',
    '200,f,T x,1',
    '200,f,T$,1',
    '200,ü,T,1',
    '200,f,"T",1',
    '200,f,T\\,1',
    '200,f,T,1, C',
    '200,f,T,1,C ',
    '200,f,T,1,"C"',
    '210,,',
    '210,',
    '210,,,2024-05-02',
    '201,t,',
    '201,,,f,s,1',
    '201,t,,f,s',
    '201,t,,,,,,f,s,1',
    `201,t,${',f,s,1,u'.repeat(VALUES_MAX + 1)}`,
    `200,${LONG},T,1`,
    `200,f,${LONG},1`,
    `200,f,T,1,${LONG}`,
    `201,${LONG},,f,s,1`,
    `201,t,,${LONG},s,1`,
    '211,1,1899-12-31T23:59:59.999Z',
    '211,1,2300-01-01',
    '201,t,9999-12-31,f,s,1',
  ]) {
    t.equal(scan(body), SCAN_RESULT.OTHER, body.slice(0, 60));
    t.equal(row.next, 0);
  }
  for (const unit of [[0xff], [0xc2], [0xe2, 0x84], [0xc0, 0x80], [0x01]]) {
    t.equal(scan(Buffer.concat([Buffer.from('200,f,T,1,'), Buffer.from(unit)])), SCAN_RESULT.OTHER, `unit ${unit}`);
  }
  t.end();
});

t.test('several rows and their line breaks', (t) => {
  const body = Buffer.from('\n211,1\r\n\n212,2\r200,f,s,3\n301,x\n');
  const found: number[] = [];
  let at = 0;
  while (scanMeasurementRow(body, at, body.length, row) === SCAN_RESULT.MEASUREMENT) {
    found.push(row.values[0].value);
    at = row.next;
  }
  t.same(found, [1, 2, 3]);
  t.equal(body.toString('utf8', row.next), '301,x\n', 'next is at the row that is not taken');
  t.equal(scanMeasurementRow(body, body.length - 1, body.length, row), SCAN_RESULT.END);
  t.equal(scanMeasurementRow(body, 1, 4, row), SCAN_RESULT.OTHER, 'nothing behind the end is read');
  t.end();
});

t.test('numbers are the nearest double', (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const digits = (count: number): string => Array.from({ length: count }, () => random.below(10)).join('');
  // In the middle between two doubles, beside it, and with digits that two doubles do not hold.
  const middles = ['9007199254740993', '9007199254740993.0', '9007199254740993.001', '4503599627370496.5'];
  for (let round = 0; round < rounds(25_000, 100_000); round += 1) {
    const text =
      middles[round] ??
      `${random.pick(['', '-', '+'])}${digits(1 + random.below(12))}${random.pick(['', `.${digits(1 + random.below(12))}`])}` +
        random.pick(['', '', '', `e${random.pick(['', '-', '+'])}${random.below(30)}`]);
    const bytes = Buffer.from(`${text},`);
    const end = scanNumber(bytes, 0, bytes.length);
    if (end !== text.length || !Object.is(numberScan.value, Number(text)))
      t.fail(`${text} gave ${numberScan.value}, seed ${random.seed}`);
  }
  t.pass(`seed ${random.seed}`);
  t.end();
});

t.test('both paths agree on whatever the scanner takes', (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const pieces = [
    'c8y_T',
    'T',
    '21.5',
    '-3',
    '',
    '',
    'C',
    '°C',
    '2024-05-02T10:00:00Z',
    '2024-05-02',
    ' x',
    '"a"',
    'a.b',
    '1e5',
    '\\',
    'm s',
  ];
  let taken = 0;
  for (let round = 0; round < rounds(25_000, 100_000); round += 1) {
    const fields = [
      random.pick(['200', '201', '210', '211', '212']),
      ...Array.from({ length: random.below(9) }, () => random.pick(pieces)),
    ];
    const body = Buffer.from(fields.join(','));
    if (scan(body) !== SCAN_RESULT.MEASUREMENT) continue;
    taken += 1;
    const rows = new CsvRows(body);
    rows.next();
    const fast = effectOf(body);
    const slow = attempt(
      () => interpretRow(rows.fields(), { serial: 'd', isChild: false, now: NOW })[0] as NewMeasurement,
    );
    if (JSON.stringify(slow) !== JSON.stringify(ordered(fast))) t.same(fast, slow, `${body}, seed ${random.seed}`);
  }
  t.ok(taken > 250, `${taken} rows were taken, seed ${random.seed}`);
  t.end();
});

function ordered(effect: NewMeasurement): unknown {
  return {
    kind: effect.kind,
    type: effect.type,
    time: effect.time,
    values: effect.values.map(({ fragment, series, value, text, unit }) => ({ fragment, series, value, text, unit })),
  };
}

function attempt<Result>(run: () => Result): Result | string {
  try {
    return run();
  } catch (error) {
    if (error instanceof SmartRestError) return error.toRow();
    throw error;
  }
}
