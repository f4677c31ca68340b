/**
 * What a simulated agent does with each operation (docs/spec/operations.md#what-devices-do): a function for each row
 * on `s/ds`, and for the operations that have none. Nothing of it is carried out on this machine, but for tunnels to it.
 */
import type { ConnectOrder } from '../../../model/access/remote-access.ts';
import { encodeRow } from '../../../smartrest/rows/csv-encode.ts';
import type { AgentState, Firmware } from './state.ts';

/** Files of the platform, over HTTP. */
export interface AgentFiles {
  /** @returns the URL of the content of a new event of that type. */
  uploadEvent(serial: string, type: string, name: string, text: string): Promise<string>;
  /** Makes a configuration dump. */
  uploadDump(name: string, text: string): Promise<void>;
  /** @throws Error for what is not there, or not on this platform. */
  download(url: string): Promise<string>;
}

export interface AgentContext {
  readonly state: AgentState;
  readonly files: AgentFiles;
  /** Opens a tunnel of remote access. @throws Error with the reason when it does not open. */
  readonly openTunnel: (order: ConnectOrder) => Promise<unknown>;
  /** ms since 1970. */
  readonly now: () => number;
}

export interface Outcome {
  /** Rows on `s/us` before the one that ends the operation. */
  readonly rows?: readonly string[];
  /** A change of the managed object, as JSON. */
  readonly object?: object;
  /** What 503 has behind the fragment. */
  readonly result?: readonly string[];
  /** The agent connects anew before it ends the operation. */
  readonly restarts?: boolean;
}

/** A failure after some parts of the operation were done. */
export class PartlyDone extends Error {
  /** As those of an outcome: what has changed. */
  readonly rows: readonly string[];

  constructor(reason: string, rows: readonly string[]) {
    super(reason);
    this.rows = rows;
  }
}

export interface OperationWork {
  readonly fragment: string;
  /** @param values of the row behind the serial. @throws Error with the reason of a failure. */
  readonly work: (values: readonly string[], context: AgentContext) => Outcome | Promise<Outcome>;
}

/** Names of the values of a package in rows. */
const PACKAGES = {
  list: ['name', 'version', 'url'],
  actions: ['name', 'version', 'url', 'action'],
  kinds: ['name', 'version', 'softwareType', 'url', 'action'],
} as const;

const LOG_LINES_MAX = 1_000;
/** Minutes of a log that are looked through. */
const LOG_MINUTES_MAX = 100_000;

/** Commands that the simulated shell knows, with what they print. */
const COMMANDS: Readonly<Record<string, (words: readonly string[], context: AgentContext) => string>> = {
  echo: (words) => words.join(' '),
  hostname: (_words, { state }) => state.serial,
  uptime: (_words, { state, now }) => `up ${Math.floor((now() - state.startedAt) / 1000)} s`,
  version: (_words, { state }) => `${state.firmware.name} ${state.firmware.version}`,
};

function runCommand(text: string, context: AgentContext): string {
  const [name = '', ...words] = text.trim().split(/\s+/);
  if (!Object.hasOwn(COMMANDS, name))
    throw new Error(`${name}: command not found; known are ${Object.keys(COMMANDS).join(', ')}`);
  return COMMANDS[name](words, context);
}

async function installFirmware(
  [name = '', version = '', url = '']: readonly string[],
  context: AgentContext,
): Promise<Outcome> {
  context.state.firmware = await fetched({ name, version, url }, context);
  return { rows: [context.state.firmwareRow()] };
}

/** @throws Error for a firmware without a name or version, or whose file cannot be fetched. */
async function fetched(firmware: Firmware, { files }: AgentContext): Promise<Firmware> {
  if (!firmware.name || !firmware.version) throw new Error('the firmware has no name or no version');
  if (firmware.url.trim() !== '') await files.download(firmware.url);
  return firmware;
}

const softwareWork = (form: keyof typeof PACKAGES): OperationWork['work'] => {
  const members: readonly string[] = PACKAGES[form];
  return (values, { state }) => {
    if (form === 'list') state.setSoftware(values, members);
    else state.updateSoftware(values, members);
    return { rows: [state.softwareRow()] };
  };
};

async function downloadConfiguration([url = '', type]: readonly string[], context: AgentContext): Promise<Outcome> {
  const { state, files } = context;
  const text = await files.download(url);
  if (type === undefined) {
    state.configuration = text;
    return { rows: [encodeRow(['113', text])] };
  }
  state.files.set(type, text);
  return { rows: [encodeRow(['120', type, url])] };
}

async function uploadConfiguration([type]: readonly string[], { state, files }: AgentContext): Promise<Outcome> {
  if (type === undefined) {
    await files.uploadDump(`${state.serial} configuration`, state.configuration);
    return {};
  }
  const text = state.files.get(type);
  if (text === undefined) throw new Error(`the configuration ${type} is not known`);
  return { result: [await files.uploadEvent(state.serial, type, type, text)] };
}

