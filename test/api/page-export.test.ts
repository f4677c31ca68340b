/** Lists of records as exports: all pages, one after the other, and what happens when one of them fails. */
import t from 'tap';
import { PlatformError } from '../../src/model/errors.ts';
import { RECORDS_PAGE_SIZE } from '../../src/api/page-export.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../../src/api/request/paging.ts';
import { found } from '../../src/api/request/reply.ts';
import type { Route } from '../../src/api/request/route.ts';
import { startApi } from './helpers/api.ts';

const COUNT = 2 * RECORDS_PAGE_SIZE + 7;
const asked: [offset: number, size: number][] = [];
let refusesFrom = Infinity;
/** Every so many entries may not be read: pages are short. */
let hidesEvery = 0;
const role = (index: number): string =>
  `{"id":"role-${index}","name":"Role, ${index}","self":"http://x/${index}","x_Big":12345678901234567890,"fragments":[1]}`;
const roles: Route = {
  method: 'GET',
  path: '/test/roles',
  area: 'users',
  access: 'public',
  summary: 'Roles',
  query: PAGE_PARAMETERS,
  answers: [{ status: 200, description: 'A page', mediaType: 'roleCollection' }],
  handle(request) {
    const page = pageOf(request);
    asked.push([page.offset, page.size]);
    if (page.offset >= refusesFrom) throw new PlatformError('general/documents-unavailable');
    const all = Array.from(
      { length: Math.max(0, Math.min(page.size, COUNT - page.offset)) },
      (_, index) => page.offset + index,
    );
    const items = all.filter((index) => index % hidesEvery !== 1).map(role);
    return found(
      'roleCollection',
      collectionText(request, page, { name: 'roles', items, isFull: all.length >= page.size }),
    );
  },
};

t.test('all pages, of any length', async (t) => {
  const api = await startApi(t, { further: [roles] });
  const { status, text } = await api.call('GET', '/test/roles?format=ndjson');
  t.equal(status, 200);
  const lines = text.trimEnd().split('\n');
  t.equal(lines.length, COUNT);
  t.strictSame([lines[0], lines[COUNT - 1]], [role(0), role(COUNT - 1)], 'to the letter');
  t.strictSame(
    asked.splice(0),
    [0, 1, 2].map((page) => [page * RECORDS_PAGE_SIZE, RECORDS_PAGE_SIZE]),
  );
  const csv = (await api.call('GET', '/test/roles?format=csv')).text.split('\r\n');
  t.strictSame(csv.slice(0, 2), [
    'id,name,fragments',
    'role-0,"Role, 0","{""x_Big"":12345678901234567890,""fragments"":[1]}"',
  ]);
  t.equal(csv.length, COUNT + 2);
  asked.splice(0);
  t.equal(
    (await api.call('GET', '/test/roles?format=csv&pageSize=3&currentPage=2')).text.split('\r\n')[1].slice(0, 7),
    'role-3,',
  );
  t.strictSame(asked.splice(0), [[3, 3]], 'one page');
  t.equal((await api.call('GET', '/test/roles')).json.roles.length, 5, 'without a format it is the list');
});

t.test('pages that are short, of what may not be read, are not the end', async (t) => {
  const api = await startApi(t, { further: [roles] });
  hidesEvery = 1_000;
  t.equal(
    (await api.call('GET', '/test/roles?format=ndjson')).text.trimEnd().split('\n').length,
    COUNT - Math.ceil(COUNT / 1_000),
  );
  hidesEvery = 0;
});

t.test('what the first page refuses is the answer; later the answer breaks off', async (t) => {
  const api = await startApi(t, { further: [roles] });
  refusesFrom = 0;
  t.match(await api.call('GET', '/test/roles?format=csv'), {
    status: 503,
    json: { error: 'general/Service Unavailable' },
  });
  refusesFrom = RECORDS_PAGE_SIZE;
  await t.rejects(api.call('GET', '/test/roles?format=csv'), 'no complete answer');
  refusesFrom = Infinity;
  t.equal((await api.call('GET', '/test/roles?format=csv')).status, 200);
});
