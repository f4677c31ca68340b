/**
 * Checks of passwords under attack: who waits for whom, what a lock refuses, what the time tells, and which hash stays
 * stored.
 */
import t from 'tap';
import type { Test } from 'tap';
import { CachingAuthenticator } from '../../src/accounts/login/authenticator.ts';
import type { HashRenewal } from '../../src/accounts/login/authenticator.ts';
import { LoginGuard } from '../../src/accounts/login/guard.ts';
import { HeaderAuthentication } from '../../src/api/request/authentication.ts';
import { Tenants } from '../../src/accounts/tenants/tenants.ts';
import { NO_ADDRESS, addressText, clientAddress } from '../../src/model/access/client-address.ts';
import type { ClientAddress } from '../../src/model/access/client-address.ts';
import type { Log } from '../../src/ports/log.ts';
import { hashGenerated, matchesGenerated, parseScrypt } from '../../src/model/access/password-hash.ts';
import type { ScryptHash } from '../../src/model/access/password-hash.ts';
import type { LoginCaller, Principal } from '../../src/model/access/principal.ts';
import { LmdbDocuments } from '../../src/store/lmdb/documents.ts';
import { openEnvironment } from '../actors/platform.ts';
import { QuickKeys, quickHashes } from '../helpers/quick-hashes.ts';

const HOME = clientAddress('198.51.100.7');
const ELSEWHERE = clientAddress('203.0.113.9');

class Client implements LoginCaller {
  leave: () => void = () => undefined;
  readonly address: ClientAddress;
  constructor(address: ClientAddress = NO_ADDRESS) {
    this.address = address;
  }
  onLeft(callback: () => void): void {
    this.leave = callback;
  }
}

async function open(t: Test, options: { failuresMax?: number; addressFailuresMax?: number; cost?: number } = {}) {
  const documents = new LmdbDocuments(openEnvironment(t));
  const tenants = new Tenants('t1');
  await tenants.open(documents);
  const clock = { now: 1_000_000 };
  const counted: string[] = [];
  const warned: object[] = [];
  const refusals = { count: (limit: string) => void counted.push(limit) };
  const log = { warn: (details: object) => void warned.push(details) } as unknown as Log;
  const keys = new QuickKeys();
  const hashes = quickHashes({ keys, refusals, ...options });
  const { failuresMax = 0, addressFailuresMax = 0 } = options;
  const guard = new LoginGuard({
    failuresMax,
    addressFailuresMax,
    windowMs: 300_000,
    lockMs: 60_000,
    log,
    refusals,
    now: () => clock.now,
  });
  const renewed: HashRenewal[] = [];
  const authenticator = new CachingAuthenticator({
    documents,
    tenants,
    refusals,
    now: () => clock.now,
    hashes,
    guard,
    log,
    renewHash: (_tenant, renewal) => {
      renewed.push(renewal);
      return Promise.resolve(true);
    },
  });
  const put = async (userName: string, password: string, extra: object = {}): Promise<void> => {
    const user = { userName, password, roles: ['R'], enabled: true, doc: '{}', ...extra };
    await documents.commit(
      [{ collection: 'user', tenant: tenants.default.number, id: userName, value: JSON.stringify(user) }],
      undefined,
    );
    authenticator.forget(tenants.default.number, userName);
  };
  const hash = (password: string, kind: 'chosen' | 'device' = 'chosen'): Promise<string> =>
    hashes.hash(password, kind, { tenant: 0, account: '' });
  const login = async (userName: string, password: string, address = NO_ADDRESS): Promise<string> => {
    try {
      return (
        (await authenticator.authenticate(userName, password, { caller: new Client(address) }))?.userName ?? 'wrong'
      );
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  await put('ada', await hash('right'));
  await put('bob', await hash('right'));
  keys.costs.length = 0;
  keys.passwords.length = 0;
  return { authenticator, documents, tenants, keys, hashes, put, hash, login, clock, counted, warned, renewed };
}

/** @returns what lets held keys go, one after the other. */
function hold(keys: QuickKeys): () => Promise<void> {
  const waiting: (() => void)[] = [];
  keys.hold = () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
  return async () => {
    waiting.shift()?.();
    await settled();
  };
}

const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, 1);
  });

