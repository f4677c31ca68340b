/** Columns of one insert: the same rows as the records, and full before anything overflows. */
import t from 'tap';
import { tailForm } from '../../src/ingest/measurements/form.ts';
import { Interner } from '../../src/ingest/measurements/interner.ts';
import { MeasurementColumns } from '../../src/ingest/measurements/columns.ts';
import { OFFSET_TYPE_LENGTH, TYPE_IS_FRAGMENT } from '../../src/ingest/journal/record-layout.ts';
import { decodeMeasurement, encodeMeasurement } from '../../src/ingest/measurements/record.ts';
import type { MeasurementValue } from '../../src/ingest/measurements/record.ts';
import { Random } from '../smartrest/random.ts';

const record = (
  values: readonly MeasurementValue[],
  extra: { type?: string; document?: string; source?: number; form?: number; id?: number } = {},
): Buffer =>
  encodeMeasurement({
    tenant: 7,
    source: extra.source ?? 2 ** 40,
    id: extra.id ?? 2 ** 50,
    time: -5,
    mode: 0,
    type: extra.type ?? 'T',
    document: extra.document ?? '',
    values,
    receivedAt: 0,
    form: extra.form ?? 0,
  });
const viewOf = (buffer: Buffer): DataView => new DataView(buffer.buffer, buffer.byteOffset, buffer.length);

t.test('interner: equal bytes have one number, others another, over growth and clearing', (t) => {
  const random = new Random();
  const interner = new Interner();
  for (let round = 0; round < 3; round += 1) {
    const model = new Map<string, number>();
    for (let step = 0; step < 20_000; step += 1) {
      const text =
        random.below(3) === 0
          ? 'same'
          : random.below(2) === 0
            ? `n${random.below(5_000)}`
            : random.pick(['', 'ä温', 'a', 'aa', 'b', '\u0000']);
      const bytes = Buffer.from(`<${text}>`);
      const number = interner.intern(bytes, 1, bytes.length - 2);
      const want = model.get(text) ?? model.size;
      model.set(text, want);
      bytes.fill(0);
      if (number === want && interner.values[number] === text) continue;
      t.fail(`${JSON.stringify(text)} is ${number}, want ${want}, seed ${random.seed}`);
    }
    t.equal(interner.size, model.size, `seed ${random.seed}`);
    interner.clear();
    t.equal(interner.size, 0);
  }
  t.end();
});

const rowsOf = (columns: MeasurementColumns) =>
  Array.from({ length: columns.rowCount }, (_, row) => ({
    tenant: columns.tenant[row],
    source: columns.source[row],
    time: columns.time[row],
    id: columns.id[row],
    part: columns.part[row],
    type: columns.types.values[columns.type[row]],
    fragment: columns.fragments.values[columns.fragment[row]],
    series: columns.seriesNames.values[columns.series[row]],
    unit: columns.units.values[columns.unit[row]],
    value: columns.value[row],
    shard: columns.shard[row],
    seq: columns.seq[row],
    documentLength: columns.documentLength[row],
    form: columns.form[row],
    tail: columns.tails.values[columns.tail[row]],
  }));

t.test('random records become the rows that they decode to', (t) => {
  const random = new Random();
  const texts = ['', 'f', 'c8y_Temperature', 'ä温', 'x'.repeat(999)];
  // More than an empty block has memory for.
  const columns = new MeasurementColumns(1_500);
  for (let round = 0; round < 7; round += 1) {
    const want: object[] = [];
    const documents: string[] = [];
    for (let seq = round * 1_000; !columns.isFull; seq += 1) {
      const values = Array.from({ length: random.below(6) }, () => ({
        fragment: random.pick(texts),
        series: random.pick(texts),
        unit: random.pick(texts),
        value: random.pick([0, -1.5, 1e300, 1 / 3]),
      }));
      const tail = random.pick(['', '', '', '"m":1', '"m":"ä"']);
      const whole = random.pick(['', '', '{"ä":1.0}', `{"x":"${'y'.repeat(5_000)}"}`]);
      const document = tail === '' ? whole : `{"x":1,${tail}}`;
      const kept = tail === '' ? whole : '';
      let bytes = record(values, {
        type: random.pick(texts),
        document,
        source: 1 + random.below(100),
        form: tail === '' ? random.pick([0, 7, 2 ** 49]) : tailForm(Buffer.byteLength(tail)),
      });
      if (values.length > 0 && document === '' && random.below(3) === 0) {
        // The short form: the type is the first fragment.
        bytes = record(values, { type: '' });
        bytes.writeUInt16LE(TYPE_IS_FRAGMENT, OFFSET_TYPE_LENGTH);
      }
      const batch = Buffer.concat([bytes, bytes]);
      columns.add(batch, viewOf(batch), bytes.length, seq);
      const decoded = decodeMeasurement(bytes, 0);
      if (kept !== '') documents.push(kept);
      (values.length > 0 ? decoded.values : [{ fragment: '', series: '', unit: '', value: 0 }]).forEach(
        (value, part) => {
          want.push({
            tenant: 7,
            source: decoded.source,
            time: -5,
            id: 2 ** 50,
            part,
            type: decoded.type,
            ...value,
            shard: bytes[4],
            seq,
            documentLength: part === 0 ? Buffer.byteLength(kept) : 0,
            form: decoded.form,
            tail: part === 0 ? tail : '',
          });
        },
      );
    }
    const rows = rowsOf(columns);
    t.strictSame(rows.length, want.length);
    const wrong = rows.findIndex((row, index) =>
      Object.entries(row).some(([name, value]) => value !== (want[index] as Record<string, unknown>)[name]),
    );
    t.equal(wrong, -1, `row ${wrong}: ${JSON.stringify([rows[wrong], want[wrong]])}, seed ${random.seed}`);
    t.equal(columns.documents.toString('utf8', 0, columns.documentBytes), documents.join(''));
    t.equal(
      columns.hasForms,
      rows.some(({ form }) => form !== 0),
    );
    columns.clear();
    t.equal(columns.hasForms, false);
    t.same([columns.rowCount, columns.documentBytes, columns.types.size], [0, 0, 0]);
  }
  t.end();
});

