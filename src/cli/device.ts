/** `millrace device list | create | password | delete`: devices, each with credentials of its own. */
import type { Setting, SettingValues } from '../config/settings.ts';
import { CommandError, EXIT_OK } from '../operate/exit-codes.ts';
import { read } from './command.ts';
import type { CommandEntry } from './command.ts';
import { RemoteApi, generatePassword } from './remote/client.ts';
import { printList, printRecord, say } from './remote/output.ts';
import { NEW_PASSWORD, REMOTE_SETTINGS, textFlag } from './remote/settings.ts';
import type { RemoteOptions } from './remote/settings.ts';

const CREATE_SETTINGS = [
  ...REMOTE_SETTINGS,
  NEW_PASSWORD,
  { ...textFlag('type', 'Type of the device.'), default: 'c8y_MQTTDevice' },
  textFlag('name', 'Name of the device; its serial when none is given.'),
] as const satisfies readonly Setting[];
const PASSWORD_SETTINGS = [...REMOTE_SETTINGS, NEW_PASSWORD] as const satisfies readonly Setting[];
const SERIAL = [['serial', 'the serial number of the device, its client id of MQTT']] as const;

const userOf = (serial: string): string => `device_${serial}`;
const userPath = ({ tenant }: RemoteOptions, user: string): string =>
  `/user/${encodeURIComponent(tenant)}/users/${encodeURIComponent(user)}`;

async function list(options: RemoteOptions): Promise<number> {
  const api = await RemoteApi.connect(options);
  const connected = new Map<string, string>();
  for await (const { source, since } of api.list('/millrace/connections', 'connections'))
    if (source !== undefined) connected.set(source.id, since);
  const devices: Record<string, any>[] = [];
  for await (const device of api.list('/inventory/managedObjects?fragmentType=c8y_IsDevice', 'managedObjects'))
    devices.push(device as Record<string, unknown>);
  printList(
    devices,
    [
      ['ID', ({ id }) => id],
      ['NAME', ({ name }) => name],
      ['TYPE', ({ type }) => type],
      ['OWNER', ({ owner }) => owner],
      ['CONNECTED SINCE', ({ id }) => connected.get(id)],
      ['OPERATIONS', (device) => device['c8y_Connection']?.status],
      ['LAST MESSAGE', (device) => device['c8y_Availability']?.lastMessage],
    ],
    options.json,
  );
  return EXIT_OK;
}

/** Registers the device as a file of one line does. @throws CommandError where it has a user: its password would end. */
async function create(options: SettingValues<typeof CREATE_SETTINGS>, serial: string): Promise<number> {
  const api = await RemoteApi.connect(options);
  const userName = userOf(serial);
  if ((await api.find(userPath(options, userName))) !== undefined)
    throw new CommandError(
      `the device ${serial} has the user ${options.tenant}/${userName} already; millrace device password ${quoted(serial)} gives it a new password`,
    );
  const password = options.newPassword ?? generatePassword();
  const columns = {
    ID: serial,
    CREDENTIALS: password,
    AUTH_TYPE: 'BASIC',
    TYPE: options.type,
    NAME: options.name ?? serial,
    'com_cumulocity_model_Agent.active': 'true',
  };
  const quote = (value: string): string => `"${value.replaceAll('"', '""')}"`;
  const file = `${Object.keys(columns).join(',')}\n${Object.values(columns).map(quote).join(',')}\n`;
  const form = new FormData();
  form.append('file', new Blob([file], { type: 'text/csv' }), 'devices.csv');
  const made = await api.request('POST', '/devicecontrol/bulkNewDeviceRequests', form);
  const failure = made.failedCreationList?.[0]?.failureReason as string | undefined;
  if (failure !== undefined) throw new CommandError(`the device could not be registered: ${failure}`);
  const { managedObject } = await api.request('GET', externalIdPath(serial));
  const login = `${options.tenant}/${userName}`;
  const ports = (await api.find('/millrace/about'))?.ports ?? {};
  const { hostname } = new URL(api.url);
  printRecord(
    {
      id: managedObject.id,
      serial,
      user: login,
      ...(options.newPassword === undefined ? { password } : {}),
    },
    options.json,
  );
  // One that the person gave is in no output, and with --json these lines may go to a file.
  const shown = options.newPassword === undefined && !options.json ? quoted(password) : '<password>';
  const withTls = ports.mqttTls === undefined ? '<MQTT port>' : `${ports.mqttTls} --tls-use-os-certs`;
  say(`Send a measurement as this device:
  mosquitto_pub -h ${hostname} -p ${ports.mqtt ?? withTls} -i ${quoted(serial)} -u ${quoted(login)} -P ${shown} -t s/us -m '211,21.5' -q 1
or over HTTP:
  curl -u ${quoted(login)}:${shown} -H 'Content-Type: application/json' ${api.url}/measurement/measurements \\
    -d '{"source":{"id":"${managedObject.id}"},"type":"c8y_Temperature","time":"${new Date().toISOString()}","c8y_Temperature":{"T":{"value":21.5,"unit":"C"}}}'`);
  return EXIT_OK;
}

/** For a POSIX shell. */
const quoted = (text: string): string => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const externalIdPath = (serial: string): string => `/identity/externalIds/c8y_Serial/${encodeURIComponent(serial)}`;

async function setPassword(options: SettingValues<typeof PASSWORD_SETTINGS>, serial: string): Promise<number> {
  const api = await RemoteApi.connect(options);
  const password = options.newPassword ?? generatePassword();
  const user = userOf(serial);
  await api.request('PUT', userPath(options, user), { password });
  printRecord(
    { serial, user: `${options.tenant}/${user}`, ...(options.newPassword === undefined ? { password } : {}) },
    options.json,
  );
  say(`the password of ${options.tenant}/${user} is changed, and its tokens have ended`);
  return EXIT_OK;
}

async function remove(options: RemoteOptions, serial: string): Promise<number> {
  const api = await RemoteApi.connect(options);
  const { managedObject } = await api.request('GET', externalIdPath(serial));
  await api.request('DELETE', `/inventory/managedObjects/${managedObject.id}?withDeviceUser=true`);
  say(`the device ${serial} is deleted, with its user`);
  return EXIT_OK;
}

export const DEVICE_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'device list',
    description: 'list the devices of a tenant',
    settings: REMOTE_SETTINGS,
    run: (parsed) => list(read(REMOTE_SETTINGS, parsed)),
  },
  {
    name: 'device create',
    description: 'register a device with credentials of its own',
    settings: CREATE_SETTINGS,
    words: SERIAL,
    run: (parsed) => create(read(CREATE_SETTINGS, parsed), parsed.words[0]),
  },
  {
    name: 'device password',
    description: 'set the password of a device',
    settings: PASSWORD_SETTINGS,
    words: SERIAL,
    run: (parsed) => setPassword(read(PASSWORD_SETTINGS, parsed), parsed.words[0]),
  },
  {
    name: 'device delete',
    description: 'delete a device and its user',
    settings: REMOTE_SETTINGS,
    words: SERIAL,
    run: (parsed) => remove(read(REMOTE_SETTINGS, parsed), parsed.words[0]),
  },
];