t.test('a lock that begins while guesses wait refuses them, also the right one', async (t) => {
  const { keys, login, counted } = await open(t, { failuresMax: 3 });
  const guesses = [...Array.from({ length: 20 }, (_, index) => `guess${index}`), 'right'];
  const answers = await Promise.all(guesses.map((guess) => login('ada', guess)));
  t.same(answers, ['wrong', 'wrong', 'wrong', ...Array.from({ length: 18 }, () => 'login/locked')]);
  t.same(keys.passwords, ['guess0', 'guess1', 'guess2'], 'no other one was hashed');
  t.equal(await login('ada', 'right'), 'login/locked');
  t.equal(await login('bob', 'right'), 'bob', 'another account');
  t.same([...new Set(counted)], ['accounts/login-failures']);
});

t.test('pauses double up to an hour, and begin anew after a day', async (t) => {
  const { login, clock } = await open(t, { failuresMax: 1 });
  const pauses: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    t.equal(await login('ada', `guess${round}`), 'wrong');
    let minutes = 0;
    for (; (await login('ada', `next${round}`)) === 'login/locked'; minutes += 1) clock.now += 60_000;
    pauses.push(minutes);
    clock.now += 4 * 60_000;
    // The guess that ended the loop began a pause as well: its end is waited for.
    clock.now += 3_600_000;
  }
  t.same(pauses.slice(0, 3), [1, 4, 16]);
  t.equal(Math.max(...pauses), 60);
  clock.now += 25 * 3_600_000;
  t.equal(await login('ada', 'guess'), 'wrong');
  clock.now += 60_000;
  t.equal(await login('ada', 'right'), 'ada');
});

t.test('an address that guesses for many accounts is locked, not those who guess elsewhere', async (t) => {
  const { login, warned } = await open(t, { failuresMax: 5, addressFailuresMax: 4 });
  for (const name of ['ada', 'bob', 'eve', 'cyd']) t.equal(await login(name, 'guess', ELSEWHERE), 'wrong');
  t.equal(await login('bob', 'right', ELSEWHERE), 'login/address-locked');
  t.match(warned, [
    { address: '203.0.113.9', failures: 4, pauseMs: 60_000, limit: 'accounts/login-failures-of-address' },
  ]);
  t.equal(await login('bob', 'right', HOME), 'bob');
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
    t.equal(await login(name, 'guess', clientAddress('192.168.1.1')), 'wrong', 'a proxy may have it');
});

t.test(
  'a lock keeps no user out who was in before from the same address, and lets a stranger not try the password',
  async (t) => {
    const { login, put, keys } = await open(t, { failuresMax: 3 });
    t.equal(await login('ada', 'right', HOME), 'ada');
    for (const guess of ['a', 'b', 'c']) await login('ada', guess, ELSEWHERE);
    t.equal(await login('ada', 'right', ELSEWHERE), 'login/locked', 'though the password is remembered');
    t.equal(await login('ada', 'right', HOME), 'ada');
    for (const guess of ['d', 'e', 'f'])
      t.equal(await login('ada', guess, HOME), 'wrong', 'the lock is of the other address');
    t.equal(await login('ada', 'right', HOME), 'ada', 'a password that was right passes the lock of its own address');
    const hashed = keys.passwords.length;
    for (let index = 0; index < 101; index += 1) t.equal(await login('ada', `guess${index}`, HOME), 'login/locked');
    t.equal(await login('ada', 'right', HOME), 'login/locked', 'nobody guesses behind the address of a user');
    t.equal(keys.passwords.length, hashed);
    await put('device_x', hashGenerated('144 bits'));
    for (const guess of ['a', 'b', 'c']) await login('device_x', guess, ELSEWHERE);
    t.equal(await login('device_x', 'd', ELSEWHERE), 'login/locked');
    t.equal(
      await login('device_x', '144 bits', ELSEWHERE),
      'device_x',
      'a generated password is never locked: it cannot be guessed',
    );
  },
);

