/** Lists of records as exports: all pages, one after the other, and what happens when one of them fails. */
import t from 'tap';
import { PlatformError } from '../../src/model/errors.ts';
import { PAGE_PARAMETERS, PAGE_SIZE_MAX, collectionText, pageOf } from '../../src/api/paging.ts';
import { found } from '../../src/api/reply.ts';
import type { Route } from '../../src/api/route.ts';
import { startApi } from './helpers/api.ts';

const COUNT = 2 * PAGE_SIZE_MAX + 7;
const asked: [offset: number, size: number][] = [];
let refusesFrom = Infinity;
const role = (index: number): string => `{"id":"role-${index}","name":"Role, ${index}","self":"http://x/${index}","x_Big":12345678901234567890}`;
const roles: Route = {
  method: 'GET', path: '/test/roles', area: 'users', access: 'public', summary: 'Roles', query: PAGE_PARAMETERS,
  answers: [{ status: 200, description: 'A page', mediaType: 'roleCollection' }],
  handle(request) {
    const page = pageOf(request);
    asked.push([page.offset, page.size]);
    if (page.offset >= refusesFrom) throw new PlatformError('general/documents-unavailable');
    const items = Array.from({ length: Math.max(0, Math.min(page.size, COUNT - page.offset)) }, (_, index) => role(page.offset + index));
    return found('roleCollection', collectionText(request, page, { name: 'roles', items }));
  },
};

t.test('all pages, of any length', async (t) => {
  const api = await startApi(t, { further: [roles] });
  const { status, text } = await api.call('GET', '/test/roles?format=ndjson');
  t.equal(status, 200);
  const lines = text.trimEnd().split('\n');
  t.equal(lines.length, COUNT);
  t.strictSame([lines[0], lines[COUNT - 1]], [role(0), role(COUNT - 1)], 'to the letter');
  t.strictSame(asked.splice(0), [[0, PAGE_SIZE_MAX], [PAGE_SIZE_MAX, PAGE_SIZE_MAX], [2 * PAGE_SIZE_MAX, PAGE_SIZE_MAX]]);
  const csv = (await api.call('GET', '/test/roles?format=csv')).text.split('\r\n');
  t.strictSame(csv.slice(0, 2), ['id,name,fragments', 'role-0,"Role, 0","{""x_Big"":12345678901234567890}"']);
  t.equal(csv.length, COUNT + 2);
  asked.splice(0);
  t.equal((await api.call('GET', '/test/roles?format=csv&pageSize=3&currentPage=2')).text.split('\r\n')[1].slice(0, 7), 'role-3,');
  t.strictSame(asked.splice(0), [[3, 3]], 'one page');
  t.equal((await api.call('GET', '/test/roles')).json.roles.length, 5, 'without a format it is the list');
});

t.test('what the first page refuses is the answer; later the answer breaks off', async (t) => {
  const api = await startApi(t, { further: [roles] });
  refusesFrom = 0;
  t.match(await api.call('GET', '/test/roles?format=csv'), { status: 503, json: { error: 'general/Service Unavailable' } });
  refusesFrom = PAGE_SIZE_MAX;
  await t.rejects(api.call('GET', '/test/roles?format=csv'), 'no complete answer');
  refusesFrom = Infinity;
  t.equal((await api.call('GET', '/test/roles?format=csv')).status, 200);
});
