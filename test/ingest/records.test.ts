/** Records of the journal: what was encoded is decoded, damage is noticed, shards are even. */
import t from 'tap';
import {
  SHARD_COUNT,
  countRecords,
  decodeCommand,
  encodeCommand,
  shardOf,
  shardOfId,
  shardOfText,
} from '../../src/ingest/journal/command-record.ts';
import {
  OFFSET_COUNT,
  OFFSET_ID,
  OFFSET_TEXTS,
  OFFSET_TIME,
  OFFSET_TYPE_LENGTH,
  RECORD_HEADER_BYTES,
} from '../../src/ingest/journal/record-layout.ts';
import {
  decodeMeasurement,
  documentText,
  encodeMeasurement,
  entityText,
  isWholeMeasurement,
  newMeasurementHead,
  writeMeasurementHead,
  writeValueHead,
} from '../../src/ingest/measurements/record.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { CommandKind } from '../../src/model/commands/kinds.ts';
import { applicableMode } from '../../src/model/commands/processing-mode.ts';
import type { ProcessingMode } from '../../src/model/commands/processing-mode.ts';
import { Random } from '../smartrest/random.ts';

const TEXTS = ['', 'a', 'c8y_Temperature', 'ä温😀', 'a\nb', '"\\', '\u0000', 'x'.repeat(300)];
const IDS = [1, 255, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7, Number.MAX_SAFE_INTEGER];

t.test('commands: encode and decode are inverse, wherever the record stands in a batch', (t) => {
  const random = new Random();
  for (let round = 0; round < 3_000; round += 1) {
    const key = random.below(2) === 0 ? random.pick(IDS) : `x:${random.pick(TEXTS)}\n${random.pick(TEXTS)}`;
    const command = {
      kind: random.pick(Object.values(COMMAND).filter((kind) => kind !== COMMAND.MEASUREMENT)) as CommandKind,
      tenant: random.pick([0, 1, 7, 2 ** 32 - 1]),
      key,
      mode: random.below(4) as ProcessingMode,
      receivedAt: 1.7e12 + random.below(1e9),
      body: { text: random.pick(TEXTS), nested: { list: [random.below(9), null] }, doc: '{"__proto__":1,"n":1.0}' },
    };
    const pendingId =
      random.below(3) === 0 ? `${String(random.below(1e9)).padStart(16, '0')}-${random.below(9)}` : undefined;
    const before = encodeCommand({ ...command, key: 1 });
    const batch = Buffer.concat([before, encodeCommand(command, pendingId), before]);
    const seq = random.below(1e9);
    const decoded = decodeCommand(batch, before.length, seq);
    batch.fill(0xff);
    const isRight =
      JSON.stringify(decoded) ===
      JSON.stringify({
        seq,
        shard: shardOf(command.tenant, key),
        kind: command.kind,
        mode: applicableMode(command.kind, command.mode),
        tenant: command.tenant,
        key,
        receivedAt: command.receivedAt,
        pendingId,
        body: command.body,
      });
    if (!isRight) t.fail(`${JSON.stringify(command)}, seed ${random.seed}`);
  }
  t.pass(`seed ${random.seed}`);
  t.end();
});

t.test('a length or a number of values that does not fit is refused before anything is written', (t) => {
  const value = { fragment: 'f', series: 's', value: 1, unit: 'u' };
  const encode = (change: object, values: readonly (typeof value)[] = [value]): Buffer =>
    encodeMeasurement({
      tenant: 1,
      source: 2,
      id: 3,
      time: 4,
      mode: 0,
      type: 'T',
      document: '',
      receivedAt: 0,
      values,
      ...change,
    });
  const long = 'x'.repeat(65_536);
  const invalid = { code: 'validation/invalid-field' };
  for (const name of ['fragment', 'series', 'unit']) {
    t.throws(
      () => encode({}, [{ ...value, [name]: long }]),
      { ...invalid, message: /value 65536; it takes at most 65535 bytes/ },
      name,
    );
    t.match(decodeMeasurement(encode({}, [{ ...value, [name]: long.slice(1) }]), 0), {
      values: [{ [name]: long.slice(1) }],
    });
  }
  t.throws(() => encode({ type: long }), invalid);
  t.throws(() => encode({ type: long.slice(1) }), invalid, 'this length has another meaning');
  t.throws(
    () =>
      encode(
        {},
        Array.from({ length: 10_001 }, () => value),
      ),
    { ...invalid, message: /10001; it takes at most 10000/ },
  );
  const view = new DataView(new ArrayBuffer(100));
  t.throws(() => writeValueHead(view, 0, 1, 1, 65_536, 1), invalid);
  t.throws(() => writeMeasurementHead(view, 0, 100, { ...newMeasurementHead(), typeLength: 65_536 }), invalid);
  t.throws(() => writeMeasurementHead(view, 0, 2 ** 32, newMeasurementHead()), invalid);
  t.same(new Uint8Array(view.buffer), new Uint8Array(100), 'nothing is written');
  t.end();
});