t.test('some of the rows', (t) => {
  const random = new Random();
  const columns = new MeasurementColumns(500);
  const documents = new Map<number, string>();
  for (let id = 1; id <= 200; id += 1) {
    const document = random.pick(['', `{"ä":${id}}`]);
    const tail = document === '' ? random.pick(['', '"a":1', '"a":2']) : '';
    documents.set(id, document);
    const bytes = record(
      Array.from({ length: random.below(4) }, () => ({
        fragment: random.pick(['f', 'ä温']),
        series: `s${random.below(99)}`,
        unit: '',
        value: id,
      })),
      tail === ''
        ? { type: `t${random.below(9)}`, document, source: id, id, form: random.pick([0, 7]) }
        : { document: `{"x":1,${tail}}`, source: id, id, form: tailForm(tail.length) },
    );
    columns.add(bytes, viewOf(bytes), 0, id);
  }
  const all = rowsOf(columns);
  for (const gone of [
    new Set<number>(),
    new Set(documents.keys()),
    new Set([...documents.keys()].filter(() => random.below(2) === 0)),
  ]) {
    const rest = columns.where((row) => !gone.has(columns.id[row]));
    t.same(
      rowsOf(rest),
      all.filter(({ id }) => !gone.has(id)),
      `seed ${random.seed}`,
    );
    t.equal(
      rest.documents.toString('utf8', 0, rest.documentBytes),
      [...documents]
        .filter(([id]) => !gone.has(id))
        .map(([, text]) => text)
        .join(''),
    );
    t.ok(rest.hasForms || rowsOf(rest).every(({ form }) => form === 0));
  }
  t.same(rowsOf(columns), all, 'which stay as they are');
  t.end();
});

t.test('a damaged record adds nothing', (t) => {
  const columns = new MeasurementColumns(10);
  const bytes = record([{ fragment: 'f', series: 's', unit: '', value: 1 }], { document: '{}' });
  const damaged = Buffer.from(bytes);
  damaged.writeUInt16LE(65_535, OFFSET_TYPE_LENGTH - 2);
  const tailed = record([{ fragment: 'f', series: 's', unit: '', value: 1 }], { document: '{}', form: tailForm(2) });
  t.same(
    [bytes, damaged, tailed].map((one) => columns.add(one, viewOf(one), 0, 1)),
    [true, false, false],
  );
  t.same([columns.rowCount, columns.documentBytes, columns.types.size, columns.fragments.size], [1, 2, 1, 1]);
  t.end();
});

t.test('full by rows, by bytes of documents, by distinct texts; one measurement more always has room', (t) => {
  const value = (text: string): MeasurementValue => ({ fragment: 'f', series: text, unit: '', value: 1 });
  const add = (columns: MeasurementColumns, bytes: Buffer): boolean => columns.add(bytes, viewOf(bytes), 0, 1);
  const rows = new MeasurementColumns(10);
  add(rows, record(Array.from({ length: 9 }, (_, index) => value(String(index)))));
  t.notOk(rows.isFull);
  add(rows, record(Array.from({ length: 10_000 }, (_, index) => value(`s${index}`))));
  t.ok(rows.isFull);
  t.equal(rows.rowCount, 10_009);
  t.equal(rows.seriesNames.values[rows.series[10_008]], 's9999');

  const documents = new MeasurementColumns(1_000);
  for (let count = 0; count < 15; count += 1) add(documents, record([value('s')], { document: 'x'.repeat(1_048_576) }));
  t.notOk(documents.isFull);
  add(documents, record([value('s')], { document: 'x'.repeat(1_048_576) }));
  t.ok(documents.isFull);
  documents.clear();
  t.equal(documents.documents.length, 0, 'a large buffer is given back');
  add(documents, record([value('s')], { document: 'x'.repeat(3_000_000) }));
  const memory = documents.documents;
  documents.clear();
  t.equal(documents.documents, memory, 'the next block uses a smaller one again');

  const texts = new MeasurementColumns(200_000);
  let number = 0;
  while (!texts.isFull) add(texts, record(Array.from({ length: 1_000 }, () => value(`n${number++}`))));
  t.ok(texts.seriesNames.size >= 55_535 && texts.seriesNames.size < 65_536, `${texts.seriesNames.size} names`);
  add(texts, record(Array.from({ length: 9_000 }, () => value(`n${number++}`))));
  t.equal(
    texts.seriesNames.values[texts.series[texts.rowCount - 1]],
    `n${number - 1}`,
    'the last index still fits 16 bits',
  );
  t.end();
});
