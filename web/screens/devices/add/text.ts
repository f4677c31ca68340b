/** Texts of adding a device. */
import { defineTexts } from '../../../core/text/language.ts';

const en = {
  title: 'Add a device',
  intro:
    'Gives the device a user and a password. The command below holds both; run it and watch the first message arrive.',
  name: 'Name',
  serial: 'Serial number',
  serialHint: 'How the device calls itself: its MQTT client id',
  known: 'A device with this serial number exists',
  make: 'Make the device',
  defaultName: 'Trial sensor',
  snippets: 'Program or tool',
  kinds: { mosquitto: 'mosquitto_pub', curl: 'curl', python: 'Python', node: 'Node', c: 'C', 'thin-edge': 'thin-edge' },
  needsTls:
    'thin-edge connects over TLS alone, and this server has no port with it. Run `millrace tls self-signed`, or give --tls-key and --tls-certificate.',
  command: 'Command',
  install: 'Needs',
  password: 'Password',
  passwordHint: 'It is stored nowhere else. Copy it now.',
  waiting: (id: string) => `Waiting for the first message of ${id} …`,
  arrived: 'It works: the server has heard from the device',
  messages: 'Messages',
  simulate: 'No device at hand: send from this page',
  simulated: 'Sent from this page over MQTT',
  open: 'Open the device',
  removeAgain: 'Remove it again',
  removed: 'The device is removed',
  checklistTitle: 'Nothing yet?',
  checklist: (host: string, port: number) => [
    `The device reaches ${host}, port ${port}: a firewall or a container may hide the port.`,
    'The password is complete; in a shell it stands in single quotes.',
    'A client with TLS needs the TLS port of the server.',
  ],
  another: 'Add another one',
};

export type AddTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