t.test('a damaged measurement is seen, whatever is damaged; what is taken for whole can be read', (t) => {
  const random = new Random();
  const whole = (buffer: Buffer, at = 0): boolean =>
    isWholeMeasurement(new DataView(buffer.buffer, buffer.byteOffset, buffer.length), at);
  const value = { fragment: 'f', series: 's', value: 1, unit: 'u' };
  const record = (form = 0, values = [value, value]): Buffer =>
    encodeMeasurement({
      tenant: 1,
      source: 2,
      id: 3,
      time: 4,
      mode: 0,
      type: 'T',
      document: form === 0 ? '{}' : '',
      receivedAt: 0,
      values,
      form,
    });
  t.ok(whole(record()) && whole(record(7)) && whole(record(0, [])));
  const damage = (change: (bytes: Buffer) => void, form = 0): boolean => {
    const bytes = record(form);
    change(bytes);
    return whole(bytes);
  };
  for (const [name, change] of Object.entries<(bytes: Buffer) => void>({
    length: (bytes) => bytes.writeUInt32LE(bytes.length - 1, 0),
    short: (bytes) => bytes.writeUInt32LE(RECORD_HEADER_BYTES, 0),
    count: (bytes) => bytes.writeUInt16LE(3, OFFSET_COUNT),
    counts: (bytes) => bytes.writeUInt16LE(65_535, OFFSET_COUNT),
    type: (bytes) => bytes.writeUInt16LE(2, OFFSET_TYPE_LENGTH),
    document: (bytes) => bytes.writeUInt32LE(2 ** 32 - 1, OFFSET_TYPE_LENGTH + 2),
    fragment: (bytes) => bytes.writeUInt16LE(65_535, OFFSET_TEXTS + 3 + 8),
    series: (bytes) => bytes.writeUInt16LE(0, OFFSET_TEXTS + 3 + 10),
    id: (bytes) => bytes.writeDoubleLE(Number.NaN, OFFSET_ID),
    time: (bytes) => bytes.writeDoubleLE(9e15, OFFSET_TIME),
    source: (bytes) => bytes.writeDoubleLE(1.5, 12),
    form: (bytes) => bytes.writeUInt8(1, 7),
  }))
    t.notOk(damage(change), name);
  for (const form of [24, -1, 0.5, Number.NaN, 2 ** 60])
    t.notOk(
      damage((bytes) => bytes.writeDoubleLE(form, bytes.length - 8), 7),
      `form ${form}`,
    );
  let taken = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const bytes = Buffer.concat([
      record(),
      record(random.below(2) * 7, random.below(2) === 0 ? [value] : [value, value, value]),
      record(),
    ]);
    const at = record().length;
    // Not the length: the journal has its own check of it.
    for (let count = 1 + random.below(3); count > 0; count -= 1)
      bytes[at + 4 + random.below(bytes.readUInt32LE(at) - 4)] = random.below(256);
    if (!whole(bytes, at)) continue;
    taken += 1;
    entityText(decodeMeasurement(bytes, at));
  }
  t.ok(taken > 1_000, `${taken} taken, seed ${random.seed}`);
  t.end();
});

t.test('a key that does not fit is refused as a value, not with a broken record', (t) => {
  const command = {
    kind: COMMAND.EXTERNAL_ID_BIND,
    tenant: 1,
    key: 'k'.repeat(65_536),
    mode: 0 as const,
    receivedAt: 0,
    body: {},
  };
  t.throws(() => encodeCommand(command), { code: 'validation/invalid-field' });
  t.equal(decodeCommand(encodeCommand({ ...command, key: 'k'.repeat(65_535) }), 0, 1).key, 'k'.repeat(65_535));
  t.end();
});

t.test('measurements: encode and decode are inverse', (t) => {
  const random = new Random();
  for (let round = 0; round < 3_000; round += 1) {
    const measurement = {
      tenant: random.pick([1, 2 ** 32 - 1]),
      source: random.pick(IDS),
      id: random.pick(IDS),
      time: random.pick([0, -1, 1.7e12, 253402300799999]),
      mode: random.below(4) as ProcessingMode,
      type: random.pick(TEXTS),
      document: random.pick(['', '{"a":1.0}', '{"ä":"温"}']),
      values: Array.from({ length: random.below(5) }, () => ({
        fragment: random.pick(TEXTS),
        series: random.pick(TEXTS),
        unit: random.pick(TEXTS),
        value: random.pick([0, -1.5, 1e300, 5e-324, 1 / 3]),
      })),
      form: random.pick([0, 0, 1, 2 ** 50 - 1]),
    };
    const record = encodeMeasurement({ ...measurement, receivedAt: 5 });
    const decoded = decodeMeasurement(Buffer.concat([record, record]), record.length);
    const isRight =
      record[5] === COMMAND.MEASUREMENT &&
      record[4] === shardOfId(measurement.tenant, measurement.source) &&
      countRecords(Buffer.concat([record, record])) === 2 &&
      JSON.stringify(sorted(decoded)) === JSON.stringify(sorted(measurement));
    if (!isRight) t.fail(`${JSON.stringify(measurement)} became ${JSON.stringify(decoded)}, seed ${random.seed}`);
  }
  t.pass(`seed ${random.seed}`);
  t.end();
});

