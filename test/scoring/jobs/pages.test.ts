import t from 'tap';
import { PAGE_RECORDS, Pages } from '../../../src/scoring/jobs/pages.ts';

const result = (deviceId: string, count: number) => ({
  deviceId,
  times: Array.from({ length: count }, (_, i) => i * 1_000),
  models: [{ modelName: 'M', outputs: Array.from({ length: count }, (_, i) => ({ y: i })) }],
});

t.test('a page holds 2,000 records, whichever devices they are of', async (t) => {
  const pages = new Pages(7);
  t.same(pages.add(result('1', 1_500)), [], 'not full yet');
  const [first, second, ...rest] = [...pages.add(result('2', 3_000)), ...pages.end()].map((text) => JSON.parse(text));
  t.same(
    first.map(({ deviceId, recordSize }: any) => [deviceId, recordSize]),
    [
      ['1', 1_500],
      ['2', PAGE_RECORDS - 1_500],
    ],
  );
  t.same(
    second.map(({ deviceId, recordSize }: any) => [deviceId, recordSize]),
    [['2', PAGE_RECORDS]],
  );
  t.equal(rest.length, 1);
  t.equal(rest[0][0].recordSize, 500);
  const { y, timestamp_7: timestamps } = second[0].recordCollection[0].outputRecords;
  t.equal(y.length, timestamps.length, 'arrays of one model have one length');
  t.same([y[0], timestamps[0]], [500, '1970-01-01T00:08:20.000Z'], 'it goes on where the page before it ended');
  t.same(pages.end(), [], 'nothing is left');
});
