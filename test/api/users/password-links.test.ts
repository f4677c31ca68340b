/**
 * Links to set a password: they tell nobody which addresses exist, work for each of many users of an address, and once.
 */
import t from 'tap';
import type { Test } from 'tap';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import type { Platform } from '../../../src/api/request/platform.ts';
import type { Command } from '../../../src/model/commands/command.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import { startApi } from '../helpers/api.ts';
import type { Api, Reply } from '../helpers/api.ts';
import { NOW } from '../helpers/fake-platform.ts';
import { until } from '../../helpers/until.ts';

const EMAIL = 'ada@example.com';
const RESET = '/user/passwordReset';

interface Started extends Api {
  anonymous(method: string, path: string, body?: object): Promise<Reply>;
  addUser(userName: string): void;
  /** Called before each command. */
  before: (command: Command) => void;
}

async function start(t: Test, platform: Partial<Platform> = {}): Promise<Started> {
  const started: Partial<Started> = { before: () => undefined };
  const commands = {
    request: async <Answer>(command: Command): Promise<Answer> => {
      started.before?.(command);
      return api.fake.platform().commands.request<Answer>(command);
    },
  };
  const api = await startApi(t, { platform: { commands, ...platform } });
  return Object.assign(started, api, {
    anonymous: (method: string, path: string, body?: object) =>
      api.call(method, path, { ...(body ? { body } : {}), headers: { authorization: undefined } }),
    addUser: (userName: string) => {
      api.fake.put(
        'user',
        userName,
        JSON.stringify({ userName, password: 'x', roles: [], enabled: true, doc: JSON.stringify({ email: EMAIL }) }),
      );
    },
  }) as Started;
}

t.test('whoever asks at the same time gets the answer of an unknown address', async (t) => {
  const api = await start(t);
  api.addUser('ada');
  let isFirst = true;
  api.before = ({ body }) => {
    const id = 'ada\n';
    if (!isFirst || !JSON.stringify(body).includes('passwordToken')) return;
    isFirst = false;
    const now = api.fake.platform().now();
    api.fake.put('passwordToken', id, JSON.stringify({ hash: 'of another', createdAt: now, expiresAt: now + 1_000 }));
  };
  const ask = async (email: string): Promise<unknown[]> => {
    const { status, text } = await api.anonymous('POST', RESET, { email });
    return [status, text];
  };
  const unknown = await ask('nobody@example.com');
  t.same(await ask(EMAIL), unknown);
  t.same(unknown, [200, '']);
  t.equal(isFirst, false);
  t.same(api.fake.mails, [], 'the other one has sent it');
  t.ok(api.fake.counted.includes('users/password-mails'));
});

t.test('what keeps a mail back is not in the answer', async (t) => {
  const api = await start(t);
  api.addUser('ada');
  api.before = () => {
    throw new PlatformError('general/busy');
  };
  t.equal((await api.anonymous('POST', RESET, { email: EMAIL })).status, 200);
  t.ok(api.fake.counted.includes('users/password-links-unsent'));
});

t.test('a link of the eleventh user of an address works, once', async (t) => {
  const api = await start(t);
  const names = Array.from({ length: 300 }, (_, index) => `user${100 + index}`);
  for (const name of names) api.addUser(name);
  t.equal((await api.anonymous('POST', RESET, { email: EMAIL })).status, 200);
  t.equal(api.fake.mails.length, 10, 'who asks for mails himself');
  const last = 'user399';
  t.equal((await api.call('PUT', `/user/t1/users/${last}`, { body: { sendPasswordResetEmail: true } })).status, 200);
  const token = /[?&]token=([\w-]+)/.exec(api.fake.mails[10].text)?.[1] ?? '';
  const validate = async (): Promise<number> =>
    (await api.anonymous('GET', `${RESET}/validate?${new URLSearchParams({ token, email: EMAIL })}`)).status;
  t.equal(await validate(), 200);
  const reset = async (): Promise<number> =>
    (await api.anonymous('PUT', RESET, { token, email: EMAIL, newPassword: 'Analytical-1' })).status;
  const before = JSON.parse(api.fake.get('user', last) ?? '{}').password;
  const commands = api.fake.sent.length;
  t.same((await Promise.all([reset(), reset()])).sort(), [200, 422]);
  t.equal(api.fake.get('passwordToken', `${last}\n`), undefined);
  t.not(JSON.parse(api.fake.get('user', last) ?? '{}').password, before);
  t.same(
    new Set(api.fake.sent.slice(commands).map(({ kind }) => kind)),
    new Set([COMMAND.USER_PUT]),
    'password and link in one command',
  );
  t.equal(await validate(), 422);
});

