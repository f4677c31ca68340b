/** Tokens, the guard against guessing, the signing key: with a clock of the test. */
import t from 'tap';
import { LoginGuard } from '../../src/accounts/login/guard.ts';
import { NO_ADDRESS } from '../../src/model/access/client-address.ts';
import { NotificationTokens } from '../../src/accounts/login/notification-tokens.ts';
import { SigningKey } from '../../src/accounts/login/signing-key.ts';
import { REVOCATIONS_OF_USER_MAX, Tokens } from '../../src/accounts/login/tokens.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Command } from '../../src/model/commands/command.ts';
import type { AuditEntry, RecordsChange } from '../../src/model/commands/records.ts';
import type { Collection } from '../../src/model/commands/collections.ts';
import { PlatformError } from '../../src/model/errors.ts';
import type { Log } from '../../src/ports/log.ts';
import { registerConsumerSockets } from '../../src/api/realtime/notification-consumers.ts';
import type { WebSocketHandlers } from '../../src/api/http/web-socket.ts';
import { passwordStrength, isAllowedPassword } from '../../src/model/access/password.ts';

const TENANT = { id: 't1', number: 2 };
const ADA = { tenant: 't1', tenantNumber: 2, userName: 'ada', tokenGeneration: 0 };

function world() {
  const stored = new Map<string, string>();
  const key = (collection: Collection, tenant: number, id: string): string => `${tenant} ${collection} ${id}`;
  const documents = {
    get: (collection: Collection, tenant: number, id: string) => stored.get(key(collection, tenant, id)),
    getMany: (collection: Collection, tenant: number, ids: readonly string[]) =>
      ids.map((id) => stored.get(key(collection, tenant, id))),
    list: (collection: Collection, tenant: number, prefix: string) => {
      const start = key(collection, tenant, '');
      return [...stored]
        .filter(([name]) => name.startsWith(start + prefix))
        .map(([name, value]) => ({ id: name.slice(start.length), value }));
    },
  };
  const commands = {
    request: async <Answer>(command: Command): Promise<Answer> => {
      if (command.kind === COMMAND.USER_PUT) {
        const user = JSON.parse(documents.get('user', command.tenant, 'ada') as string);
        stored.set(key('user', command.tenant, 'ada'), JSON.stringify({ ...user, tokenGeneration: 99 }));
        return undefined as Answer;
      }
      const { changes, audits: written = [] } = command.body as RecordsChange;
      for (const { collection, id, expected, value } of changes) {
        if (documents.get(collection, command.tenant, id) !== expected)
          throw new PlatformError('general/changed-meanwhile', { collection, id });
        if (value === undefined) stored.delete(key(collection, command.tenant, id));
        else stored.set(key(collection, command.tenant, id), value);
      }
      audits.push(...written);
      return undefined as Answer;
    },
  };
  const [counted, audits]: [string[], AuditEntry[]] = [[], []];
  const clock = { now: Date.UTC(2026, 0, 1) };
  const now = (): number => clock.now;
  const refusals = { count: (limit: string) => void counted.push(limit) };
  const tenants = {
    byId: (id: string) => (id === 't1' ? TENANT : undefined),
    byNumber: (number: number) => (number === TENANT.number ? TENANT : undefined),
  };
  const newTokens = (secretKey?: string): Tokens =>
    new Tokens({
      documents,
      commands,
      tenants,
      refusals,
      now,
      changed: { generation: 0 },
      key: new SigningKey({ documents, commands, now, secretKey }),
    });
  const newNotificationTokens = (byId: (id: string) => { readonly number: number } | undefined): NotificationTokens =>
    new NotificationTokens({
      documents,
      tenants: { byId: byId as never },
      key: new SigningKey({ documents, commands, now, secretKey: undefined }),
      now,
    });
  const put = (user: object): void =>
    void stored.set(
      key('user', 2, 'ada'),
      JSON.stringify({ userName: 'ada', password: 'x', roles: ['R'], enabled: true, doc: '{}', ...user }),
    );
  put({});
  return { stored, clock, counted, newTokens, newNotificationTokens, put, audits };
}

t.test('a token is good from its second to its last, and for its user only', async (t) => {
  const { clock, newTokens, put } = world();
  const tokens = newTokens();
  const issued = await tokens.issue(ADA, 300, 'example.com');
  t.ok(issued);
  const { token, xsrfToken, expiresAt } = issued!;
  t.equal(expiresAt, clock.now + 300_000);
  t.match(await tokens.authenticate(token), {
    tenant: 't1',
    tenantNumber: 2,
    userName: 'ada',
    session: { xsrfToken, expiresAt },
  });
  clock.now += 299_000;
  t.ok(await tokens.authenticate(token));
  clock.now += 1_000;
  t.equal(await tokens.authenticate(token), undefined, 'over');
  clock.now -= 301_000;
  t.ok(await tokens.authenticate(token), 'on a node whose clock is behind');
  clock.now -= 3_600_000;
  t.equal(await tokens.authenticate(token), undefined, 'not yet');
  clock.now += 3_600_000;
  t.equal(await tokens.issue({ ...ADA, userName: 'nobody' }, 300, ''), undefined);
  put({ tokenGeneration: 7 });
  t.equal(await tokens.issue(ADA, 300, ''), undefined, 'the password was changed since it was checked');
  t.ok(await tokens.issue({ ...ADA, tokenGeneration: 7 }, 300, ''));
  put({ enabled: false });
  t.equal(await tokens.issue(ADA, 300, ''), undefined);
});

