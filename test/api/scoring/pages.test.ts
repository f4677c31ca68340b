/** Pages of lists of scoring (docs/spec/scoring.md#groups). */
import t from 'tap';
import { pageOfList } from '../../../src/api/scoring/parts.ts';

t.test('a page links to its list, whichever resource the request is of', async (t) => {
  const page = { current: 2, size: 2, offset: 2, wantsTotal: true };
  const of = (path: string): object =>
    pageOfList({ exchange: { path } } as never, { member: 'jobs', path: '/jobs' }, [1, 2, 3, 4, 5], page);
  t.same(of('/service/scoring/job/3'), {
    jobs: [3, 4],
    next: '/service/scoring/jobs?pageSize=2&currentPage=3',
    prev: '/service/scoring/jobs?pageSize=2&currentPage=1',
    statistics: { currentPage: 2, totalPages: 3, pageSize: 2 },
  });
  t.match(of('/service/zementis/jobs/'), { next: '/service/zementis/jobs?pageSize=2&currentPage=3' });
});
