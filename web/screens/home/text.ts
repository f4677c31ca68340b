/** Texts of the start page. */
import { defineTexts, numberText, plural } from '../../core/text/language.ts';

const en = {
  title: 'Home',
  server: 'Server',
  up: 'Ready',
  partsDown: (parts: readonly string[]) => `Not ready: ${parts.join(', ')}`,
  devices: 'Devices',
  alarms: 'Active alarms',
  noAlarms: 'None',
  recentAlarms: 'Latest alarms',
  recentEvents: 'Latest events',
  noEvents: 'No event yet',
  firstTitle: 'From here to the first live value',
  dismiss: 'Do not show this',
  steps: {
    server: 'The server is ready',
    serverText: 'It takes messages over MQTT and HTTP and keeps what it has acknowledged.',
    device: 'Connect a device',
    deviceText: 'You get a command with real credentials. No device at hand? The page sends for you.',
    data: 'See its data',
    dataText: 'The first message appears on the page within a second.',
    user: 'Add a second user, and back up',
    userText: 'One administrator is one lost password away from none. Type the backup where the server runs:',
    backupLabel: 'Command of a backup',
  },
  count: (count: number) => `${numberText(count)} ${plural(count, { one: 'device', other: 'devices' })}`,
};

export type HomeTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
