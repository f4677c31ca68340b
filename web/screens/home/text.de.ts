/** German of text.ts. */
import { numberText, plural } from '../../core/text/language.ts';
import type { HomeTexts } from './text.ts';

const de: HomeTexts = {
  title: 'Start',
  server: 'Server',
  up: 'Bereit',
  partsDown: (parts) => `Nicht bereit: ${parts.join(', ')}`,
  devices: 'Geräte',
  alarms: 'Aktive Alarme',
  noAlarms: 'Keine',
  recentAlarms: 'Neueste Alarme',
  recentEvents: 'Neueste Ereignisse',
  noEvents: 'Noch kein Ereignis',
  firstTitle: 'Von hier zum ersten Live-Wert',
  dismiss: 'Nicht mehr zeigen',
  steps: {
    server: 'Der Server ist bereit',
    serverText: 'Er nimmt Nachrichten über MQTT und HTTP und behält, was er bestätigt hat.',
    device: 'Gerät verbinden',
    deviceText: 'Sie bekommen einen Befehl mit echten Zugangsdaten. Kein Gerät zur Hand? Die Seite sendet für Sie.',
    data: 'Daten sehen',
    dataText: 'Die erste Nachricht erscheint innerhalb einer Sekunde auf der Seite.',
    user: 'Zweiten Benutzer anlegen, und sichern',
    userText:
      'Bei nur einem Administrator genügt ein verlorenes Passwort, und niemand kommt mehr hinein. Die Sicherung tippen Sie dort, wo der Server läuft:',
    backupLabel: 'Befehl einer Sicherung',
  },
  count: (count) => `${numberText(count)} ${plural(count, { one: 'Gerät', other: 'Geräte' })}`,
};

export default de;
