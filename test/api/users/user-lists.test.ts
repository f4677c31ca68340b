/** Lists of users: people behind 100,000 devices, pages that would be too large, and names that own users. */
import t from 'tap';
import { PAGE_BYTES_LIMIT } from '../../../src/pacing/page-limits.ts';
import { basic, startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';

const USERS = '/user/t1/users';
const namesOf = (reply: any): string[] => reply.json.users.map(({ userName }: any) => userName);

function addUser({ fake }: Api, userName: string, members: object = {}, groups: number[] = []): void {
  fake.put(
    'user',
    userName,
    JSON.stringify({ userName, password: 'x', roles: [], enabled: true, doc: JSON.stringify(members), groups }),
  );
}

t.test('people behind more than 100,000 devices', async (t) => {
  const api = await startApi(t);
  for (let index = 100_000; index <= 200_000; index += 1) addUser(api, `device_${index}`);
  addUser(api, 'ada', { email: 'ada@example.com', newsletter: true, owner: 'zoe' });
  addUser(api, 'zoe', { email: 'zoe@example.com', newsletter: true });
  const list = async (query: string): Promise<any> => api.call('GET', `${USERS}?${query}`);
  t.same(namesOf(await list('')), ['ada', 'admin', 'zoe']);
  t.match((await list('withTotalElements=true')).json.statistics, { totalElements: 3 });
  t.same(namesOf(await list('owner=zoe')), ['ada']);
  t.same(namesOf(await list('username=de')), []);
  t.same(namesOf(await list('username=z')), ['zoe']);
  t.match((await list('withSubusersCount=true')).json.users, [
    { subusersCount: 0 },
    {},
    { userName: 'zoe', subusersCount: 1 },
  ]);
  t.same(namesOf(await list('onlyDevices=true&username=device_1000&pageSize=2')), ['device_100000', 'device_100001']);
  t.same(namesOf(await list('onlyDevices=true&username=dev&pageSize=1')), ['device_1']);
  t.same(namesOf(await list('onlyDevices=true&username=z')), []);
  t.same(
    namesOf(await list('onlyDevices=true&pageSize=2&currentPage=300')),
    ['device_100597', 'device_100598'],
    'over several reads',
  );
  t.equal(
    (await api.call('GET', `${USERS}/newsletterEmails`, { headers: { accept: 'text/plain' } })).text,
    'ada@example.com,zoe@example.com',
  );
  t.equal(
    (
      await api.call('POST', '/user/passwordReset', {
        body: { email: 'ZOE@example.com' },
        headers: { authorization: undefined },
      })
    ).status,
    200,
  );
  t.same(
    api.fake.mails.map(({ to }: any) => to),
    ['zoe@example.com'],
    'who sorts behind the devices gets a link',
  );
});

t.test('pages in order, over several reads', async (t) => {
  const api = await startApi(t);
  const names = Array.from({ length: 600 }, (_, index) => `user${1_000 + index}`);
  for (const name of names) addUser(api, name, {}, name.endsWith('7') ? [7] : []);
  const page = async (current: number, query = ''): Promise<string[]> =>
    namesOf(await api.call('GET', `${USERS}?pageSize=255&currentPage=${current}&username=user${query}`));
  t.same([...(await page(1)), ...(await page(2)), ...(await page(3))], names);
  t.same(await page(4), []);
  const exported = async (path: string): Promise<any[]> =>
    (await api.call('GET', `${path}format=ndjson`)).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  t.same(
    (await exported(`${USERS}?username=user&`)).map(({ userName }) => userName),
    names,
    'the pages of an export go on where the one before ended',
  );
  t.same(await page(1, '&groups=7'), [], 'a group that was deleted has no members');
  api.fake.put('group', '7', JSON.stringify({ id: 7, name: 'seven', roles: [], doc: '{}' }));
  t.same(
    await page(1, '&groups=7,8'),
    names.filter((name) => name.endsWith('7')),
  );
  for (const name of names) api.fake.put('groupMember', `7\n${name}`, '1');
  const members = async (query: string): Promise<any> =>
    (await api.call('GET', `/user/t1/groups/7/users?pageSize=255&${query}`)).json;
  const second = await members('currentPage=2&withTotalElements=true');
  t.same(
    second.references.map(({ user }: any) => user.userName),
    names.slice(255, 510),
  );
  t.equal(second.statistics.totalElements, 600);
  t.same(
    (await exported('/user/t1/groups/7/users?')).map(({ user }) => user.userName),
    names,
  );
});

t.test('what is larger than a page may be is refused before it is built', async (t) => {
  const api = await startApi(t, { config: { pageBytesMax: 640_000 } });
  const ids = Array.from({ length: 200 }, (_, index) => 100 + index);
  for (const id of ids) {
    api.fake.put(
      'group',
      String(id),
      JSON.stringify({ id, name: `g${id}`, roles: [], doc: JSON.stringify({ description: 'x'.repeat(900) }) }),
    );
    api.fake.put(
      'inventoryRole',
      String(id),
      JSON.stringify({ id, name: `r${id}`, description: 'x'.repeat(9_000), permissions: [] }),
    );
  }
  for (let index = 0; index < 10; index += 1) {
    addUser(api, `many${index}`, {}, ids);
    api.fake.put('groupMember', `100\nmany${index}`, '1');
  }
  for (const path of [
    `${USERS}?pageSize=2000`,
    '/user/t1/groups/100/users?pageSize=2000',
    '/user/inventoryroles?pageSize=2000',
  ]) {
    const before = api.fake.counted.length;
    t.match(await api.call('GET', path), { status: 422, json: { error: 'general/Page Too Large' } }, path);
    t.same(api.fake.counted.slice(before), [PAGE_BYTES_LIMIT], path);
  }
  t.equal((await api.call('GET', `${USERS}?pageSize=1&username=many`)).status, 200, 'a smaller page');
  t.equal((await api.call('GET', '/user/t1/groups?pageSize=200')).status, 200);
});

t.test('a name that others name as their owner is for who administers all users', async (t) => {
  const api = await startApi(t);
  for (const [member, kid] of [
    ['owner', 'kid'],
    ['delegatedBy', 'delegate'],
  ])
    addUser(api, kid, { [member]: `was-${member}` });
  api.fake.addUser('creator', ['ROLE_USER_MANAGEMENT_CREATE']);
  api.fake.rows = [];
  const post = async (userName: string, by = 'creator'): Promise<number> =>
    (
      await api.call('POST', USERS, {
        body: { userName, password: 'Analytical-1' },
        headers: { authorization: basic(`t1/${by}`) },
      })
    ).status;
  for (const member of ['owner', 'delegatedBy']) {
    t.equal(await post(`was-${member}`), 403, member);
    t.equal(await post(`was-${member}`, 'admin'), 201, member);
  }
  t.equal(await post('nobody-before'), 201);
});

t.test('the links of references answer with the reference', async (t) => {
  const api = await startApi(t);
  api.fake.put('group', '7', JSON.stringify({ id: 7, name: 'seven', roles: ['ROLE_ALARM_READ'], doc: '{}' }));
  api.fake.put('group', '8', JSON.stringify({ id: 8, name: 'eight', roles: [], doc: '{}' }));
  for (const name of ['ä da', 'bob']) {
    const user = {
      userName: name,
      password: 'x',
      roles: ['ROLE_EVENT_READ'],
      enabled: true,
      doc: '{}',
      groups: name === 'bob' ? [] : [7],
    };
    api.fake.put('user', name, JSON.stringify(user));
  }
  api.fake.put('groupMember', '7\nä da', '1');
  const read = async (path: string): Promise<any> => (await api.call('GET', path)).json;
  const ada = `${USERS}/${encodeURIComponent('ä da')}`;
  const [user, group, members, groups] = await Promise.all([
    read(ada),
    read('/user/t1/groups/7'),
    read('/user/t1/groups/7/users'),
    read(`${ada}/groups`),
  ]);
  const references = [
    ...user.roles.references,
    ...user.groups.references,
    ...user.groups.references[0].group.roles.references,
    ...group.roles.references,
    ...members.references,
    ...groups.references,
    ...(await read(`${ada}/roles`)).references,
    ...(await read('/user/t1/groups/7/roles')).references,
  ];
  t.equal(references.length, 8);
  for (const reference of references) {
    t.strictSame(await read(reference.self.slice(api.url.length)), reference, reference.self);
    const { self } = reference.role ?? reference.group ?? reference.user;
    t.equal((await api.call('GET', self.slice(api.url.length))).status, 200, self);
  }
  const none = [
    `${USERS}/bob/groups/7`,
    `${USERS}/bob/roles/ROLE_ALARM_READ`,
    `${USERS}/eve/groups/7`,
    '/user/t1/groups/7/users/bob',
    '/user/t1/groups/7/users/eve',
    '/user/t1/groups/7/roles/ROLE_EVENT_READ',
    '/user/t1/groups/9/roles/ROLE_ALARM_READ',
    '/user/t1/groups/8/users/bob',
  ];
  for (const path of none) t.equal((await api.call('GET', path)).status, 404, path);
  t.equal((await api.call('GET', '/user/t2/groups/7/roles/ROLE_ALARM_READ')).status, 403, 'another tenant');
});
