/** Logins: slow once, then from the cache until the user changes; the accounts of the first start. */
import t from 'tap';
import { CachingAuthenticator } from '../../src/accounts/login/authenticator.ts';
import { ChangedUsers } from '../../src/accounts/users/changed-users.ts';
import { createFirstAccounts } from '../../src/accounts/first-start.ts';
import { ProvenPasswords } from '../../src/accounts/login/proven-passwords.ts';
import { Tenants } from '../../src/accounts/tenants/tenants.ts';
import type { Documents } from '../../src/ports/stores/documents.ts';
import type { StoredUser } from '../../src/model/entities/stored-user.ts';
import { quickHashes } from '../helpers/quick-hashes.ts';
import { matchesGenerated } from '../../src/model/access/password-hash.ts';
import type { Principal } from '../../src/model/access/principal.ts';
import { ROLES } from '../../src/model/access/roles.ts';
import { LmdbDocuments } from '../../src/store/lmdb/documents.ts';
import { openEnvironment } from '../actors/platform.ts';
import type { Test } from 'tap';

const TURN = { tenant: 0, account: '' };

async function newAuthenticator(t: Test, options: { waitingMax?: number } = {}) {
  const stored = new LmdbDocuments(openEnvironment(t));
  let reads = 0;
  /** What the next readings of a user come to, instead of what is stored. */
  const readings = new Map<string, (() => string | undefined)[]>();
  const refused: string[] = [];
  const documents: Documents = {
    get: (...place) => {
      reads += 1;
      return readings.get(place[2])?.shift()?.() ?? stored.get(...place);
    },
    getMany: (...place) => stored.getMany(...place),
    list: (...place) => stored.list(...place),
    commit: (...change) => stored.commit(...change),
    position: () => 0,
  };
  const tenants = new Tenants('t1');
  await tenants.open(documents);
  let now = 0;
  const refusals = {
    count: (limit: string) => {
      refused.push(limit);
    },
  };
  const hashes = quickHashes({ refusals, threads: 8, ...options });
  const authenticator = new CachingAuthenticator({ documents, tenants, refusals, now: () => now, hashes });
  const hashPassword = (password: string): Promise<string> => hashes.hash(password, 'chosen', TURN);
  const put = async (userName: string, password: string, extra: object = {}, tenant = 't1'): Promise<void> => {
    const user = { userName, password: await hashPassword(password), roles: ['R'], enabled: true, doc: '{}', ...extra };
    await stored.commit(
      [{ collection: 'user', tenant: tenants.byId(tenant)?.number ?? 0, id: userName, value: JSON.stringify(user) }],
      undefined,
    );
  };
  return {
    authenticator,
    documents,
    tenants,
    put,
    readings,
    refused,
    hashes,
    hashPassword,
    reads: () => reads,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

t.test('the right password of an enabled user, in the tenant that is named or the default one', async (t) => {
  const { authenticator, put } = await newAuthenticator(t);
  await put('ada', 'right');
  await put('bob', 'bobs', { enabled: false });
  await put('ada', 'other', {}, 'management');
  const check = async (user: string, password: string, tenant: string | undefined): Promise<void> => {
    t.equal((await authenticator.authenticate(user, password))?.tenant, tenant, `${user.slice(0, 30)} ${password}`);
  };
  await check('ada', 'right', 't1');
  await check('t1/ada', 'right', 't1');
  await check('management/ada', 'other', 'management');
  await check('management/ada', 'right', undefined);
  await check('ada', 'wrong', undefined);
  await check('ada', '', undefined);
  await check('bob', 'bobs', undefined);
  await check('eve', 'right', undefined);
  await check('t2/ada', 'right', undefined);
  for (const user of ['', '/', 't1/', '/ada', 't1/ada/', 'x'.repeat(1_899), 'ä'.repeat(1_800), 'x'.repeat(60_000)])
    await check(user, 'right', undefined);
  t.same(await authenticator.authenticate('ada', 'right'), {
    tenant: 't1',
    tenantNumber: 2,
    userName: 'ada',
    roles: new Set(['R']),
    tokenGeneration: 0,
    asOf: 0,
  });
});

t.test('a suspended tenant says so to who has the right password, to nobody else', async (t) => {
  const { authenticator, tenants, put, refused } = await newAuthenticator(t);
  const two = { id: 'two', number: 9, status: 'ACTIVE' };
  const store = (value: object | undefined): void => {
    const changes = [
      {
        collection: 'tenant',
        id: 'two',
        expected: undefined,
        value: value === undefined ? undefined : JSON.stringify(value),
      },
    ] as const;
    authenticator.tenantsEnded(tenants.recordsChanged(0, changes));
  };
  store(two);
  await put('ada', 'right', {}, 'two');
  await put('bob', 'right', { enabled: false }, 'two');
  t.equal((await authenticator.authenticate('two/ada', 'right'))?.tenant, 'two');
  store({ ...two, status: 'SUSPENDED' });
  for (const place of [{}, { tenantNumber: 9 }]) {
    const name = place.tenantNumber === undefined ? 'two/ada' : 'ada';
    await t.rejects(Promise.resolve(authenticator.authenticate(name, 'right', place)), {
      code: 'login/tenant-suspended',
      status: 401,
      message: 'The tenant two is suspended',
    });
    t.equal(await authenticator.authenticate(name, 'wrong', place), undefined);
  }
  for (const name of ['two/bob', 'two/eve']) t.equal(await authenticator.authenticate(name, 'right'), undefined, name);
  t.same(refused, ['tenants/suspended', 'tenants/suspended']);
  store(two);
  t.equal((await authenticator.authenticate('two/ada', 'right'))?.tenant, 'two');
  store({ ...two, status: 'SUSPENDED' });
  const pending = authenticator.authenticate('two/ada', 'right');
  store(undefined);
  t.equal(await pending, undefined, 'one that is gone meanwhile');
});

t.test('checked once, then at once from the cache, until it is too old', async (t) => {
  const { authenticator, put, reads, pass } = await newAuthenticator(t);
  await put('ada', 'right');
  const before = reads();
  const answers = await Promise.all(Array.from({ length: 500 }, () => authenticator.authenticate('ada', 'right')));
  t.ok(answers.every((answer) => answer?.userName === 'ada'));
  t.equal(reads(), before + 2, 'one check for all who come at once: the user is read before and after');
  t.notOk(authenticator.authenticate('ada', 'right') instanceof Promise);
  t.ok(authenticator.authenticate('ada', 'wrong') instanceof Promise, 'another password is another entry');
  pass(11 * 60_000);
  t.ok(authenticator.authenticate('ada', 'right') instanceof Promise);
  await Promise.all([authenticator.authenticate('ada', 'right'), authenticator.authenticate('ada', 'wrong')]);
  await put('a\nb', 'c');
  await put('a', 'b\nc');
  t.equal((await authenticator.authenticate('a', 'b\nc'))?.userName, 'a');
  t.equal(
    (await authenticator.authenticate('a\nb', 'c'))?.userName,
    'a\nb',
    'a line feed does not make two accounts one',
  );
});

t.test('a changed user is forgotten, also by the checks under way', async (t) => {
  const { authenticator, put } = await newAuthenticator(t);
  await put('ada', 'right');
  await put('bob', 'bobs');
  await authenticator.authenticate('ada', 'right');
  await authenticator.authenticate('bob', 'bobs');
  const underWay = authenticator.authenticate('ada', 'right');
  await put('ada', 'new');
  authenticator.forget(2, 'ada');
  await underWay;
  t.equal(await authenticator.authenticate('ada', 'right'), undefined);
  t.equal((await authenticator.authenticate('ada', 'new'))?.userName, 'ada');
  t.notOk(authenticator.authenticate('bob', 'bobs') instanceof Promise, 'others stay');
  await put('cyd', 'old');
  const old = authenticator.authenticate('cyd', 'old');
  await Promise.resolve();
  await put('cyd', 'old', { enabled: false });
  authenticator.forget(2, 'cyd');
  t.equal(
    await authenticator.authenticate('cyd', 'old'),
    undefined,
    'who comes after the change does not join the check from before it',
  );
  await old;
  t.equal(await authenticator.authenticate('cyd', 'old'), undefined, 'nor does its result stay');
});

t.test('a user that changes while his password is checked', async (t) => {
  const { authenticator, readings, hashPassword } = await newAuthenticator(t);
  const [old, fresh] = [await hashPassword('old'), await hashPassword('new')];
  /** Is another one behind the first reading. */
  const login = (
    userName: string,
    password: string,
    before: object | undefined,
    after: object,
  ): Promise<Principal | undefined> => {
    const textOf = (more: object): string =>
      JSON.stringify({ userName, roles: ['R'], enabled: true, doc: '{}', ...more });
    const changed = (): string => {
      authenticator.forget(2, userName);
      return textOf(after);
    };
    readings.set(userName, [
      () => (before === undefined ? undefined : textOf(before)),
      ...Array.from({ length: 9 }, () => changed),
    ]);
    return Promise.resolve(authenticator.authenticate(userName, password));
  };
  t.equal(await login('disabled', 'old', { password: old }, { password: old, enabled: false }), undefined);
  t.equal(await login('changed', 'old', { password: old }, { password: fresh }), undefined);
  t.equal(
    (await login('renewed', 'new', { password: old }, { password: fresh }))?.userName,
    'renewed',
    'what is right now is taken',
  );
  t.equal(
    (await login('late', 'new', undefined, { password: fresh }))?.userName,
    'late',
    'also of a user who was made meanwhile',
  );
  const moved = await login(
    'moved',
    'old',
    { password: old, tokenGeneration: 1 },
    { password: old, tokenGeneration: 2, roles: ['S'] },
  );
  t.match(moved, { tokenGeneration: 2, roles: new Set(['S']) }, 'as it is after the check');
  t.equal(
    authenticator.current(moved as Principal),
    undefined,
    'it has changed since: who makes a connection of it asks again',
  );
  const again = authenticator.authenticate('moved', 'old');
  t.ok(again instanceof Promise, 'nor is it remembered');
  await again;
});

t.test('a change of one user leaves the logins of others alone', async (t) => {
  const { authenticator, put, reads } = await newAuthenticator(t);
  await put('ada', 'right');
  await put('ada', 'other', {}, 'management');
  const before = reads();
  const login = authenticator.authenticate('ada', 'right');
  const joined = authenticator.authenticate('ada', 'right');
  for (let index = 0; index < 30; index += 1) authenticator.forget(2, `imported-${index}`);
  authenticator.recordsChanged(1, [{ collection: 'group', id: '1', expected: '{}', value: undefined }]);
  const later = authenticator.authenticate('ada', 'right');
  const [ada] = (await Promise.all([login, joined, later])) as [Principal, unknown, unknown];
  t.equal(reads(), before + 2, 'who comes meanwhile waits for the same check');
  t.notOk(
    authenticator.authenticate('ada', 'right') instanceof Promise,
    'remembered, though users were made during the check',
  );
  t.ok(authenticator.current(ada));
  authenticator.recordsChanged(1, [{ collection: 'group', id: '1', expected: '{}', value: undefined }]);
  t.ok(authenticator.current(ada), 'a group of another tenant');
  await authenticator.authenticate('management/ada', 'other');
  for (const change of [
    { collection: 'group', id: '1', expected: '{}', value: undefined },
    { collection: 'tokenRevocation', id: '*', expected: undefined, value: '{}' },
    { collection: 'inventoryAssignment', id: 'ada\n1', expected: undefined, value: '{}' },
    { collection: 'tokenRevocation', id: 'ada\nx', expected: undefined, value: '{}' },
  ] as const) {
    const known = (await authenticator.authenticate('ada', 'right')) as Principal;
    authenticator.recordsChanged(2, [change]);
    t.equal(authenticator.current(known), undefined, `${change.collection} ${change.id}`);
    const login = authenticator.authenticate('ada', 'right');
    t.equal(login instanceof Promise, change.collection !== 'tokenRevocation', 'the password is as right as before');
    await login;
  }
  t.notOk(authenticator.authenticate('management/ada', 'other') instanceof Promise, 'another tenant');
  authenticator.forgetAll();
  const again = authenticator.authenticate('management/ada', 'other');
  t.ok(again instanceof Promise);
  await again;
  t.equal(authenticator.current({ ...ada, asOf: undefined as never }), undefined, 'of unknown age');
});

t.test('a change of a tenant leaves the logins of others alone', async (t) => {
  const { authenticator, tenants, put } = await newAuthenticator(t);
  const owner = tenants.byId('management')?.number as number;
  await put('ada', 'right');
  await put('ada', 'other', {}, 'management');
  await put('service_x', 'secret', { service: { application: '7', owner } });
  const known = async (): Promise<string[]> => {
    const names: string[] = [];
    for (const [name, password] of [
      ['ada', 'right'],
      ['management/ada', 'other'],
      ['service_x', 'secret'],
    ] as const) {
      const login = authenticator.authenticate(name, password);
      if (!(login instanceof Promise)) names.push(name);
      await login;
    }
    return names;
  };
  await known();
  t.same(await known(), ['ada', 'management/ada', 'service_x']);
  const change = (id: string, number: number, more: object = {}): Parameters<typeof authenticator.recordsChanged> => [
    0,
    [
      {
        collection: 'tenant',
        id,
        expected: JSON.stringify({ id, number }),
        value: JSON.stringify({ id, number, ...more }),
      },
    ],
  ];
  authenticator.recordsChanged(...change('other', 9, { company: 'x' }));
  t.same(await known(), ['ada', 'management/ada', 'service_x'], 'one of which nobody is');
  const [user, service] = (await Promise.all([
    authenticator.authenticate('ada', 'right'),
    authenticator.authenticate('service_x', 'secret'),
  ])) as Principal[];
  authenticator.recordsChanged(...change('management', owner));
  t.equal(authenticator.current(service), undefined, 'whose microservice belongs to it');
  t.ok(authenticator.current(user));
  t.same(await known(), ['ada']);
  authenticator.recordsChanged(0, [{ collection: 'tenant', id: 't1', expected: undefined, value: undefined }]);
  t.equal(authenticator.current(user), undefined);
  t.same(await known(), ['management/ada'], 'as another node tells it: the microservice is its user');
  tenants.recordsChanged(0, change('management', owner, { status: 'SUSPENDED' })[1]);
  authenticator.tenantsEnded([{ id: 'management', number: owner }]);
  await t.rejects(Promise.resolve(authenticator.authenticate('management/ada', 'other')), {
    code: 'login/tenant-suspended',
  });
  t.equal(await authenticator.authenticate('service_x', 'secret'), undefined);
});

t.test('an owner who changes during the login of his microservice is seen', async (t) => {
  const { authenticator, tenants, put } = await newAuthenticator(t);
  const { number } = tenants.byId('management') as { number: number };
  await put('service_x', 'secret', { service: { application: '7', owner: number } });
  const login = authenticator.authenticate('service_x', 'secret');
  const change = {
    collection: 'tenant',
    id: 'management',
    expected: undefined,
    value: JSON.stringify({ id: 'management', number, status: 'SUSPENDED' }),
  } as const;
  tenants.recordsChanged(0, [change]);
  authenticator.recordsChanged(0, [change]);
  t.equal(await login, undefined);
});

t.test('changes are known one by one up to a bound: what is older counts as changed', async (t) => {
  const changed = new ChangedUsers(3);
  const start = changed.generation;
  changed.userChanged(1, 'a');
  const since = changed.generation;
  t.same(
    [changed.hasChanged(1, 'a', start), changed.hasChanged(1, 'b', start), changed.hasChanged(1, 'a', since)],
    [true, false, false],
  );
  for (const name of ['b', 'c', 'd']) changed.userChanged(1, name);
  t.same(
    [changed.hasChanged(1, 'x', start), changed.hasChanged(1, 'x', since), changed.hasChanged(1, 'd', since)],
    [true, false, true],
  );
  changed.tenantChanged(2);
  t.same(
    [changed.hasChanged(2, 'x', changed.generation - 1), changed.hasChanged(1, 'x', changed.generation - 1)],
    [true, false],
  );
  changed.allChanged();
  t.same(
    [changed.hasChanged(1, 'x', changed.generation - 1), changed.hasChanged(1, 'x', changed.generation)],
    [true, false],
  );
});

/** What a user does, or somebody with him. */
async function own(documents: Documents, name: string, members: object): Promise<void> {
  const user = JSON.parse((await documents.get('user', 2, name)) as string);
  await documents.commit(
    [{ collection: 'user', tenant: 2, id: name, value: JSON.stringify({ ...user, ...members }) }],
    undefined,
  );
}

t.test('first accounts: generated or configured, kept, replaced on demand', async (t) => {
  const { authenticator, documents, tenants, hashes, hashPassword } = await newAuthenticator(t);
  const settings = { adminUser: 'admin', managementUser: 'admin' };
  const kept = new Map<string, string>();
  const keep = async (generated: ReadonlyMap<string, string>): Promise<void> => {
    t.equal(documents.get('user', tenants.default.number, 'admin'), undefined, 'kept before the account is valid');
    for (const [account, password] of generated) kept.set(account, password);
  };
  const first = await createFirstAccounts(documents, tenants, { ...settings, bootstrapPassword: 'boot' }, hashes, keep);
  t.ok(first.isFirstStart);
  t.same([...first.generated.keys()], ['t1/admin', 'management/admin']);
  t.same(kept, first.generated);
  for (const [account, password] of first.generated) {
    t.match(password, /^[a-km-np-z2-9]{16}$/);
    const roles = (await authenticator.authenticate(account, password))?.roles;
    t.same(
      ROLES.filter((role) => !roles?.has(role)),
      [],
      `${account} has every role`,
    );
  }
  t.same(
    (await authenticator.authenticate('management/devicebootstrap', 'boot'))?.roles,
    new Set(['ROLE_DEVICE_BOOTSTRAP']),
  );
  const second = await createFirstAccounts(documents, tenants, settings, hashes, keep);
  t.same([second.isFirstStart, second.generated.size], [false, 0]);
  t.ok(await authenticator.authenticate('admin', first.generated.get('t1/admin') as string), 'passwords stay');
  const all = { ...settings, adminPassword: 'a', managementPassword: 'm', bootstrapPassword: 'b' };
  for (let round = 0; round < 2; round += 1)
    t.notOk(
      (await createFirstAccounts(documents, tenants, all, hashes, keep)).isFirstStart,
      'configured passwords make no first start',
    );
  authenticator.forget(2, 'admin');
  t.ok(await authenticator.authenticate('admin', 'a'));
  await own(documents, 'admin', { password: await hashPassword('own'), enabled: false });
  await createFirstAccounts(documents, tenants, all, hashes, keep);
  t.match(
    JSON.parse(documents.get('user', 2, 'admin') as string),
    { enabled: false },
    'the same configuration again changes nothing',
  );
  await own(documents, 'admin', { enabled: true });
  authenticator.forget(2, 'admin');
  t.ok(await authenticator.authenticate('admin', 'own'), 'what the user has set stays');
  t.notOk(await authenticator.authenticate('admin', 'a'), 'and the configured one does not come back');
  await createFirstAccounts(documents, tenants, { ...all, adminPassword: 'another' }, hashes, keep);
  authenticator.forget(2, 'admin');
  t.ok(await authenticator.authenticate('admin', 'another'), 'another one replaces it');
  const boot = (): StoredUser => JSON.parse(documents.get('user', 1, 'devicebootstrap') as string) as StoredUser;
  await documents.commit([{ collection: 'user', tenant: 1, id: 'devicebootstrap', value: undefined }], undefined);
  const generated = (
    await createFirstAccounts(documents, tenants, settings, hashes, () => Promise.resolve())
  ).generated.get('management/devicebootstrap') as string;
  t.match(generated, /^[a-km-np-z2-9]{26}$/);
  const { password, tokenGeneration } = boot();
  t.ok(matchesGenerated(generated, password), 'no device waits for a slow hash of it');
  for (let round = 0; round < 2; round += 1)
    await createFirstAccounts(documents, tenants, { ...settings, bootstrapPassword: generated }, hashes, keep);
  t.match(boot(), { password, tokenGeneration }, 'the generated one as the configured one changes nothing');
  const again = new Tenants('t1');
  await again.open(documents);
  t.same(
    [...again.all].map(({ id, number }) => [id, number]),
    [
      ['management', 1],
      ['t1', 2],
    ],
  );
});

t.test('more passwords than can be checked: busy, not wrong', async (t) => {
  const { authenticator, put, refused } = await newAuthenticator(t, { waitingMax: 2 });
  await put('ada', 'right');
  const answers = await Promise.allSettled(
    Array.from({ length: 12 }, (_, index) => authenticator.authenticate('ada', `wrong${index}`)),
  );
  const rejected = answers.filter((answer) => answer.status === 'rejected');
  t.equal(answers.length - rejected.length, 10, 'eight are checked, two wait');
  for (const { reason } of rejected)
    t.match(reason, { code: 'general/busy', status: 503, details: { limit: 'authentication/checks-waiting' } });
  t.same(refused, ['authentication/checks-waiting', 'authentication/checks-waiting']);
  t.equal((await authenticator.authenticate('ada', 'right'))?.userName, 'ada', 'and it goes on');
});

t.test('who was right before gets in while others fill the turns of the account', async (t) => {
  const { authenticator, put, refused, pass } = await newAuthenticator(t);
  await put('ada', 'right', { alias: 'nick' });
  t.equal((await authenticator.authenticate('ada', 'right'))?.userName, 'ada');
  pass(11 * 60_000);
  const guesses = Array.from({ length: 120 }, (_, index) =>
    Promise.resolve(authenticator.authenticate('ada', `guess${index}`)),
  );
  let isGuessed = false;
  const settled = Promise.allSettled(guesses).then((all) => {
    isGuessed = true;
    return all;
  });
  t.equal((await authenticator.authenticate('ada', 'right'))?.userName, 'ada', 'although nothing is cached any more');
  t.notOk(isGuessed, 'without a turn');
  t.equal(
    (await settled).filter(({ status }) => status === 'rejected').length,
    12,
    'eight were checked at once and a hundred waited',
  );
  t.same([...new Set(refused)], ['authentication/checks-of-account']);
  await put('ada', 'other');
  authenticator.forget(2, 'ada');
  t.equal(await authenticator.authenticate('ada', 'right'), undefined, 'another password since');
  t.equal((await authenticator.authenticate('ada', 'other'))?.userName, 'ada');
  await put('ada', 'other', { enabled: false });
  authenticator.forget(2, 'ada');
  t.equal(await authenticator.authenticate('ada', 'other'), undefined, 'what is right opens nothing by itself');
});

t.test('passwords that were right are remembered up to a bound', async (t) => {
  const proven = new ProvenPasswords();
  for (let index = 0; index < 20_000; index += 1) proven.set(String(index), { userName: 'u', hash: 'h' });
  t.ok(proven.get('0'), 'asked for last');
  proven.set('one more', { userName: 'u', hash: 'h' });
  t.equal(proven.size, 20_000);
  t.same([proven.get('0'), proven.get('1')], [{ userName: 'u', hash: 'h' }, undefined]);
  proven.delete('0');
  t.equal(proven.get('0'), undefined);
});
