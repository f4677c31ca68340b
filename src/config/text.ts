/**
 * What people read about settings: the help of a command, the table of the documentation, the print with secrets
 * masked.
 */
import { camelCase, environmentName, limitWords, type Setting } from './settings.ts';

const HELP_WIDTH = 100;
const HELP_INDENT = 30;
const MASK = '********';

const BYTE_UNITS = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const;

function valueText(setting: Setting, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (setting.unit !== 'bytes' || typeof value !== 'number') return String(value);
  const unit = BYTE_UNITS.find(([, size]) => value >= size && value % size === 0);
  return unit ? `${value / unit[1]} ${unit[0]}` : String(value);
}

function takes(setting: Setting): string {
  return setting.type === 'choice'
    ? setting.choices!.join('|')
    : (setting.unit ?? (setting.type === 'integer' ? 'number' : setting.type));
}

/**
 * The options part of a command's `--help`: flag, meaning, default, limits and environment name of every setting, below
 * the headings of their groups where the table has some.
 */
export function helpText(table: readonly Setting[]): string {
  const groups = new Map<string, string[]>();
  let group = '';
  for (const setting of table) {
    group = setting.group ?? group;
    const lines = groups.get(group) ?? [];
    groups.set(group, lines);
    lines.push(...settingLines(setting));
  }
  return [...groups].map(([name, lines]) => `${name === '' ? '' : `${name}\n`}${lines.join('\n')}\n`).join('\n');
}

function settingLines(setting: Setting): string[] {
  const flag = setting.type === 'switch' ? `  --${setting.name}` : `  --${setting.name} <${takes(setting)}>`;
  const facts = [
    setting.default === null || setting.type === 'switch' ? '' : `default ${valueText(setting, setting.default)}`,
    setting.minimum !== undefined && setting.type === 'integer' && setting.maximum !== undefined
      ? `${setting.minimum} to ${valueText(setting, setting.maximum)}`
      : '',
    environmentName(setting) ?? '',
  ]
    .filter((fact) => fact !== '')
    .join('; ');
  const text = wrap(`${setting.description}${facts === '' ? '' : ` [${facts}]`}`, HELP_WIDTH - HELP_INDENT);
  const indented = text.map((line) => ' '.repeat(HELP_INDENT) + line);
  if (flag.length > HELP_INDENT - 2) return [flag, ...indented];
  return [flag.padEnd(HELP_INDENT) + text[0], ...indented.slice(1)];
}

function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines[lines.length - 1];
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** The Markdown table of the documentation, one row for each setting in the table's order; ends with a line feed. */
export function markdownTable(table: readonly Setting[]): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|');
  const rows = table.map((setting) => {
    const variable = environmentName(setting);
    const value = setting.default === null ? 'none' : `\`${valueText(setting, setting.default)}\``;
    return (
      `| \`--${setting.name}\` | ${variable === null ? '' : `\`${variable}\``} | ${value} ` +
      `| ${cell(limitWords(setting))} | ${cell(setting.description)}${setting.secret ? ' Secret: never printed.' : ''} |`
    );
  });
  return `${['| flag | environment | default | takes | meaning |', '|---|---|---|---|---|', ...rows].join('\n')}\n`;
}

/** The values that differ from their defaults, by setting name, secrets masked: for the log and for people. */
export function changedValues(table: readonly Setting[], values: object): Record<string, string | number | boolean> {
  const changed: Record<string, string | number | boolean> = {};
  for (const setting of table) {
    const value: unknown = Reflect.get(values, camelCase(setting.name));
    if (value === undefined || value === setting.default) continue;
    changed[setting.name] = setting.secret ? MASK : (value as string | number | boolean);
  }
  return changed;
}