t.test('a client that repeats an old password locks nothing, and costs one hash', async (t) => {
  const { keys, login, clock, put, hash } = await open(t, { failuresMax: 3, addressFailuresMax: 5 });
  for (let poll = 0; poll < 40; poll += 1, clock.now += 10_000) t.equal(await login('ada', 'old', HOME), 'wrong');
  t.same(keys.passwords, ['old']);
  t.equal(await login('ada', 'right', HOME), 'ada', 'the new one from the same office');
  for (let index = 0; index < 2; index += 1) t.equal(await login('ada', `typo${index}`, HOME), 'wrong');
  t.equal(await login('ada', 'typo1', HOME), 'wrong', 'a repeated one counts once');
  t.equal(await login('ada', 'typo2', HOME), 'wrong');
  t.equal(await login('ada', 'unknown', HOME), 'login/locked', 'different ones count');
  for (let poll = 0; poll < 110; poll += 1) t.equal(await login('ada', 'old', HOME), 'login/locked');
  t.equal(await login('ada', 'right', HOME), 'ada', 'the polls do not make the address unfamiliar');
  await put('ada', await hash('old'));
  clock.now += 60_000;
  t.equal(await login('ada', 'old', HOME), 'ada', 'it is right again when it is set again');
});

t.test('a flood of checks of an account does not tell a stranger which password is right', async (t) => {
  const { keys, login, clock } = await open(t, { failuresMax: 3 });
  for (const password of ['right', 'right']) t.equal(await login('ada', password, HOME), 'ada');
  clock.now += 3_600_000;
  t.equal(await login('ada', 'right', HOME), 'ada');
  t.same(keys.passwords, ['right'], 'who was right before needs no hash');
  const next = hold(keys);
  const from = (index: number): ClientAddress => clientAddress(`192.0.2.${index}`);
  const answered: string[] = [];
  const guess = (password: string, address: ClientAddress): void =>
    void login('ada', password, address).then((answer) => answered.push(`${password}: ${answer}`));
  // Two of one hash: a thread is busy, one guess waits. The address of the right one is new in the same read as a wrong
  // one.
  for (let index = 0; index < 2; index += 1) guess(`guess${index}`, from(index));
  guess('right', ELSEWHERE);
  await settled();
  t.same(answered, [], 'the right one waits for its turn as a wrong one does');
  t.equal(await login('ada', 'right', HOME), 'ada', 'a familiar address does not wait');
  for (let index = 0; index < 4; index += 1) await next();
  t.same(answered, ['guess0: wrong', 'guess1: wrong', 'right: ada']);
  t.same(keys.passwords, ['right', 'guess0', 'guess1'], 'it takes no hash');
  answered.length = 0;
  for (let index = 0; index < 120; index += 1) guess(`flood${index}`, from(index));
  guess('right', clientAddress('203.0.113.10'));
  await settled();
  t.equal(answered.length, 20);
  t.ok(answered.includes('right: general/busy'), 'refused as the wrong ones beside it');
  keys.hold = () => Promise.resolve();
  await next();
  await settled();
  clock.now += 600_000;
  t.equal(await login('ada', 'right', clientAddress('203.0.113.10')), 'ada', 'it did not count as wrong');
});

t.test('guesses of one address lock the account nowhere else, also right after a restart', async (t) => {
  const { login, warned, counted } = await open(t, { failuresMax: 3 });
  for (let index = 0; index < 20; index += 1) await login('ada', `guess${index}`, ELSEWHERE);
  t.equal(await login('ada', 'right', ELSEWHERE), 'login/locked');
  for (let device = 1; device < 50; device += 1)
    t.equal(await login('ada', 'right', clientAddress(`198.51.100.${device}`)), 'ada');
  t.match(warned, [{ account: 't1/ada', address: '203.0.113.9', failures: 3, limit: 'accounts/login-failures' }]);
  const network = (host: number): ClientAddress => clientAddress(`2001:db8:1:2::${host}`);
  for (let host = 1; host <= 3; host += 1) t.equal(await login('bob', `guess${host}`, network(host)), 'wrong');
  t.equal(await login('bob', 'right', network(9)), 'login/locked', 'a network of IPv6 is one address');
  t.same([...new Set(counted)], ['accounts/login-failures']);
});