t.test('a stranger who asks in a loop ends no link that was mailed, and mails nine in a day', async (t) => {
  const clock = { now: NOW };
  const api = await start(t, { now: () => clock.now });
  api.addUser('ada');
  const { mails } = api.fake;
  const tokenOf = (index: number): string => /[?&]token=([\w-]+)/.exec(mails[index].text)?.[1] ?? '';
  const isGood = async (token: string): Promise<boolean> =>
    (await api.anonymous('GET', `${RESET}/validate?${new URLSearchParams({ token, email: EMAIL })}`)).status === 200;
  for (const [index, minute] of [0, 5, 15, 35, 75, 155, 315, 635, 1275].entries()) {
    for (const [at, sent] of [
      [Math.max(0, minute - 1), Math.max(1, index)],
      [minute, index + 1],
    ]) {
      clock.now = NOW + at * 60_000;
      t.equal((await api.anonymous('POST', RESET, { email: EMAIL })).status, 200);
      t.equal(mails.length, sent, `minute ${at}`);
    }
  }
  for (let index = 0; index < mails.length; index += 1) t.equal(await isGood(tokenOf(index)), true, `link ${index}`);
  clock.now += 60_000;
  t.equal((await api.call('PUT', '/user/t1/users/ada', { body: { sendPasswordResetEmail: true } })).status, 200);
  t.equal(mails.length, 10, 'an administrator does not wait for what strangers did');
  clock.now = NOW + 24 * 3_600_000;
  t.equal(await isGood(tokenOf(0)), false, 'after a day');
  t.equal(
    (await api.anonymous('PUT', RESET, { token: tokenOf(1), email: EMAIL, newPassword: 'Analytical-1' })).status,
    200,
  );
  for (const index of [1, 2, 9]) t.equal(await isGood(tokenOf(index)), false, 'one that was used ends all');
});

t.test('clients of one address that ask in a loop delay each other, not those of other addresses', async (t) => {
  let open = (): void => undefined;
  let isHeld = true;
  const held = new Promise<void>((resolve) => {
    open = () => {
      isHeld = false;
      resolve();
    };
  });
  const api = await start(t);
  api.addUser('ada');
  const { documents, accounts } = api.platform;
  const { list } = documents;
  let searches = 0;
  Object.assign(documents, {
    list: async (...parameters: Parameters<typeof list>) => {
      searches += 1;
      if (isHeld) await held;
      return list(...parameters);
    },
  });
  const ask = (address: string, signal?: AbortSignal): Promise<number> =>
    fetch(`${api.url}${RESET}`, {
      method: 'POST',
      body: JSON.stringify({ email: 'x@example.com' }),
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      ...(signal === undefined ? {} : { signal }),
    }).then(({ status }) => status);
  const loop = Array.from({ length: 9 }, () => ask('203.0.113.9'));
  await until(
    'three are refused',
    () => api.fake.counted.filter((limit) => limit === 'users/password-resets-of-address').length === 3,
  );
  t.equal(searches, 1, 'one at a time');
  const user = ask('198.51.100.7');
  await until('another address has its turn', () => searches === 2);
  const leaving = new AbortController();
  const left = ask('192.0.2.1', leaving.signal);
  await until('it waits', () => accounts.passwordSearches.waitingCount === 6);
  leaving.abort();
  await t.rejects(left, { name: 'AbortError' });
  await until('it has left the queue', () => accounts.passwordSearches.waitingCount === 5);
  open();
  t.equal(await user, 200);
  t.same((await Promise.all(loop)).sort(), [200, 200, 200, 200, 200, 200, 503, 503, 503]);
  t.same(api.fake.failures, [], 'a client that left is no failure');
});
