/** German of text.ts. */
import { numberText } from '../../core/text/language.ts';
import type { OperationTexts } from './text.ts';

const de: OperationTexts = {
  title: 'Operationen',
  statuses: { PENDING: 'Wartet', EXECUTING: 'Läuft', SUCCESSFUL: 'Gelungen', FAILED: 'Fehlgeschlagen' },
  allStatuses: 'Alle',
  status: 'Stand',
  command: 'Auftrag',
  commandFilter: 'Auftrag (Fragment)',
  device: 'Gerät',
  deviceFilter: 'Kennung des Geräts',
  time: 'Angelegt',
  description: 'Beschreibung',
  reason: 'Grund des Fehlschlags',
  id: 'Kennung',
  details: (id) => `Operation ${id}`,
  open: (name) => `Operation ${name} zeigen`,
  bulk: 'Sammeloperation',
  bulks: 'Sammeloperationen',
  bulkFilter: 'Kennung der Sammeloperation',
  emptyText:
    'Eine Operation verlangt etwas von einem Gerät: einen Neustart, einen Befehl, neue Software. Öffnen Sie ein Gerät, um eine zu senden.',
  toDevices: 'Zu den Geräten',
  cancel: 'Operation abbrechen',
  cancelled: 'Die Operation ist abgebrochen',
  cancelReason: 'Von einem Benutzer abgebrochen',
  cancelText: 'Ein Gerät, das sie schon abgeholt hat, führt sie vielleicht trotzdem aus.',
  endedMeanwhile: 'Die Operation ist inzwischen beendet.',
  again: 'Noch einmal senden',
  sent: 'An das Gerät gesendet',
  sentOffline: 'Das Gerät ist nicht verbunden. Es bekommt die Operation, wenn es wiederkommt.',
  offlineTitle: 'Das Gerät ist nicht verbunden',
  offlineText: 'Was Sie senden, wartet auf dem Server. Das Gerät bekommt es, wenn es wiederkommt.',
  history: 'Verlauf',
  noHistory: 'An dieses Gerät wurde noch nichts gesendet.',
  send: 'Operation senden',
  restart: 'Neu starten',
  restartTitle: (name) => `${name} neu starten?`,
  restartText: 'Während des Neustarts ruht seine Arbeit.',
  json: 'Operation als JSON',
  jsonHint:
    'Ein Fragment sagt, was zu tun ist, zum Beispiel {"c8y_Restart": {}}. deviceId und status werden hier gesetzt.',
  jsonReserved: (name) => `${name} setzen Konsole und Server: lassen Sie es weg`,
  jsonNoCommand: 'Fügen Sie ein Fragment hinzu, das sagt, was zu tun ist',
  examples: 'Beginnen mit',
  example: 'Ein Beispiel …',
  sendButton: 'Senden',
  capabilities: 'Was dieses Gerät noch können könnte',
  capabilitiesText:
    'Ein Reiter erscheint, wenn das Gerät die Operation in c8y_SupportedOperations nennt. Es sendet diese Zeile an das Topic s/us:',
  needsTitle: (name) => `Dieses Gerät nimmt ${name} nicht an`,
  needsText:
    'Den Reiter haben Geräte, deren c8y_SupportedOperations die Operation nennt. Das Gerät sendet diese Zeile über MQTT an das Topic s/us; die Liste ersetzt die vorige:',
  needsRest: 'Über REST ändert das Gerät oder ändern Sie das Objekt:',
  running: (seconds) => `läuft seit ${numberText(seconds)} s`,
};

export default de;