t.test('guesses from many addresses lock an account at ten times the number, not for familiar addresses', async (t) => {
  const { login, clock, warned } = await open(t, { failuresMax: 3 });
  const guessFrom = (index: number): Promise<string> =>
    login('ada', `guess${index}`, clientAddress(`192.0.2.${index}`));
  t.equal(await login('ada', 'right', HOME), 'ada');
  for (let minute = 0; minute < 60; minute += 1, clock.now += 60_000)
    t.equal(await guessFrom(minute), 'wrong', 'one a minute');
  t.equal(await login('ada', 'right', clientAddress('198.51.100.8')), 'ada');
  clock.now += 300_000;
  for (let index = 100; index < 130; index += 1) t.equal(await guessFrom(index), 'wrong');
  t.equal(await guessFrom(130), 'login/locked');
  t.equal(await login('ada', 'right', clientAddress('198.51.100.9')), 'login/locked', 'a new address');
  t.equal(await login('ada', 'right', HOME), 'ada');
  t.match(warned, [{ account: 't1/ada', failures: 30, limit: 'accounts/login-failures-everywhere' }]);
  for (let index = 0; index < 3; index += 1) t.equal(await login('ada', `home${index}`, HOME), 'wrong');
  t.equal(await login('ada', 'home3', HOME), 'login/locked', 'a familiar address gets no more tries than others');
});

t.test('guesses lock the account with which all new devices register nowhere else', async (t) => {
  const { login, hash, documents, keys } = await open(t, { failuresMax: 3, addressFailuresMax: 5 });
  const user = {
    userName: 'devicebootstrap',
    password: await hash('public', 'device'),
    roles: ['ROLE_DEVICE_BOOTSTRAP'],
    enabled: true,
    doc: '{}',
  };
  await documents.commit(
    [{ collection: 'user', tenant: 1, id: 'devicebootstrap', value: JSON.stringify(user) }],
    undefined,
  );
  const from = (network: string, index: number): ClientAddress => clientAddress(`${network}.${index}`);
  const register = (address: ClientAddress, password = 'public'): Promise<string> =>
    login('management/devicebootstrap', password, address);
  t.equal(await register(HOME), 'devicebootstrap');
  for (let index = 0; index < 40; index += 1) t.equal(await register(from('192.0.2', index), `guess${index}`), 'wrong');
  for (let index = 0; index < 40; index += 1) t.equal(await register(from('198.51.100', index)), 'devicebootstrap');
  for (const guess of ['a', 'b', 'c']) t.equal(await register(ELSEWHERE, guess), 'wrong');
  t.equal(await register(ELSEWHERE, 'c'), 'login/locked', 'the address of the guesses is locked');
  t.equal(await register(ELSEWHERE), 'login/locked');
  const hashed = keys.passwords.length;
  const next = hold(keys);
  const guesses = Array.from({ length: 110 }, (_, index) => register(from('192.0.2', index + 100), `more${index}`));
  await settled();
  t.equal(await register(from('198.51.100', 99)), 'devicebootstrap', 'nor do they keep devices waiting');
  t.equal(keys.passwords.length, hashed + 1);
  keys.hold = () => Promise.resolve();
  await next();
  t.same(new Set(await Promise.all(guesses)), new Set(['wrong', 'general/busy']));
});

