/** German of text.ts. */
import { numberText, plural } from '../../../core/text/language.ts';
import type { BulkTexts } from './text.ts';

const devices = (count: number): string => `${numberText(count)} ${plural(count, { one: 'Gerät', other: 'Geräte' })}`;

const de: BulkTexts = {
  title: 'Sammeloperationen',
  create: 'Neue Sammeloperation',
  emptyText: 'Eine Sammeloperation sendet jedem Gerät einer Gruppe eine Operation, einem nach dem anderen.',
  command: 'Auftrag',
  targets: 'Geräte',
  groupOf: (id) => `Gruppe ${id}`,
  failedOf: (id) => `Die fehlgeschlagenen von ${id}`,
  status: 'Stand',
  statuses: {
    SCHEDULED: 'Geplant',
    EXECUTING: 'Läuft',
    EXECUTING_WITH_ERRORS: 'Läuft, mit Fehlern',
    SUCCESSFUL: 'Gelungen',
    FAILED: 'Fehlgeschlagen',
    CANCELED: 'Abgebrochen',
  },
  progress: 'Fortschritt',
  counts: (good, bad, open, all) =>
    `${numberText(good)} gelungen, ${numberText(bad)} fehlgeschlagen, ${numberText(open)} offen, von ${numberText(all)}`,
  start: 'Beginn',
  ramp: 'Abstand',
  seconds: (count) => `${numberText(count)} s`,
  actions: 'Aktionen',
  show: 'Operationen',
  cancel: 'Abbrechen',
  cancelOf: (id) => `${id} abbrechen`,
  cancelTitle: (id) => `Sammeloperation ${id} abbrechen?`,
  cancelText: (open) =>
    `${devices(open)} haben noch nicht geantwortet. Weitere Operationen entstehen nicht; was Geräte schon haben, führen sie vielleicht aus.`,
  cancelled: 'Die Sammeloperation ist abgebrochen',
  retry: 'Fehlgeschlagene wiederholen',
  withDeleted: 'Auch abgebrochene',
  noGroup: 'Wählen Sie die Gruppe, deren Geräte die Operation bekommen',
  note: 'Notiz',
  prototype: 'Operation als JSON',
  prototypeHint: 'Wie für ein Gerät, ohne deviceId.',
  examples: 'Beginnen mit',
  example: 'Ein Beispiel …',
  when: 'Beginn',
  whens: { now: 'Sofort', later: 'Zu einer Zeit' },
  time: 'Zeit',
  rampHint: 'Sekunden zwischen zwei Geräten; auch Bruchteile.',
  badRamp: 'Schreiben Sie eine Zahl von Sekunden über 0',
  pastTime: 'Die Zeit ist vorbei',
  summary: (count, seconds) =>
    `${devices(count)} bekommen sie, das letzte etwa ${numberText(Math.ceil(seconds))} s nach dem Beginn.`,
  noDevices: 'Die Gruppe hat kein Gerät.',
  send: 'Planen',
  made: 'Die Sammeloperation ist geplant',
};

export default de;
