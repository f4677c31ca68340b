/** What a command of the command line is; each stands in a file of its own, and program.ts lists them. */
import { readSettings, SettingsError, type Setting, type SettingValues } from '../config/settings.ts';

/** What commander found: flags by setting name, and what is wrong with the command line itself. */
export interface ParsedFlags {
  readonly flags: Record<string, unknown>;
  readonly mistakes: string[];
  /** The arguments without a flag, as many as the command has `words`. */
  readonly words: string[];
}

export interface CommandEntry {
  /** One word, or two: `user list`. */
  readonly name: string;
  readonly description: string;
  readonly settings: readonly Setting[];
  /** Names of arguments without a flag, in order, with what each is; all are needed. */
  readonly words?: readonly (readonly [name: string, meaning: string])[];
  /** @returns the exit code. */
  run(parsed: ParsedFlags): Promise<number>;
}

/** The values of a command's flags. @throws SettingsError with every mistake. */
export function read<Table extends readonly Setting[]>(table: Table, parsed: ParsedFlags): SettingValues<Table> {
  const { values, mistakes } = readSettings(table, { flags: parsed.flags, environment: process.env });
  if (parsed.mistakes.length + mistakes.length > 0) throw new SettingsError([...parsed.mistakes, ...mistakes]);
  return values;
}