t.test('an answer that is remembered by the header tells a stranger nothing either', async (t) => {
  const { authenticator, tenants, keys, login, clock } = await open(t);
  const http = new HeaderAuthentication({ authenticator, tenants, tokens: undefined as never, now: () => clock.now });
  const ask = (address: ClientAddress): ReturnType<typeof http.authenticate> =>
    http.authenticate(
      `Basic ${Buffer.from('t1/ada:right').toString('base64')}`,
      () => '',
      () => ({ caller: new Client(address) }),
    );
  t.match(await ask(HOME), { userName: 'ada' });
  t.notOk(ask(ELSEWHERE) instanceof Promise, 'at once while nothing is checked');
  const next = hold(keys);
  const guess = login('bob', 'guess', ELSEWHERE);
  const [home, elsewhere] = [ask(HOME), ask(ELSEWHERE)];
  t.notOk(home instanceof Promise);
  t.ok(elsewhere instanceof Promise, 'in turn');
  await settled();
  await next();
  t.same([await guess, ((await elsewhere) as Principal).userName], ['wrong', 'ada']);
  t.same(keys.passwords, ['right', 'guess']);
});

t.test('a device password that an older server generated gets the fast hash at the login', async (t) => {
  const { login, put, renewed, hash } = await open(t);
  const stored = async (password: string): Promise<string> => {
    const { salt, key } = parseScrypt(await hash(password, 'device')) as ScryptHash;
    return `scrypt$${salt.toString('base64')}$${key.toString('base64')}`;
  };
  const generated = 'Zk3_vQ9-aB7cD1eF5gH2iJ4k';
  await put('device_old', await stored(generated));
  await put('device_chosen', await stored('Secret-1'));
  await put('device_weak', await stored('aaaaaaaaaaaaaaaaaaaaaaaa'));
  await put('device_file', await hash(generated, 'device'));
  await put('service_x', await stored(generated), { service: { application: '1', owner: 1 } });
  for (const [name, password] of [
    ['device_old', generated],
    ['device_chosen', 'Secret-1'],
    ['device_weak', 'aaaaaaaaaaaaaaaaaaaaaaaa'],
    ['device_file', generated],
    ['service_x', generated],
  ])
    t.equal(await login(name, password), name);
  await settled();
  t.equal(renewed.length, 1);
  t.match(renewed, [{ userName: 'device_old' }]);
  t.ok(matchesGenerated(generated, renewed[0]?.to ?? ''));
});

t.test('the first login of a user waits for no invented names', async (t) => {
  const { keys, login, counted } = await open(t);
  const next = hold(keys);
  const strangers = Array.from({ length: 1_500 }, (_, index) => login(`invented${index}`, `guess${index}`));
  await settled();
  const real = login('ada', 'right');
  await settled();
  for (let turn = 0; turn < 3; turn += 1) await next();
  t.equal(await real, 'ada');
  t.ok(keys.passwords.indexOf('right') <= 2, 'at most one of them is hashed between');
  t.equal(
    counted.filter((limit) => limit === 'authentication/checks-of-account').length,
    1_399,
    'of one address a hundred wait',
  );
  keys.hold = () => Promise.resolve();
  await next();
  const answers = await Promise.all(strangers);
  t.same(new Set(answers), new Set(['wrong', 'general/busy']));
});

t.test('a wrong password of a user who has overtaken invented names waits with them', async (t) => {
  const { keys, login } = await open(t);
  const next = hold(keys);
  const answered: string[] = [];
  const ask = (name: string): void => void login(name, `guess-${name}`).then(() => answered.push(name));
  for (const name of ['v', 'w', 'x', 'y', 'z']) ask(name);
  await settled();
  ask('ada');
  for (let index = 0; index < 8; index += 1) await next();
  t.same(answered, ['v', 'w', 'x', 'y', 'z', 'ada']);
  t.equal(keys.passwords.filter((guess) => guess === 'guess-ada').length, 2);
});

t.test('clients that have left leave the queue', async (t) => {
  const { authenticator, keys, hashes, login } = await open(t);
  const next = hold(keys);
  const first = login('bob', 'guess');
  await settled();
  const clients = Array.from({ length: 50 }, () => new Client());
  const answers = clients.map((caller, index) =>
    Promise.resolve(authenticator.authenticate('ada', `guess${index}`, { caller })),
  );
  const [one, other] = [new Client(), new Client()];
  const shared = [one, other].map((caller) => Promise.resolve(authenticator.authenticate('ada', 'right', { caller })));
  await settled();
  t.equal(hashes.waitingCount, 51);
  for (const client of clients) client.leave();
  one.leave();
  t.equal(hashes.waitingCount, 1);
  for (let index = 0; index < 3; index += 1) await next();
  t.equal(((await shared[1]) as Principal).userName, 'ada', 'another one still waits for the same check');
  t.same(
    await Promise.all(answers),
    clients.map(() => undefined),
  );
  t.equal(await first, 'wrong');
  t.same(keys.passwords, ['guess', 'right']);
});

