/** The flags of `millrace backup` and `millrace restore`. */
import type { Setting, SettingValues } from './settings.ts';

const DATA = { name: 'data', type: 'text', unit: 'directory', default: './data',
  description: 'Data directory of the server.' } as const satisfies Setting;

export const BACKUP_SETTINGS = [DATA] as const satisfies readonly Setting[];

export const RESTORE_SETTINGS = [
  DATA,
  { name: 'force', type: 'switch', default: false, environment: null,
    description: 'Replace what is in the data directory.' },
] as const satisfies readonly Setting[];

export type BackupOptions = SettingValues<typeof BACKUP_SETTINGS>;
export type RestoreOptions = SettingValues<typeof RESTORE_SETTINGS>;
