/**
 * Settings: a small table describes each one, and from the table come flags, environment names, file keys, checking,
 * the help text, the masked print and the table of the documentation. src/config/config.ts holds the server's table;
 * commands with arguments of their own (simulate, backup, restore) have theirs beside them.
 */
import { isIP } from 'node:net';
import { withoutEnd } from '../model/documents/text-end.ts';

/** One row of a table. `default: null` means that the setting is absent unless given. */
export interface Setting {
  /** Kebab case: the flag is `--name`, the file's key is `name`, the environment's name `MILLRACE_NAME`. */
  readonly name: string;
  readonly type: 'text' | 'integer' | 'choice' | 'url' | 'switch' | 'host';
  /** Of integers: `bytes` also takes KiB, MiB, GiB; of texts `file` or `directory` for the help. */
  readonly unit?: string;
  readonly default: string | number | boolean | null;
  /** Of an integer its value, of a text its length. */
  readonly minimum?: number;
  readonly maximum?: number;
  readonly choices?: readonly string[];
  /** Source of a regular expression that the whole text must match, with what it means in words. */
  readonly pattern?: { readonly source: string; readonly words: string };
  readonly description: string;
  /** Heading in the help, of this setting and those behind it up to the next heading. */
  readonly group?: string;
  readonly secret?: boolean;
  /** Without a default, and needed. */
  readonly required?: boolean;
  /** Another setting without which this one has no effect, and is a mistake when it is given. */
  readonly needs?: string;
  /** Another environment name than that of the rule; null: not taken from the environment. */
  readonly environment?: string | null;
  /** False: not taken from the configuration file. */
  readonly file?: boolean;
}

type Camel<Name extends string> = Name extends `${infer Head}-${infer Rest}`
  ? `${Head}${Capitalize<Camel<Rest>>}`
  : Name;

type Given<S extends Setting> = S['type'] extends 'integer'
  ? number
  : S['type'] extends 'switch'
    ? boolean
    : S extends { readonly choices: readonly (infer Choice)[] }
      ? Choice
      : string;

/**
 * The values of a table: camelCase names, `undefined` only where the default is null and the setting is not required.
 */
export type SettingValues<Table extends readonly Setting[]> = {
  readonly [S in Table[number] as Camel<S['name']>]: S extends { readonly required: true }
    ? Given<S>
    : S['default'] extends null
      ? Given<S> | undefined
      : Given<S>;
};

/** Where values come from, in order of precedence; keys of `flags` and `file` are setting names. */
export interface SettingSources {
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly file?: Readonly<Record<string, unknown>>;
  readonly fileName?: string;
  /** Settings that the file may have beside those of the table: other commands read them. */
  readonly fileSettings?: readonly Setting[];
}

/** Everything that is wrong with the settings, each as a sentence with name, value and limit. Exit code 2. */
export class SettingsError extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.mistakes = mistakes;
  }
}

/** RFC 1123; the underscore is in names of containers. */
const HOST_LENGTH_MAX = 253;
const HOST_LABEL = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/;
const NUMERIC_LABEL = /^(?:\d+|0[xX][0-9A-Fa-f]*)$/;

/** The longest value that a message repeats. */
const SHOWN_VALUE_LENGTH_MAX = 80;

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

export function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_whole, letter: string) => letter.toUpperCase());
}

/** The environment's name for a setting, or null when it is not taken from there. */
export function environmentName(setting: Setting): string | null {
  if (setting.environment !== undefined) return setting.environment;
  return `MILLRACE_${setting.name.toUpperCase().replaceAll('-', '_')}`;
}

/**
 * Reads every setting of the table: flag before environment before file before default.
 * @returns the values by camelCase name, the mistakes, and the names of the mistaken settings, which keep their
 * default, and of those that were given.
 */
export function readSettings<Table extends readonly Setting[]>(
  table: Table,
  sources: SettingSources,
): { values: SettingValues<Table>; mistakes: string[]; mistaken: Set<string>; given: Set<string> } {
  const values: Record<string, unknown> = {};
  const mistakes: string[] = [];
  const mistaken = new Set<string>();
  const given = new Set<string>();
  const refuse = (setting: Setting, mistake: string): void => {
    mistakes.push(mistake);
    mistaken.add(setting.name);
  };
  for (const setting of table) {
    const found = findValue(setting, sources);
    values[camelCase(setting.name)] = setting.default ?? undefined;
    if (found === undefined) {
      if (setting.required === true) refuse(setting, missing(setting));
      continue;
    }
    given.add(setting.name);
    if (setting.needs !== undefined && !isGiven(table, setting.needs, sources)) {
      refuse(setting, `${found.where} is given without --${setting.needs}, and has no effect then`);
      continue;
    }
    const checked = checkValue(setting, found.value);
    if ('limit' in checked)
      refuse(setting, `${found.where} is ${shown(setting, found.value)}; it takes ${checked.limit}`);
    else values[camelCase(setting.name)] = checked.value;
  }
  mistakes.push(...unknownFileKeys(table, sources));
  return { values: values as SettingValues<Table>, mistakes, mistaken, given };
}

function missing(setting: Setting): string {
  const variable = environmentName(setting);
  return `--${setting.name} is missing; it takes ${limitWords(setting)}${variable === null ? '' : ` (or ${variable})`}`;
}

function unknownFileKeys(table: readonly Setting[], sources: SettingSources): string[] {
  const settings = [...table, ...(sources.fileSettings ?? [])];
  const known = settings.filter((setting) => setting.file !== false).map((setting) => setting.name);
  return Object.keys(sources.file ?? {})
    .filter((key) => !known.includes(key))
    .map((key) => `"${key}" in ${sources.fileName} is not a setting${suggestion(key, known)}`);
}