t.test('a current password that is shown again: repeated ones take one hash, different ones lock', async (t) => {
  const { authenticator, keys, hashes, login, clock, put, hash } = await open(t, { failuresMax: 3 });
  const principal = (await authenticator.authenticate('ada', 'right', { caller: new Client(HOME) })) as Principal;
  keys.passwords.length = 0;
  const confirm = (password: string, signal?: AbortSignal): Promise<unknown> =>
    authenticator
      .confirm(principal, password, { address: HOME, ...(signal === undefined ? {} : { signal }) })
      .catch(({ code, name }: { code?: unknown; name: string }) => (typeof code === 'string' ? code : name));
  t.same(new Set(await Promise.all(Array.from({ length: 50 }, () => confirm('old')))), new Set([false]), 'at once');
  for (let index = 0; index < 50; index += 1) t.equal(await confirm('old'), false);
  t.same(keys.passwords, ['old']);
  t.equal(await login('ada', 'old', HOME), 'wrong');
  t.same(keys.passwords, ['old'], 'logins know it too');
  t.equal(await confirm('right'), true);
  t.equal(await confirm('guess1'), false);
  t.equal(await confirm('guess2'), false);
  t.equal(await confirm('guess3'), 'login/locked');
  t.equal(await confirm('old'), 'login/locked', 'as for logins');
  t.equal(await confirm('right'), 'login/locked');
  clock.now += 60_000;
  await put('ada', await hash('old'));
  t.equal(await confirm('old'), true, 'it is right when it is set');

  const next = hold(keys);
  keys.passwords.length = 0;
  const first = confirm('first');
  await settled();
  const leaving = Array.from({ length: 20 }, () => new AbortController());
  const left = leaving.map(({ signal }, index) => confirm(`left${index}`, signal));
  const stays = confirm('old');
  await settled();
  t.equal(hashes.waitingCount, 21);
  for (const controller of leaving) controller.abort();
  t.equal(hashes.waitingCount, 1, 'clients that have left leave the queue');
  t.same(new Set(await Promise.all(left)), new Set(['AbortError']));
  for (let index = 0; index < 2; index += 1) await next();
  t.same([await first, await stays], [false, true]);
  t.same(keys.passwords, ['first', 'old']);
});

t.test('what is computed for a wrong password does not tell whether there is such a user', async (t) => {
  const { keys, login, put, hash } = await open(t);
  await put('new', '');
  await put('device_generated', hashGenerated('144 bits'));
  await put('device_chosen', await hash('chosen', 'device'));
  await put('device_invented-by-a-person', await hash('chosen'));
  const costsOf = async (name: string): Promise<number[]> => {
    keys.costs.length = 0;
    t.equal(await login(name, 'guess'), 'wrong', name);
    return [...keys.costs];
  };
  for (const name of ['ada', 'invented', 'new', 'service_x']) t.same(await costsOf(name), [17], name);
  for (const name of ['device_generated', 'device_chosen', 'device_invented'])
    t.same(await costsOf(name), [14, 17], name);
  t.same((await costsOf('device_invented-by-a-person')).sort(), [14, 17]);
  keys.costs.length = 0;
  t.same(
    [await login('device_chosen', 'chosen'), await login('device_generated', '144 bits')],
    ['device_chosen', 'device_generated'],
  );
  t.same(keys.costs, [14], 'right ones of devices take little or nothing');
});

