/** `millrace tenant list | create`: the tenants below the tenant "management", or below another one. */
import type { Setting, SettingValues } from '../config/settings.ts';
import { EXIT_OK } from '../operate/exit-codes.ts';
import { read } from './command.ts';
import type { CommandEntry } from './command.ts';
import { RemoteApi, generatePassword } from './remote/client.ts';
import { printList, printRecord } from './remote/output.ts';
import { MANAGEMENT_PASSWORD_VARIABLE, NEW_PASSWORD, REMOTE_SETTINGS, textFlag } from './remote/settings.ts';

/** Who manages tenants logs in to another tenant than others do. */
const TENANT_SETTINGS = REMOTE_SETTINGS.map((setting) => {
  if (setting.name === 'tenant') return { ...setting, default: 'management', environment: null };
  if (setting.name === 'user') return { ...setting, environment: 'MILLRACE_MANAGEMENT_USER' };
  return setting.name === 'password' ? { ...setting, environment: MANAGEMENT_PASSWORD_VARIABLE } : setting;
}) as unknown as typeof REMOTE_SETTINGS;
const CREATE_SETTINGS = [
  ...TENANT_SETTINGS,
  NEW_PASSWORD,
  textFlag('domain', 'Domain of the tenant; its id when none is given.'),
  textFlag('company', 'Name of the company; the id when none is given.'),
  textFlag('admin-name', 'Name of the administrator of the tenant; admin when none is given.'),
  { ...textFlag('email', 'E-mail address of the administrator.'), required: true },
] as const satisfies readonly Setting[];

async function list(options: SettingValues<typeof TENANT_SETTINGS>): Promise<number> {
  const api = await RemoteApi.connect(options);
  const tenants: Record<string, unknown>[] = [];
  for await (const tenant of api.list('/tenant/tenants?withApps=false', 'tenants'))
    tenants.push(tenant as Record<string, unknown>);
  printList(
    tenants,
    [
      ['TENANT', ({ id }) => id],
      ['DOMAIN', ({ domain }) => domain],
      ['COMPANY', ({ company }) => company],
      ['STATUS', ({ status }) => status],
      ['PARENT', ({ parent }) => parent],
    ],
    options.json,
  );
  return EXIT_OK;
}

async function create(options: SettingValues<typeof CREATE_SETTINGS>, id: string): Promise<number> {
  const api = await RemoteApi.connect(options);
  const password = options.newPassword ?? generatePassword();
  const { email, adminName = 'admin', domain = id, company = id } = options;
  const made = await api.request('POST', '/tenant/tenants', {
    id,
    domain,
    company,
    adminName,
    adminPass: password,
    adminEmail: email,
  });
  printRecord(
    { tenant: made.id, administrator: adminName, ...(options.newPassword === undefined ? { password } : {}) },
    options.json,
  );
  return EXIT_OK;
}

export const TENANT_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'tenant list',
    description: 'list the tenants',
    settings: TENANT_SETTINGS,
    run: (parsed) => list(read(TENANT_SETTINGS, parsed)),
  },
  {
    name: 'tenant create',
    description: 'create a tenant with its administrator',
    settings: CREATE_SETTINGS,
    words: [['id', 'the id of the tenant']],
    run: (parsed) => create(read(CREATE_SETTINGS, parsed), parsed.words[0]),
  },
];
