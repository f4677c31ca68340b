/** Records of the journal: what was encoded is decoded, damage is noticed, shards are even. */
import t from 'tap';
import {
  RECORD_HEADER_BYTES, SHARD_COUNT, countRecords, decodeCommand, encodeCommand, shardOf, shardOfId, shardOfText,
} from '../../src/ingest/command-record.ts';
import { decodeMeasurement, documentText, encodeMeasurement, entityText } from '../../src/ingest/measurement-record.ts';
import { COMMAND } from '../../src/model/command.ts';
import type { CommandKind } from '../../src/model/command.ts';
import type { ProcessingMode } from '../../src/model/processing-mode.ts';
import { Random } from '../smartrest/random.ts';

const TEXTS = ['', 'a', 'c8y_Temperature', 'ä温😀', 'a\nb', '"\\', '\u0000', 'x'.repeat(300)];
const IDS = [1, 255, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7, Number.MAX_SAFE_INTEGER];

t.test('commands: encode and decode are inverse, wherever the record stands in a batch', (t) => {
  const random = new Random();
  for (let round = 0; round < 3_000; round += 1) {
    const key = random.below(2) === 0 ? random.pick(IDS) : `x:${random.pick(TEXTS)}\n${random.pick(TEXTS)}`;
    const command = {
      kind: random.pick(Object.values(COMMAND).filter((kind) => kind !== COMMAND.MEASUREMENT)) as CommandKind,
      tenant: random.pick([0, 1, 7, 2 ** 32 - 1]), key, mode: random.below(4) as ProcessingMode, receivedAt: 1.7e12 + random.below(1e9),
      body: { text: random.pick(TEXTS), nested: { list: [random.below(9), null] }, doc: '{"__proto__":1,"n":1.0}' },
    };
    const pendingId = random.below(3) === 0 ? `${String(random.below(1e9)).padStart(16, '0')}-${random.below(9)}` : undefined;
    const before = encodeCommand({ ...command, key: 1 });
    const batch = Buffer.concat([before, encodeCommand(command, pendingId), before]);
    const seq = random.below(1e9);
    const decoded = decodeCommand(batch, before.length, seq);
    batch.fill(0xff);
    const isRight = JSON.stringify(decoded) === JSON.stringify({ seq, shard: shardOf(command.tenant, key), kind: command.kind,
      mode: command.mode,
      tenant: command.tenant, key, receivedAt: command.receivedAt, pendingId, body: command.body });
    if (!isRight) t.fail(`${JSON.stringify(command)}, seed ${random.seed}`);
  }
  t.pass(`seed ${random.seed}`);
  t.end();
});

t.test('a key that does not fit is refused as a value, not with a broken record', (t) => {
  const command = { kind: COMMAND.EXTERNAL_ID_BIND, tenant: 1, key: 'k'.repeat(65_536), mode: 0 as const, receivedAt: 0, body: {} };
  t.throws(() => encodeCommand(command), { code: 'validation/invalid-field' });
  t.equal(decodeCommand(encodeCommand({ ...command, key: 'k'.repeat(65_535) }), 0, 1).key, 'k'.repeat(65_535));
  t.end();
});

t.test('measurements: encode and decode are inverse', (t) => {
  const random = new Random();
  for (let round = 0; round < 3_000; round += 1) {
    const measurement = {
      tenant: random.pick([1, 2 ** 32 - 1]), source: random.pick(IDS), id: random.pick(IDS),
        time: random.pick([0, -1, 1.7e12, 253402300799999]),
      mode: random.below(4) as ProcessingMode, type: random.pick(TEXTS), document: random.pick(['', '{"a":1.0}', '{"ä":"温"}']),
      values: Array.from({ length: random.below(5) }, () => ({
        fragment: random.pick(TEXTS), series: random.pick(TEXTS), unit: random.pick(TEXTS),
          value: random.pick([0, -1.5, 1e300, 5e-324, 1 / 3]),
      })),
      form: random.pick([0, 0, 1, 2 ** 50 - 1]),
    };
    const record = encodeMeasurement({ ...measurement, receivedAt: 5 });
    const decoded = decodeMeasurement(Buffer.concat([record, record]), record.length);
    const isRight = record[5] === COMMAND.MEASUREMENT && record[4] === shardOfId(measurement.tenant, measurement.source)
      && countRecords(Buffer.concat([record, record])) === 2
      && JSON.stringify(sorted(decoded)) === JSON.stringify(sorted(measurement));
    if (!isRight) t.fail(`${JSON.stringify(measurement)} became ${JSON.stringify(decoded)}, seed ${random.seed}`);
  }
  t.pass(`seed ${random.seed}`);
  t.end();
});