t.test('nodes share the key that is stored, or that of the configuration', async (t) => {
  const { newTokens, stored } = world();
  const [one, other] = [newTokens(), newTokens()];
  const [first, second] = await Promise.all([one.issue(ADA, 300, ''), other.issue(ADA, 300, '')]);
  t.ok(await one.authenticate(second!.token));
  t.ok(await other.authenticate(first!.token));
  t.equal([...stored.keys()].filter((name) => name.includes('signingKey')).length, 1);
  const configured = newTokens('a configured secret of some length!');
  t.equal(await configured.authenticate(first!.token), undefined);
  const own = (await configured.issue(ADA, 300, ''))!.token;
  t.ok(await newTokens('a configured secret of some length!').authenticate(own));
});

t.test('logouts: one session, many, of all', async (t) => {
  const { newTokens, clock, counted, stored, audits } = world();
  const tokens = newTokens();
  let tokenGeneration = 0;
  const open = async (): Promise<string> => (await tokens.issue({ ...ADA, tokenGeneration }, 300, ''))!.token;
  const [one, other] = [await open(), await open()];
  await tokens.revoke((await tokens.authenticate(one))!);
  t.equal(await tokens.authenticate(one), undefined);
  t.ok(await tokens.authenticate(other));
  await Promise.all([
    tokens.revokeAll(2, { user: 'admin' }),
    tokens.revokeAll(2, { user: 'boss', application: 'app' }),
  ]);
  t.same(
    audits,
    [
      {
        type: 'User',
        activity: 'All users logged out',
        text: 'All users logged out: the tokens of all users of the tenant have ended',
        user: 'admin',
      },
    ],
    'one has done it for both',
  );
  t.equal(await tokens.authenticate(other), undefined);
  t.ok(await tokens.authenticate(await open()), 'a new login is good again');
  for (let count = 1; count < REVOCATIONS_OF_USER_MAX; count += 1)
    await tokens.revoke((await tokens.authenticate(await open()))!);
  const kept = await open();
  t.ok(await tokens.authenticate(kept));
  await tokens.revoke((await tokens.authenticate(await open()))!);
  t.equal(await tokens.authenticate(kept), undefined, 'above the bound all sessions of the user end');
  tokenGeneration = 99;
  t.same(counted, ['accounts/logouts-of-user']);
  clock.now += 4_000_000;
  await tokens.revoke((await tokens.authenticate(await open()))!);
  t.equal(
    [...stored.keys()].filter((name) => name.includes('tokenRevocation ada')).length,
    1,
    'those of tokens that are over are forgotten',
  );
  clock.now += 4_000_000;
  const sessions = [await open(), await open()];
  const principals = [await tokens.authenticate(sessions[0]), await tokens.authenticate(sessions[1])];
  await Promise.all(principals.map((principal) => tokens.revoke(principal!)));
  for (const session of sessions)
    t.equal(await tokens.authenticate(session), undefined, 'two sessions at once, which both forget the same logout');
});

t.test('the guard: so many failures in a time lock for a time; the table is bounded', async (t) => {
  let now = 0;
  const [warned, counted]: [object[], string[]] = [[], []];
  const log = { warn: (details: object) => void warned.push(details) } as unknown as Log;
  const newGuard = (failuresMax: number): LoginGuard =>
    new LoginGuard({
      failuresMax,
      addressFailuresMax: 0,
      windowMs: 1_000,
      lockMs: 500,
      log,
      refusals: { count: (limit) => void counted.push(limit) },
      now: () => now,
    });
  const guard = newGuard(3);
  const fail = (times: number, account = 'a'): void => {
    for (let index = 0; index < times; index += 1) guard.failed(account, NO_ADDRESS);
  };
  fail(2);
  t.doesNotThrow(() => guard.check('a', NO_ADDRESS));
  now += 1_000;
  fail(2);
  t.doesNotThrow(() => guard.check('a', NO_ADDRESS), 'the first two were too long ago');
  guard.succeeded('a', NO_ADDRESS);
  fail(2);
  t.doesNotThrow(() => guard.check('a', NO_ADDRESS), 'a success forgets');
  fail(1);
  t.throws(() => guard.check('a', NO_ADDRESS), { code: 'login/locked', status: 401, message: /locked for 1 s/ });
  t.doesNotThrow(() => guard.check('b', NO_ADDRESS));
  t.match(warned, [{ account: 'a', failures: 3, pauseMs: 500 }]);
  t.same(counted, ['accounts/login-failures']);
  now += 500;
  t.doesNotThrow(() => guard.check('a', NO_ADDRESS));
  for (let index = 0; index < 21_000; index += 1) guard.failed(`x${index}`, NO_ADDRESS);
  t.equal(guard.accountCount, 20_000);
  const off = newGuard(0);
  for (let index = 0; index < 100; index += 1) off.failed('a', NO_ADDRESS);
  t.doesNotThrow(() => off.check('a', NO_ADDRESS), '0 never locks');
  t.equal(off.accountCount, 0);
});

