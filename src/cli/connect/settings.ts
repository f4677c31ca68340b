/** The flags of `millrace connect`. */
import type { Setting, SettingValues } from '../../config/settings.ts';
import { REMOTE_SETTINGS } from '../remote/settings.ts';

export const CONNECT_SETTINGS = [
  {
    name: 'port',
    type: 'integer',
    default: 22,
    minimum: 1,
    maximum: 65_535,
    environment: null,
    description: 'Port on the side of the device.',
  },
  {
    name: 'host',
    type: 'text',
    default: '127.0.0.1',
    maximum: 253,
    environment: null,
    description: 'Host as the device sees it: 127.0.0.1 is the device itself.',
  },
  {
    name: 'listen',
    type: 'integer',
    unit: 'port',
    default: null,
    minimum: 0,
    maximum: 65_535,
    environment: null,
    description:
      'Port on this machine, 0 for a free one: each connection to it has a tunnel. Without it standard input and output have one.',
  },
  ...REMOTE_SETTINGS,
] as const satisfies readonly Setting[];

export type ConnectOptions = SettingValues<typeof CONNECT_SETTINGS>;
