/** `millrace token create | revoke`: tokens for `Authorization: Bearer`. */
import type { Setting, SettingValues } from '../config/settings.ts';
import { EXIT_OK } from '../operate/exit-codes.ts';
import { read } from './command.ts';
import type { CommandEntry } from './command.ts';
import { RemoteApi, askLocal, usesControl } from './remote/client.ts';
import { printRecord, say } from './remote/output.ts';
import { REMOTE_SETTINGS, textFlag } from './remote/settings.ts';
import type { RemoteOptions } from './remote/settings.ts';

const CREATE_SETTINGS = [
  ...REMOTE_SETTINGS,
  textFlag('code', 'One-time code, of a user who logs in with codes.'),
] as const satisfies readonly Setting[];

async function create(options: SettingValues<typeof CREATE_SETTINGS>): Promise<number> {
  const { tenant, user, password, code } = options;
  const answer =
    password === undefined || (await usesControl(options))
      ? await askLocal(options, { command: 'access', tenant, user })
      : await (await RemoteApi.connect(options)).request(
          'POST',
          `/tenant/oauth/token?tenant_id=${encodeURIComponent(tenant)}`,
          new URLSearchParams({
            grant_type: 'PASSWORD',
            username: user,
            password,
            ...(code === undefined ? {} : { tfa_code: code }),
          }).toString(),
        );
  const token = String(answer['access_token'] ?? answer['token']);
  const { exp } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()) as { exp: number };
  const expires = new Date(exp * 1_000).toISOString();
  if (options.json) printRecord({ token, expires }, true);
  else process.stdout.write(`${token}\n`);
  say(`a token of ${tenant}/${user}, good until ${expires}; send it as Authorization: Bearer <token>`);
  return EXIT_OK;
}

async function revoke(options: RemoteOptions): Promise<number> {
  const api = await RemoteApi.connect(options);
  await api.request('POST', `/user/logout/${encodeURIComponent(options.tenant)}/allUsers`);
  say(`all tokens of the tenant ${options.tenant} have ended`);
  return EXIT_OK;
}

export const TOKEN_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'token create',
    description: 'log in: print a token for Authorization: Bearer',
    settings: CREATE_SETTINGS,
    run: (parsed) => create(read(CREATE_SETTINGS, parsed)),
  },
  {
    name: 'token revoke',
    description: 'end all tokens of a tenant',
    settings: REMOTE_SETTINGS,
    run: (parsed) => revoke(read(REMOTE_SETTINGS, parsed)),
  },
];