t.test('passwords: what is allowed, and how strong it is', async (t) => {
  for (const [password, allowed, strength] of [
    ['12345', false, 'RED'],
    ['123456', true, 'RED'],
    ['x'.repeat(32), true, 'RED'],
    ['x'.repeat(33), false, 'RED'],
    ['Grüße-1äö', true, 'GREEN'],
    ['пароль-1', false, 'YELLOW'],
    ['a\nbcdef', false, 'RED'],
    ['abcdefgh', true, 'RED'],
    ['Abcdefgh', true, 'RED'],
    ['Abcdefg1', true, 'YELLOW'],
    ['Abcdef1-', true, 'GREEN'],
    ['Abc1-', false, 'RED'],
    ['Abcde1-', true, 'RED'],
  ] as const) {
    t.equal(isAllowedPassword(password), allowed, password);
    t.equal(passwordStrength(password), strength, password);
  }
  t.equal(passwordStrength('Abcdef1-', 12), 'RED');
});

t.test(
  'a logout counts on a node whose clock is behind, after a node ahead has removed those of tokens that ended',
  async (t) => {
    const { clock, newTokens } = world();
    const tokens = newTokens();
    const [first, second] = [await tokens.issue(ADA, 300, ''), await tokens.issue(ADA, 1_200, '')];
    const [principal, other] = [await tokens.authenticate(first!.token), await tokens.authenticate(second!.token)];
    await tokens.revoke(principal!);
    clock.now += 600_000;
    await tokens.revoke(other!);
    clock.now -= 599_000;
    t.equal(await tokens.authenticate(first!.token), undefined);
  },
);

t.test('tokens of notifications end with their tenant, and with a logout of its users', async (t) => {
  const { stored, newNotificationTokens } = world();
  let tenant: { readonly number: number } | undefined = TENANT;
  const tokens = newNotificationTokens(() => tenant);
  const token = await tokens.issue(
    { tenant: 't1', tenantNumber: 2, subscription: 'a', subscriber: 'b', isShared: false, isVolatile: false },
    60,
  );
  t.match(token, /^[\w-]+\.[A-Za-z0-9]+\.[\w-]+$/, 'a payload that any Base64 decodes');
  t.equal(token.split('.')[1].length % 4, 0);
  t.match(await tokens.verify(token), { tenantNumber: 2, subscriber: 'b' });
  tenant = { number: 3 };
  t.equal(await tokens.verify(token), undefined, 'another tenant has got the id');
  tenant = undefined;
  t.equal(await tokens.verify(token), undefined);
  tenant = TENANT;
  stored.set('2 tokenRevocation *', JSON.stringify({ generation: 1 }));
  t.equal(await tokens.verify(token), undefined, 'all users were logged out');
});

t.test('a token of notifications that expires lets no client in, and ends no connection', async (t) => {
  const { clock, newNotificationTokens } = world();
  const tokens = newNotificationTokens(() => TENANT);
  const token = await tokens.issue(
    { tenant: 't1', tenantNumber: 2, subscription: 'a', subscriber: 'b', isShared: false, isVolatile: false },
    60,
  );
  const received: string[] = [];
  let endCount = 0;
  let handlers: WebSocketHandlers = {} as never;
  registerConsumerSockets(
    { upgrades: { called: () => ({ baseUrl: '', host: 'h' }) }, webSocket: (_path, given) => (handlers = given) },
    {
      consumers: {
        refusal: () => undefined,
        open: () => ({ message: (text) => received.push(text), drained: () => undefined, closed: () => undefined }),
      },
      tokens,
      tenants: { byNumber: () => TENANT, byId: () => undefined } as never,
      refusals: { count: () => undefined },
      log: { debug: () => undefined } as never,
    },
  );
  const client = {
    head: { path: '/notification2/consumer', queryText: `token=${token}` },
    isOpen: true,
    end: () => (endCount += 1),
  };
  const { admit, open, message } = handlers;
  t.equal(await admit?.(client as never), undefined);
  open?.(client as never);
  clock.now += 60_000;
  t.equal(await tokens.verify(token), undefined);
  t.match(await admit?.({ ...client, head: { ...client.head } } as never), { status: 401 });
  message?.(client as never, Buffer.from('AAAAAAAAAAAA'), false);
  t.same([received, endCount], [['AAAAAAAAAAAA'], 0]);
});
