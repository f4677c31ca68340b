/**
 * The commands and their flags, parsed by commander; values are checked by the settings tables, all mistakes at once.
 */
import { Command, CommanderError } from 'commander';
import { VERSION } from '../config/project.ts';
import { loadConfig, loadDataSettings, SETTINGS } from '../config/config.ts';
import { BACKUP_SETTINGS, REPAIR_SETTING, RESTORE_SETTINGS } from './backup-settings.ts';
import { CommandError, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from '../operate/exit-codes.ts';
import { SettingsError, suggestion, type Setting, type SettingValues } from '../config/settings.ts';
import { helpText } from '../config/text.ts';
import { read } from './command.ts';
import type { CommandEntry, ParsedFlags } from './command.ts';
import { CONNECT_SETTINGS } from './connect/settings.ts';
import { DEVICE_COMMANDS } from './device.ts';
import { SIMULATE_SETTINGS } from './simulate/settings.ts';
import { TAIL_SETTINGS } from './tail/settings.ts';
import { TENANT_COMMANDS } from './tenant.ts';
import { TLS_COMMANDS } from './tls.ts';
import { TOKEN_COMMANDS } from './token.ts';
import { USER_COMMANDS } from './user.ts';

const PURPOSE = 'IoT platform server: MQTT, HTTP and WebSocket in; durable, live data out';

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    description: 'run the server',
    settings: SETTINGS,
    run: async (parsed) => {
      const loaded = loadConfig({ flags: parsed.flags, environment: process.env }, parsed.mistakes);
      return (await import('./serve.ts')).serve(loaded);
    },
  },
  {
    name: 'simulate',
    description: 'run a fleet of simulated devices against a server',
    settings: SIMULATE_SETTINGS,
    run: async (parsed) => (await import('./simulate/simulate.ts')).simulate(read(SIMULATE_SETTINGS, parsed)),
  },
  {
    name: 'doctor',
    description: 'check whether this machine can run the server',
    settings: [...SETTINGS, REPAIR_SETTING],
    run: async (parsed) => {
      const loaded = loadConfig({ flags: parsed.flags, environment: process.env }, parsed.mistakes);
      return (await import('./doctor/doctor.ts')).doctor(loaded.config, parsed.flags['repair'] === true);
    },
  },
  {
    name: 'backup',
    description: 'copy the data directory, of a stopped or a running server',
    settings: BACKUP_SETTINGS,
    words: [['to', 'the directory of the backup']],
    run: async (parsed) =>
      (await import('./backup.ts')).backup(ofData(BACKUP_SETTINGS, parsed), parsed.words[0], VERSION),
  },
  {
    name: 'restore',
    description: 'put a backup back into the data directory, of a stopped or a running server',
    settings: RESTORE_SETTINGS,
    words: [['from', 'the directory of the backup']],
    run: async (parsed) => (await import('./restore.ts')).restore(ofData(RESTORE_SETTINGS, parsed), parsed.words[0]),
  },
  ...USER_COMMANDS,
  ...TENANT_COMMANDS,
  ...DEVICE_COMMANDS,
  ...TOKEN_COMMANDS,
  {
    name: 'tail',
    description: 'show what comes in, live',
    settings: TAIL_SETTINGS,
    run: async (parsed) => (await import('./tail/tail.ts')).tail(read(TAIL_SETTINGS, parsed)),
  },
  {
    name: 'connect',
    description: 'reach a port of a device through the server, for instance its SSH',
    settings: CONNECT_SETTINGS,
    words: [['device', 'the serial or id of the device']],
    run: async (parsed) =>
      (await import('./connect/connect.ts')).connect(read(CONNECT_SETTINGS, parsed), parsed.words[0]),
  },
  ...TLS_COMMANDS,
];

function ofData<Table extends readonly Setting[]>(table: Table, parsed: ParsedFlags): SettingValues<Table> {
  return loadDataSettings(table, { flags: parsed.flags, environment: process.env }, parsed.mistakes);
}

/**
 * Runs one command.
 * @param argv without the interpreter and the script.
 * @returns the exit code: 0, 1 (the command failed) or 2 (the command line or configuration is wrong).
 */
