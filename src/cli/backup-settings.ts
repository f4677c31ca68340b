/** The flags of `millrace backup` and `millrace restore`: the data directory is found where the server finds it. */
import { SETTINGS } from '../config/config.ts';
import type { Setting, SettingValues } from '../config/settings.ts';

type Named<Name extends string> = Extract<(typeof SETTINGS)[number], { readonly name: Name }>;
const ofServer = <Name extends string>(name: Name): Named<Name> =>
  SETTINGS.find((setting) => setting.name === name) as Named<Name>;

export const BACKUP_SETTINGS = [ofServer('config'), ofServer('data')] as const satisfies readonly Setting[];

export const RESTORE_SETTINGS = [
  ...BACKUP_SETTINGS,
  {
    name: 'force',
    type: 'switch',
    default: false,
    environment: null,
    file: false,
    description: 'Replace what is in the data directory.',
  },
] as const satisfies readonly Setting[];

/** Of `millrace doctor`, beside the server's own. */
export const REPAIR_SETTING = {
  name: 'repair',
  type: 'switch',
  default: false,
  environment: null,
  file: false,
  description: 'Set aside what cannot be read of the journal of a stopped server.',
} as const satisfies Setting;

export type BackupOptions = SettingValues<typeof BACKUP_SETTINGS>;
export type RestoreOptions = SettingValues<typeof RESTORE_SETTINGS>;