/** The same members in one order. */
function sorted(measurement: { values: readonly object[] }): object {
  const inOrder = (value: object): object => Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return inOrder({ ...measurement, values: measurement.values.map(inOrder) });
}

t.test('the document of a measurement: as sent where it is kept, else made from the values', (t) => {
  const base = { tenant: 1, source: 251, id: 9, time: Date.UTC(2024, 4, 2), mode: 0 as const, type: 'T', document: '', receivedAt: 0 };
  const plain = encodeMeasurement({ ...base, values: [{ fragment: 'f', series: 's', value: 1.5, unit: 'C' }] });
  t.equal(documentText(decodeMeasurement(plain, 0)),
    '{"time":"2024-05-02T00:00:00.000Z","source":{"id":"251"},"type":"T","f":{"s":{"value":1.5,"unit":"C"}}}');
  t.equal(entityText(decodeMeasurement(encodeMeasurement({ ...base, document: '{"x":1.0}', values: [] }), 0)), '{"id":"9","x":1.0}');
  t.end();
});

t.test('a batch whose lengths lead out of it is damaged', (t) => {
  const record = encodeCommand({ kind: COMMAND.EVENT_DELETE, tenant: 1, key: 1, mode: 0, receivedAt: 0, body: { id: '1' } });
  t.equal(countRecords(Buffer.alloc(0)), 0);
  t.equal(countRecords(Buffer.concat([record, record, record])), 3);
  const damaged = (change: (batch: Buffer) => Buffer, name: string): void => {
    t.throws(() => countRecords(change(Buffer.concat([record, record]))), name);
  };
  damaged((batch) => batch.subarray(0, batch.length - 1), 'cut in the last record');
  damaged((batch) => batch.subarray(0, record.length + RECORD_HEADER_BYTES - 1), 'cut in a header');
  damaged((batch) => { batch.writeUInt32LE(0, 0); return batch; }, 'length 0');
  damaged((batch) => { batch.writeUInt32LE(RECORD_HEADER_BYTES - 1, 0); return batch; }, 'shorter than a header');
  damaged((batch) => { batch.writeUInt32LE(0xffffffff, record.length); return batch; }, 'longer than the batch');
  damaged((batch) => Buffer.concat([batch, Buffer.from([1, 2])]), 'two bytes behind the end');
  t.end();
});

t.test('ids and texts spread evenly over the shards, and always to the same one', (t) => {
  const check = (name: string, shards: Iterable<number>, count: number): void => {
    const found = new Array<number>(SHARD_COUNT).fill(0);
    for (const shard of shards) found[shard] += 1;
    const mean = count / SHARD_COUNT;
    t.ok(Math.min(...found) > mean * 0.5 && Math.max(...found) < mean * 1.6,
      `${name}: ${Math.min(...found)} to ${Math.max(...found)} of ${mean}`);
  };
  const count = 20_000;
  check('ids of a row', Array.from({ length: count }, (_, index) => shardOfId(1, 1_000 + index)), count);
  check('ids of another tenant', Array.from({ length: count }, (_, index) => shardOfId(2, 1_000 + index)), count);
  check('every fourth id', Array.from({ length: count }, (_, index) => shardOfId(1, 4 * index)), count);
  check('ids beyond 2^32', Array.from({ length: count }, (_, index) => shardOfId(1, 2 ** 40 + index * 4_194_304)), count);
  check('external IDs', Array.from({ length: count }, (_, index) => shardOfText(1, `x:c8y_Serial\ndevice-${index}`)), count);
  t.equal(shardOf(1, 4711), shardOfId(1, 4711));
  t.equal(shardOf(3, 't'), shardOfText(3, 't'));
  t.end();
});