/** Lines of a log, one a minute of the time that is asked for. */
async function uploadLog(values: readonly string[], { state, files }: AgentContext): Promise<Outcome> {
  const [name = '', dateFrom = '', dateTo = '', searchText = '', maximum = ''] = values;
  const [from, to] = [Date.parse(dateFrom), Date.parse(dateTo)];
  if (name !== 'sim') throw new Error(`the log ${name} is not known`);
  if (!(from <= to)) throw new Error(`the time from ${dateFrom} to ${dateTo} is not a range`);
  const linesMax = Math.min(LOG_LINES_MAX, Number(maximum) || LOG_LINES_MAX);
  const lines: string[] = [];
  const end = Math.min(to, from + LOG_MINUTES_MAX * 60_000);
  for (let at = from; at <= end && lines.length < linesMax; at += 60_000) {
    const line = `${new Date(at).toISOString()} ${state.serial} still here`;
    if (line.includes(searchText)) lines.push(line);
  }
  return { result: [await files.uploadEvent(state.serial, 'c8y_Logfile', `${name}.log`, `${lines.join('\n')}\n`)] };
}

const MARKERS = ['$FW', '$SW', '$CONF'];

/** @throws PartlyDone at the first part that fails. */
async function applyProfile(values: readonly string[], context: AgentContext): Promise<Outcome> {
  const rows: string[] = [];
  try {
    for await (const done of profileParts(values, context)) rows.push(...(done.rows ?? []));
  } catch (error) {
    throw new PartlyDone((error as Error).message, rows);
  }
  return { rows: [...rows, '121,true'] };
}

async function* profileParts(values: readonly string[], context: AgentContext): AsyncGenerator<Outcome> {
  const part = (marker: string): readonly string[] => {
    const start = values.indexOf(marker) + 1;
    if (start === 0) return [];
    const end = values.findIndex((value, index) => index >= start && MARKERS.includes(value));
    return values.slice(start, end < 0 ? values.length : end);
  };
  const firmware = part('$FW');
  if (firmware.length > 0) yield installFirmware(firmware, context);
  const software = part('$SW');
  if (software.length > 0) yield softwareWork('actions')(software, context);
  const configuration = part('$CONF');
  for (let index = 0; index < configuration.length; index += 2)
    yield downloadConfiguration(configuration.slice(index, index + 2), context);
}

const IPV4 = /^(\d{1,3}\.){3}\d{1,3}$/;

/** @throws Error for an address that no test of the connection would pass: the state stays as it is. */
function configureNetwork(network: unknown): Outcome {
  const { c8y_LAN: lan } = network as { c8y_LAN?: { ip?: unknown } };
  if (lan !== undefined && !IPV4.test(String(lan.ip)))
    throw new Error(`the connection test failed with the address ${String(lan.ip)}; the former state is back`);
  return { object: { c8y_Network: network } };
}

/** The machine itself: a simulation opens nothing of the network around it. */
const TUNNEL_HOSTS = ['localhost', '127.0.0.1', '::1'];

async function connectRemoteAccess(
  [hostname = '', port = '', connectionKey = '']: readonly string[],
  { openTunnel }: AgentContext,
): Promise<Outcome> {
  if (!TUNNEL_HOSTS.includes(hostname))
    throw new Error(`simulated agents open tunnels to ${TUNNEL_HOSTS.join(', ')} only, not to ${hostname}`);
  await openTunnel({ hostname, port: Number(port), connectionKey });
  return {};
}

/** By the id of the row. Empty values at the end of a row may be absent. */
export const ROW_OPERATIONS: Readonly<Record<string, OperationWork>> = {
  '510': {
    fragment: 'c8y_Restart',
    work: (_values, { state, now }) => {
      state.startedAt = now();
      return { restarts: true };
    },
  },
  '511': { fragment: 'c8y_Command', work: ([text = ''], context) => ({ result: [runCommand(text, context)] }) },
  '513': {
    fragment: 'c8y_Configuration',
    work: ([text = ''], { state }) => {
      state.configuration = text;
      return { rows: [encodeRow(['113', text])] };
    },
  },
  '515': { fragment: 'c8y_Firmware', work: installFirmware },
  '516': { fragment: 'c8y_SoftwareList', work: softwareWork('list') },
  '517': { fragment: 'c8y_MeasurementRequestOperation', work: () => ({ rows: ['211,21.5\n212,90'] }) },
  '518': { fragment: 'c8y_Relay', work: ([state = '']) => ({ result: [state] }) },
  '519': { fragment: 'c8y_RelayArray', work: (states) => ({ result: states }) },
  '520': { fragment: 'c8y_UploadConfigFile', work: (_values, context) => uploadConfiguration([], context) },
  '521': { fragment: 'c8y_DownloadConfigFile', work: ([url], context) => downloadConfiguration([url], context) },
  '522': { fragment: 'c8y_LogfileRequest', work: uploadLog },
  '523': { fragment: 'c8y_CommunicationMode', work: ([mode = '']) => ({ result: [mode] }) },
  '524': { fragment: 'c8y_DownloadConfigFile', work: downloadConfiguration },
  '525': { fragment: 'c8y_Firmware', work: installFirmware },
  '526': { fragment: 'c8y_UploadConfigFile', work: uploadConfiguration },
  '527': { fragment: 'c8y_DeviceProfile', work: applyProfile },
  '528': { fragment: 'c8y_SoftwareUpdate', work: softwareWork('actions') },
  '529': { fragment: 'c8y_SoftwareUpdate', work: softwareWork('kinds') },
  '530': { fragment: 'c8y_RemoteAccessConnect', work: connectRemoteAccess },
};

/** Operations without a row, which come as JSON only; by their fragment. */
export const JSON_OPERATIONS: Readonly<
  Record<string, (fragment: unknown, context: AgentContext) => Outcome | Promise<Outcome>>
> = {
  c8y_Network: configureNetwork,
  c8y_SendConfiguration: (_fragment, { state }) => ({ rows: [encodeRow(['113', state.configuration])] }),
};