function findValue(setting: Setting, sources: SettingSources): { value: unknown; where: string } | undefined {
  const flag = sources.flags[setting.name];
  if (flag !== undefined) return { value: flag, where: `--${setting.name}` };
  const variable = environmentName(setting);
  const fromEnvironment = variable === null ? undefined : sources.environment[variable];
  // An empty variable is what `NAME=` in a compose file leaves behind: not given.
  if (fromEnvironment !== undefined && fromEnvironment !== '') return { value: fromEnvironment, where: variable! };
  const inFile =
    setting.file === false || !sources.file || !Object.hasOwn(sources.file, setting.name)
      ? undefined
      : sources.file[setting.name];
  if (inFile !== undefined && inFile !== null)
    return { value: inFile, where: `"${setting.name}" in ${sources.fileName}` };
  return undefined;
}

function isGiven(table: readonly Setting[], name: string, sources: SettingSources): boolean {
  const setting = table.find((other) => other.name === name);
  return setting !== undefined && findValue(setting, sources) !== undefined;
}

function shown(setting: Setting, value: unknown): string {
  if (setting.type !== 'switch' && value === true) return 'given without a value';
  if (value === '') return 'empty';
  if (setting.secret) return 'a value that is not shown';
  const text = typeof value === 'string' ? `"${value}"` : JSON.stringify(value);
  return text.length > SHOWN_VALUE_LENGTH_MAX ? `${text.slice(0, SHOWN_VALUE_LENGTH_MAX)}…` : text;
}

/** What a setting takes, in words: `an integer from 0 to 65535`, `one of json, pretty`. */
export function limitWords(setting: Setting): string {
  const { minimum, maximum } = setting;
  if (setting.type === 'choice') return `one of ${setting.choices!.join(', ')}`;
  if (setting.type === 'switch') return 'true or false';
  if (setting.type === 'url') return 'an http or https URL without query';
  if (setting.type === 'host') return 'an IP address or a host name';
  const range =
    minimum !== undefined && maximum !== undefined
      ? ` from ${minimum} to ${maximum}`
      : minimum !== undefined
        ? ` of at least ${minimum}`
        : maximum !== undefined
          ? ` of at most ${maximum}`
          : '';
  if (setting.type === 'integer') return `an integer${range}${setting.unit ? ` (${setting.unit})` : ''}`;
  const text = setting.unit
    ? `a ${setting.unit}`
    : range === ''
      ? 'a text that is not empty'
      : `a text${range} characters`;
  return setting.pattern ? `${text}: ${setting.pattern.words}` : text;
}

function checkValue(setting: Setting, value: unknown): { value: unknown } | { limit: string } {
  const limit = limitWords(setting);
  if (setting.type === 'switch') {
    if (typeof value === 'boolean') return { value };
    return value === 'true' || value === 'false' ? { value: value === 'true' } : { limit };
  }
  if (setting.type === 'integer') {
    const number = integer(value, setting.unit);
    const inRange =
      number !== undefined && number >= (setting.minimum ?? -Infinity) && number <= (setting.maximum ?? Infinity);
    if (inRange) return { value: number };
    return { limit: setting.unit === 'bytes' ? `${limit}, also with KiB, MiB, GiB or TiB behind it` : limit };
  }
  if (typeof value !== 'string' || value === '' || /[\0\r\n]/.test(value)) return { limit };
  if (setting.type === 'choice') return setting.choices!.includes(value) ? { value } : { limit };
  if (setting.type === 'url') return isPlainUrl(value) ? { value: withoutEnd(value, '/') } : { limit };
  if (setting.type === 'host') return isHost(value) ? { value } : { limit };
  if (value.length < (setting.minimum ?? 1) || value.length > (setting.maximum ?? Infinity)) return { limit };
  if (setting.pattern && !new RegExp(`^(?:${setting.pattern.source})$`).test(value)) return { limit };
  return { value };
}

function integer(value: unknown, unit: string | undefined): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const match = /^(-?\d{1,15})\s*(B|[KMGT]iB)?$/.exec(value.trim());
  if (!match || (match[2] !== undefined && unit !== 'bytes')) return undefined;
  const number = Number(match[1]) * UNITS[match[2] ?? ''];
  return Number.isSafeInteger(number) ? number : undefined;
}

function isPlainUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.search === '' && url.hash === '';
}

/**
 * An address, or the form of a name: whose last part is a number is meant as an IPv4 address, and 999.1.1.1 is none.
 */
function isHost(value: string): boolean {
  if (isIP(value) !== 0) return true;
  const labels = value.replace(/\.$/, '').split('.');
  return (
    value.length <= HOST_LENGTH_MAX &&
    labels.every((label) => HOST_LABEL.test(label)) &&
    !NUMERIC_LABEL.test(labels[labels.length - 1])
  );
}

/** `, did you mean "x"?` for the nearest known name within three edits, else an empty text. */
export function suggestion(name: string, known: readonly string[]): string {
  const EDITS_MAX = 3;
  let best = '';
  let bestEdits = Math.min(EDITS_MAX, Math.ceil(name.length / 2)) + 1;
  for (const candidate of known) {
    const count = edits(name, candidate);
    if (count < bestEdits) [best, bestEdits] = [candidate, count];
  }
  return best === '' ? '' : `, did you mean "${best}"?`;
}

function edits(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_value, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const change = left[row - 1] === right[column - 1] ? 0 : 1;
      current[column] = Math.min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + change);
    }
    previous = current;
  }
  return previous[right.length];
}