t.test('a hash of other parameters is replaced at the login', async (t) => {
  const before = await open(t, { cost: 15 });
  const [old, ofDevice] = [await before.hash('right'), await before.hash('right', 'device')];
  const { login, put, renewed, keys, clock, hash: hashOfNow } = await open(t);
  await put('ada', old);
  await put('device_x', ofDevice);
  await put('device_person', await hashOfNow('right'));
  await put('service_x', old, { service: { application: '1', owner: 1 } });
  t.same(
    [
      await login('ada', 'guess'),
      await login('device_x', 'right'),
      await login('device_person', 'right'),
      await login('service_x', 'right'),
      await login('bob', 'right'),
    ],
    ['wrong', 'device_x', 'device_person', 'service_x', 'bob'],
  );
  t.same(renewed, [], 'a wrong password, the cost of devices, a hash that is stored twice, the cost of now');
  t.equal(await login('ada', 'right'), 'ada');
  await settled();
  t.match(renewed, [{ userName: 'ada', from: old, to: /^\$scrypt\$ln=17,r=8,p=1\$/ }]);
  await put('device_person', old);
  t.equal(await login('device_person', 'right'), 'device_person');
  await settled();
  t.match(renewed[1], { userName: 'device_person', to: /^\$scrypt\$ln=17,r=8,p=1\$/ }, 'it stays that of a person');
  await put('ada', renewed[0].to);
  clock.now += 3_600_000;
  keys.costs.length = 0;
  t.equal(await login('ada', 'right'), 'ada');
  t.same(keys.costs, [], 'it is known that the password matches the new one');
});

t.test('addresses: what stands for one client', async (t) => {
  const check = (
    socket: string,
    key: string,
    isOfClient: boolean,
    forwarded?: { xForwardedFor?: string; forwarded?: string },
  ): void => {
    const told = forwarded === undefined ? undefined : { xForwardedFor: '', forwarded: '', ...forwarded };
    t.same(clientAddress(socket, told), { key, isOfClient }, `${socket} ${JSON.stringify(forwarded)}`);
  };
  for (const [address, text] of [
    ['198.51.100.7', '198.51.100.7'],
    ['::ffff:198.51.100.7', '198.51.100.7'],
    ['::FFFF:c633:6407', '198.51.100.7'],
    ['0000:0000:0000:0000:0000:ffff:c633:6407', '198.51.100.7'],
    ['0:0:0:0:0:ffff:c633:6407', '198.51.100.7'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['unknown:1', 'unknown:1'],
    ['', ''],
  ])
    t.equal(addressText(address), text, address);
  check('198.51.100.7', '198.51.100.7', true);
  check('::ffff:198.51.100.7', '198.51.100.7', true);
  check('0000:0000:0000:0000:0000:ffff:c633:6407', '198.51.100.7', true);
  check('2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', true);
  check('2001:db8::1', '2001:db8:0:0::/64', true);
  for (const local of [
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.1',
    '192.168.1.1',
    '169.254.1.1',
    '100.64.0.1',
  ])
    check(local, local, false);
  for (const near of ['172.32.0.1', '100.128.0.1', '11.0.0.1', '192.169.1.1']) check(near, near, true);
  for (const [local, key] of [
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['fd00::1', 'fd00:0:0:0::/64'],
  ])
    check(local, key, false);
  check('127.0.0.1', '203.0.113.9', true, { xForwardedFor: '1.1.1.1, 203.0.113.9' });
  check('127.0.0.1', '10.0.0.5', true, { xForwardedFor: '10.0.0.5:4711' });
  check('127.0.0.1', '2001:db8:0:0::/64', true, { forwarded: 'for=1.1.1.1, for="[2001:db8::1]:80";proto=https' });
  check('127.0.0.1', '127.0.0.1', false, { xForwardedFor: '' });
  check('127.0.0.1', '', false, { xForwardedFor: 'unknown' });
  for (const none of [
    '',
    'x',
    '1.2.3',
    '1.2.3.256',
    '1.2.3.4.5',
    ':',
    '1:2',
    '1::2::3:4:5:6:7:8:9',
    'fffff::1',
    '::ffff:1.2.3',
  ])
    check(none, '', false);
});