export async function runCommand(argv: readonly string[]): Promise<number> {
  let code = EXIT_OK;
  const program = new Command('millrace')
    .description(PURPOSE)
    .version(VERSION)
    .exitOverride()
    .configureHelp({ formatHelp: overview });
  for (const entry of COMMANDS)
    parentOf(entry, program).addCommand(
      commandOf(entry, (result) => {
        code = result;
      }),
    );
  try {
    // Of commander's own command for help a group like `device` would take one word.
    await program.parseAsync(argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv], { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    if (error instanceof SettingsError) {
      const [first, ...others] = error.mistakes;
      process.stderr.write(
        others.length === 0
          ? `millrace: ${first}\n`
          : `millrace: ${error.mistakes.length} mistakes in the command line or configuration:\n${error.mistakes
              .map((mistake) => `  - ${mistake}\n`)
              .join('')}`,
      );
      return EXIT_USAGE;
    }
    const message = error instanceof CommandError ? error.message : ((error as Error).stack ?? String(error));
    process.stderr.write(`millrace: ${message}\n`);
    return EXIT_FAILED;
  }
}

/** The program, or of `user list` the command `user`, which is made with the first of its commands. */
function parentOf({ name }: CommandEntry, program: Command): Command {
  const [group, word] = name.split(' ');
  if (word === undefined) return program;
  const found = program.commands.find((command) => command.name() === group);
  if (found !== undefined) return found;
  const made = new Command(group).exitOverride().configureHelp({ formatHelp: () => overview(group) });
  program.addCommand(made);
  return made;
}

/** The commands with a line each. @param group only those that begin with this word. */
function overview(group?: unknown): string {
  const isGroup = typeof group === 'string';
  const listed = COMMANDS.filter(({ name }) => !isGroup || name.startsWith(`${group} `));
  const width = Math.max(...listed.map(({ name }) => name.length)) + 2;
  const lines = listed.map(({ name, description }) => `  ${name.padEnd(width)}${description}`);
  const usage = `Usage: millrace ${isGroup ? `${group} ` : ''}<command> [flags]`;
  const more = `\nmillrace <command> --help tells the flags of a command${isGroup ? '' : '; --version tells the version'}.`;
  return `${[usage, ...(isGroup ? [] : ['', PURPOSE]), '', ...lines, more].join('\n')}\n`;
}

function helpOf(entry: CommandEntry): string {
  const usage = [...(entry.words ?? []).map(([word]) => `<${word}>`), '[flags]'].join(' ');
  return `Usage: millrace ${entry.name} ${usage}\n\n${entry.description}\n\n${helpText(entry.settings)}`;
}

/** The help of each command by its name, of all of them by ''. It is also read before anything is installed. */
export function helpPages(): Readonly<Record<string, string>> {
  const groups = new Set(COMMANDS.filter(({ name }) => name.includes(' ')).map(({ name }) => name.split(' ')[0]));
  return Object.fromEntries([
    ['', overview()],
    ...[...groups].map((group) => [group, overview(group)]),
    ...COMMANDS.map((entry) => [entry.name, helpOf(entry)]),
  ]);
}

/** The text of bin/help.json, which `npm run docs` writes: lines, so that a change of it can be read. */
export const helpFile = (): string =>
  `${JSON.stringify(Object.fromEntries(Object.entries(helpPages()).map(([name, text]) => [name, text.split('\n')])), null, 1)}\n`;

function commandOf(entry: CommandEntry, done: (code: number) => void): Command {
  // Unknown flags and missing values are collected as mistakes of ours: commander would stop at the first of them.
  const command = new Command(entry.name.split(' ').at(-1))
    .description(entry.description)
    .exitOverride()
    .allowUnknownOption()
    .allowExcessArguments();
  for (const setting of entry.settings)
    command.option(setting.type === 'switch' ? `--${setting.name}` : `--${setting.name} [value]`);
  command.configureHelp({ formatHelp: () => helpOf(entry) });
  command.action(async () => {
    const flags: Record<string, unknown> = {};
    for (const setting of entry.settings) {
      // A value that is absent and one that is `false` differ: commander leaves the former undefined.
      const value: unknown = command.getOptionValue(
        command.options.find((option) => option.name() === setting.name)!.attributeName(),
      );
      if (value !== undefined) flags[setting.name] = value;
    }
    const { mistakes, rest } = strayArguments(command.args, entry);
    done(await entry.run({ flags, mistakes, words: rest }));
  });
  return command;
}

function strayArguments(args: readonly string[], entry: CommandEntry): { mistakes: string[]; rest: string[] } {
  const known = entry.settings.map((setting) => `--${setting.name}`);
  const mistakes: string[] = [];
  const rest: string[] = [];
  const needed = entry.words ?? [];
  args.forEach((argument, index) => {
    if (argument.startsWith('-') && argument !== '-') {
      const flag = argument.split('=')[0];
      mistakes.push(`Unknown option ${flag} for ${entry.name}${suggestion(flag, known)}`);
    } else if (rest.length < needed.length) rest.push(argument);
    else if (index === 0 || !args[index - 1].startsWith('-'))
      mistakes.push(`"${argument}" is one argument too many for ${entry.name}`);
  });
  for (const [word, meaning] of needed.slice(rest.length)) mistakes.push(`<${word}> is missing: ${meaning}`);
  return { mistakes, rest };
}
