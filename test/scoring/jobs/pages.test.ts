import t from 'tap';
import { type Page, PAGE_RECORDS, Pages } from '../../../src/scoring/jobs/pages.ts';

const part = (deviceId: string, records: number, ...models: readonly string[]) => ({
  deviceId,
  records,
  models: models.map((text) => Buffer.from(text)),
});

function textOf(page: Page | undefined): string {
  const bytes = Buffer.concat(page?.pieces ?? []);
  t.equal(bytes.length, page?.bytes);
  return bytes.toString();
}

t.test('a page holds 2,000 records, whichever devices they are of', async (t) => {
  const pages = new Pages();
  t.equal(pages.end(), undefined, 'nothing yet');
  t.equal(pages.add(part('1', 1_500, '{"a":1}')), undefined, 'not full yet');
  const first = pages.add(part('2', PAGE_RECORDS - 1_500, '{"b":1}', '{"c":1}'));
  t.same(JSON.parse(textOf(first)), [
    { deviceId: '1', recordSize: 1_500, recordCollection: [{ a: 1 }] },
    { deviceId: '2', recordSize: 500, recordCollection: [{ b: 1 }, { c: 1 }] },
  ]);
  t.equal(pages.end(), undefined, 'nothing is left');
  pages.add(part('2', 1, '{}'));
  t.same(JSON.parse(textOf(pages.end())), [{ deviceId: '2', recordSize: 1, recordCollection: [{}] }]);
  pages.add(part('1', 1_999, '{}'));
  t.throws(() => pages.add(part('1', 2, '{}')), /2001 records/);
});

t.test('what is long is not copied, what is short goes together', async (t) => {
  const pages = new Pages();
  const long = Buffer.from(JSON.stringify('x'.repeat(100_000)));
  pages.add({ deviceId: '1', records: 1, models: [Buffer.from('{}'), long] });
  pages.add(part('2', 1, '{}'));
  const page = pages.end();
  t.equal(page?.pieces.length, 3);
  t.equal(page?.pieces[1], long);
  t.same(JSON.parse(textOf(page)), [
    { deviceId: '1', recordSize: 1, recordCollection: [{}, 'x'.repeat(100_000)] },
    { deviceId: '2', recordSize: 1, recordCollection: [{}] },
  ]);
});
