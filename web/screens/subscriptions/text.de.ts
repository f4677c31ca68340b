/** German of text.ts. */
import type { SubscriptionTexts } from './text.ts';

const de: SubscriptionTexts = {
  title: 'Abonnements',
  hint: 'Was Empfänger von Notifications 2.0 erfahren: von einem Objekt, oder vom ganzen Mandanten.',
  add: 'Abonnement hinzufügen',
  name: 'Name',
  nameHint: 'Buchstaben und Ziffern. Abonnements eines Namens teilen sich ein Topic.',
  context: 'Von',
  contexts: { mo: 'Einem Objekt', tenant: 'Dem Mandanten' },
  source: 'Kennung des Objekts',
  apis: 'Daten',
  apiNames: {
    '*': 'Alle Daten',
    alarms: 'Alarme',
    events: 'Ereignisse',
    measurements: 'Messwerte',
    managedobjects: 'Objekte des Inventars',
    operations: 'Operationen',
  },
  persistence: 'Aufgehoben',
  persistent: 'bis es bestätigt ist',
  volatile: 'nicht',
  isVolatile: 'Flüchtig: was kein Empfänger sofort nimmt, wird verworfen',
  added: (name) => `${name} ist hinzugefügt`,
  remove: 'Löschen',
  removeTitle: (name) => `${name} löschen?`,
  removeText: 'Empfänger bekommen davon nichts mehr. Was auf sie wartet, bleibt, bis sie es genommen haben.',
  removed: (name) => `${name} ist gelöscht`,
  token: 'Token erzeugen',
  tokenText: 'Das Token öffnet das Abonnement für einen Empfänger, 24 Stunden lang. Es wird einmal gezeigt.',
  subscriber: 'Empfänger',
  command: 'Befehl, der das Abonnement liest',
  state: 'Zustand',
};

export default de;
