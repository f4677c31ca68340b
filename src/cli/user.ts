/** `millrace user list | create | password | delete`: the users of a tenant. */
import type { Setting, SettingValues } from '../config/settings.ts';
import { CommandError, EXIT_OK } from '../operate/exit-codes.ts';
import { read } from './command.ts';
import type { CommandEntry } from './command.ts';
import { RemoteApi, askLocal, generatePassword, usesControl } from './remote/client.ts';
import { printList, printRecord, say } from './remote/output.ts';
import { NEW_PASSWORD, REMOTE_SETTINGS, textFlag } from './remote/settings.ts';
import type { RemoteOptions } from './remote/settings.ts';

const CREATE_SETTINGS = [
  ...REMOTE_SETTINGS,
  NEW_PASSWORD,
  textFlag('email', 'E-mail address of the user.'),
  textFlag('groups', 'Names of groups that the user joins, comma separated: admins, business, … .'),
] as const satisfies readonly Setting[];
const PASSWORD_SETTINGS = [...REMOTE_SETTINGS, NEW_PASSWORD] as const satisfies readonly Setting[];
const NAME = [['name', 'the name of the user']] as const;

interface User {
  readonly userName: string;
  readonly email?: string;
  readonly enabled?: boolean;
  readonly groups?: { readonly references: readonly { readonly group: { readonly name: string } }[] };
}

const usersPath = ({ tenant }: RemoteOptions, name?: string): string =>
  `/user/${encodeURIComponent(tenant)}/users${name === undefined ? '' : `/${encodeURIComponent(name)}`}`;

async function list(options: RemoteOptions): Promise<number> {
  const api = await RemoteApi.connect(options);
  const users: User[] = [];
  for await (const user of api.list(usersPath(options), 'users')) users.push(user as User);
  printList(
    users,
    [
      ['USER', ({ userName }) => userName],
      ['EMAIL', ({ email }) => email],
      ['ENABLED', ({ enabled }) => enabled ?? true],
      ['GROUPS', ({ groups }) => groups?.references.map(({ group }) => group.name).join(',') || undefined],
    ],
    options.json,
  );
  return EXIT_OK;
}

async function create(options: SettingValues<typeof CREATE_SETTINGS>, userName: string): Promise<number> {
  const api = await RemoteApi.connect(options);
  const password = options.newPassword ?? generatePassword();
  const names = (options.groups ?? '').split(',').filter((name) => name !== '');
  const groupsPath = `/user/${encodeURIComponent(options.tenant)}`;
  // Looked up before anything is made.
  const ids: string[] = [];
  for (const name of names)
    ids.push(String((await api.request('GET', `${groupsPath}/groupByName/${encodeURIComponent(name)}`)).id));
  const { email } = options;
  const user = await api.request('POST', usersPath(options), {
    userName,
    password,
    ...(email === undefined ? {} : { email }),
  });
  // Before the groups: one that is refused does not take the password along.
  printRecord({ user: userName, ...(options.newPassword === undefined ? { password } : {}) }, options.json);
  for (const [index, id] of ids.entries())
    await api
      .request('POST', `${groupsPath}/groups/${id}/users`, { user: { self: user.self } })
      .catch((error: Error) => {
        throw new CommandError(`the user ${userName} is made and does not join ${names[index]}: ${error.message}`);
      });
  if (names.length === 0) say(`${userName} has no rights yet; --groups admins, or a group of your own, gives some`);
  return EXIT_OK;
}

async function setPassword(options: SettingValues<typeof PASSWORD_SETTINGS>, userName: string): Promise<number> {
  const password = options.newPassword ?? generatePassword();
  if (await usesControl(options))
    await askLocal(options, { command: 'password', tenant: options.tenant, user: userName, password });
  else {
    const api = await RemoteApi.connect(options);
    const isOwn = userName === options.user;
    await api.request('PUT', usersPath(options, userName), {
      password,
      ...(isOwn ? { currentUserPassword: options.password } : {}),
    });
  }
  printRecord({ user: userName, ...(options.newPassword === undefined ? { password } : {}) }, options.json);
  say(`the password of ${options.tenant}/${userName} is changed, and its tokens have ended`);
  return EXIT_OK;
}

async function remove(options: RemoteOptions, userName: string): Promise<number> {
  const api = await RemoteApi.connect(options);
  await api.request('DELETE', usersPath(options, userName));
  say(`${options.tenant}/${userName} is deleted`);
  return EXIT_OK;
}

export const USER_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'user list',
    description: 'list the users of a tenant',
    settings: REMOTE_SETTINGS,
    run: (parsed) => list(read(REMOTE_SETTINGS, parsed)),
  },
  {
    name: 'user create',
    description: 'create a user',
    settings: CREATE_SETTINGS,
    words: NAME,
    run: (parsed) => create(read(CREATE_SETTINGS, parsed), parsed.words[0]),
  },
  {
    name: 'user password',
    description: 'set the password of a user, also of an administrator who forgot it',
    settings: PASSWORD_SETTINGS,
    words: NAME,
    run: (parsed) => setPassword(read(PASSWORD_SETTINGS, parsed), parsed.words[0]),
  },
  {
    name: 'user delete',
    description: 'delete a user',
    settings: REMOTE_SETTINGS,
    words: NAME,
    run: (parsed) => remove(read(REMOTE_SETTINGS, parsed), parsed.words[0]),
  },
];
