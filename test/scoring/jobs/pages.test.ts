import t from 'tap';
import { PAGE_RECORDS, Pages } from '../../../src/scoring/jobs/pages.ts';

const part = (deviceId: string, records: number, ...models: readonly string[]) => ({
  deviceId,
  records,
  models: models.map((text) => Buffer.from(text)),
});

t.test('a page holds 2,000 records, whichever devices they are of', async (t) => {
  const pages = new Pages();
  t.equal(pages.end(), undefined, 'nothing yet');
  t.equal(pages.add(part('1', 1_500, '{"a":1}')), undefined, 'not full yet');
  const first = pages.add(part('2', PAGE_RECORDS - 1_500, '{"b":1}', '{"c":1}'));
  t.same(JSON.parse(Buffer.from(first as Uint8Array).toString()), [
    { deviceId: '1', recordSize: 1_500, recordCollection: [{ a: 1 }] },
    { deviceId: '2', recordSize: 500, recordCollection: [{ b: 1 }, { c: 1 }] },
  ]);
  t.equal(pages.end(), undefined, 'nothing is left');
  pages.add(part('2', 1, '{}'));
  t.same(JSON.parse(Buffer.from(pages.end() as Uint8Array).toString()), [
    { deviceId: '2', recordSize: 1, recordCollection: [{}] },
  ]);
  pages.add(part('1', 1_999, '{}'));
  t.throws(() => pages.add(part('1', 2, '{}')), /2001 records/);
});
