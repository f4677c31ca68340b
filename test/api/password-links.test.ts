/** Links to set a password: they tell nobody which addresses exist, work for each of many users of an address, and once. */
import t from 'tap';
import type { Test } from 'tap';
import { COMMAND } from '../../src/model/command.ts';
import type { Command } from '../../src/model/command.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { startApi } from './helpers/api.ts';
import type { Api, Reply } from './helpers/api.ts';

const EMAIL = 'ada@example.com';
const RESET = '/user/passwordReset';

interface Started extends Api {
  anonymous(method: string, path: string, body?: object): Promise<Reply>;
  addUser(userName: string): void;
  /** Called before each command. */
  before: (command: Command) => void;
}

async function start(t: Test): Promise<Started> {
  const started: Partial<Started> = { before: () => undefined };
  const commands = { request: async <Answer>(command: Command): Promise<Answer> => {
    started.before?.(command);
    return api.fake.platform().commands.request<Answer>(command);
  } };
  const api = await startApi(t, { platform: { commands } });
  return Object.assign(started, api, {
    anonymous: (method: string, path: string, body?: object) => api.call(method, path, { ...(body ? { body } : {}), headers: { authorization: undefined } }),
    addUser: (userName: string) => {
      api.fake.put('user', userName, JSON.stringify({ userName, password: 'x', roles: [], enabled: true, doc: JSON.stringify({ email: EMAIL }) }));
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
  api.before = () => { throw new PlatformError('general/busy'); };
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
  const validate = async (): Promise<number> => (await api.anonymous('GET', `${RESET}/validate?${new URLSearchParams({ token, email: EMAIL })}`)).status;
  t.equal(await validate(), 200);
  const reset = async (): Promise<number> => (await api.anonymous('PUT', RESET, { token, email: EMAIL, newPassword: 'Analytical-1' })).status;
  const before = JSON.parse(api.fake.get('user', last) ?? '{}').password;
  const commands = api.fake.sent.length;
  t.same((await Promise.all([reset(), reset()])).sort(), [200, 422]);
  t.equal(api.fake.get('passwordToken', `${last}\n`), undefined);
  t.not(JSON.parse(api.fake.get('user', last) ?? '{}').password, before);
  t.same(new Set(api.fake.sent.slice(commands).map(({ kind }) => kind)), new Set([COMMAND.USER_PUT]), 'password and link in one command');
  t.equal(await validate(), 422);
});
