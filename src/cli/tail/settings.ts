/** The flags of `millrace tail`. */
import type { Setting, SettingValues } from '../../config/settings.ts';
import { REMOTE_SETTINGS, textFlag } from '../remote/settings.ts';

const KINDS = ['measurements', 'events', 'alarms', 'operations'] as const;
export type Kind = (typeof KINDS)[number];

export const TAIL_SETTINGS = [
  textFlag('device', 'Only of this device: its serial, or the id of a managed object.'),
  textFlag('type', 'Only of this type, or with a fragment of this name.'),
  {
    name: 'kind',
    type: 'text',
    default: KINDS.join(','),
    environment: null,
    pattern: { source: `(${KINDS.join('|')})(,(${KINDS.join('|')}))*`, words: `${KINDS.join(', ')}, comma separated` },
    description: 'What is shown.',
  },
  {
    name: 'count',
    type: 'integer',
    unit: 'messages',
    default: 0,
    minimum: 0,
    maximum: 1_000_000_000,
    environment: null,
    description: 'Ends after this many messages; 0 goes on until Ctrl-C.',
  },
  ...REMOTE_SETTINGS,
] as const satisfies readonly Setting[];

export type TailOptions = SettingValues<typeof TAIL_SETTINGS>;