/** The same members in one order. */
function sorted(measurement: { values: readonly object[] }): object {
  const inOrder = (value: object): object =>
    Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return inOrder({ ...measurement, values: measurement.values.map(inOrder) });
}

t.test('the document of a measurement: as sent where it is kept, else made from the values', (t) => {
  const base = {
    tenant: 1,
    source: 251,
    id: 9,
    time: Date.UTC(2024, 4, 2),
    mode: 0 as const,
    type: 'T',
    document: '',
    receivedAt: 0,
  };
  const plain = encodeMeasurement({ ...base, values: [{ fragment: 'f', series: 's', value: 1.5, unit: 'C' }] });
  t.equal(
    documentText(decodeMeasurement(plain, 0)),
    '{"time":"2024-05-02T00:00:00.000Z","source":{"id":"251"},"type":"T","f":{"s":{"value":1.5,"unit":"C"}}}',
  );
  t.equal(
    entityText(decodeMeasurement(encodeMeasurement({ ...base, document: '{"x":1.0}', values: [] }), 0)),
    '{"id":"9","x":1.0}',
  );
  t.end();
});

t.test('a batch whose lengths lead out of it is damaged', (t) => {
  const record = encodeCommand({
    kind: COMMAND.EVENT_DELETE,
    tenant: 1,
    key: 1,
    mode: 0,
    receivedAt: 0,
    body: { id: '1' },
  });
  t.equal(countRecords(Buffer.alloc(0)), 0);
  t.equal(countRecords(Buffer.concat([record, record, record])), 3);
  const damaged = (change: (batch: Buffer) => Buffer, name: string): void => {
    t.throws(() => countRecords(change(Buffer.concat([record, record]))), name);
  };
  damaged((batch) => batch.subarray(0, batch.length - 1), 'cut in the last record');
  damaged((batch) => batch.subarray(0, record.length + RECORD_HEADER_BYTES - 1), 'cut in a header');
  damaged((batch) => {
    batch.writeUInt32LE(0, 0);
    return batch;
  }, 'length 0');
  damaged((batch) => {
    batch.writeUInt32LE(RECORD_HEADER_BYTES - 1, 0);
    return batch;
  }, 'shorter than a header');
  damaged((batch) => {
    batch.writeUInt32LE(0xffffffff, record.length);
    return batch;
  }, 'longer than the batch');
  damaged((batch) => Buffer.concat([batch, Buffer.from([1, 2])]), 'two bytes behind the end');
  t.end();
});

t.test('ids and texts spread evenly over the shards, and always to the same one', (t) => {
  const check = (name: string, shards: Iterable<number>, count: number): void => {
    const found = new Array<number>(SHARD_COUNT).fill(0);
    for (const shard of shards) found[shard] += 1;
    const mean = count / SHARD_COUNT;
    t.ok(
      Math.min(...found) > mean * 0.5 && Math.max(...found) < mean * 1.6,
      `${name}: ${Math.min(...found)} to ${Math.max(...found)} of ${mean}`,
    );
  };
  const count = 20_000;
  check(
    'ids of a row',
    Array.from({ length: count }, (_, index) => shardOfId(1, 1_000 + index)),
    count,
  );
  check(
    'ids of another tenant',
    Array.from({ length: count }, (_, index) => shardOfId(2, 1_000 + index)),
    count,
  );
  check(
    'every fourth id',
    Array.from({ length: count }, (_, index) => shardOfId(1, 4 * index)),
    count,
  );
  check(
    'ids beyond 2^32',
    Array.from({ length: count }, (_, index) => shardOfId(1, 2 ** 40 + index * 4_194_304)),
    count,
  );
  check(
    'external IDs',
    Array.from({ length: count }, (_, index) => shardOfText(1, `x:c8y_Serial\ndevice-${index}`)),
    count,
  );
  const tenants = new Set(Array.from({ length: 200 }, (_, tenant) => shardOfId(tenant, 4711)));
  t.ok(tenants.size > SHARD_COUNT / 2, `the same id of 200 tenants lies in ${tenants.size} shards`);
  t.equal(shardOf(1, 4711), shardOfId(1, 4711));
  t.equal(shardOf(3, 't'), shardOfText(3, 't'));
  t.end();
});
