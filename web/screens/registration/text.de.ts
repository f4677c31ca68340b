/** German of text.ts. */
import { numberText, plural } from '../../core/text/language.ts';
import type { RegistrationTexts } from './text.ts';

const lines = (count: number): string => `${numberText(count)} ${plural(count, { one: 'Zeile', other: 'Zeilen' })}`;

const de: RegistrationTexts = {
  requests: 'Neue Geräte',
  requestsText:
    'Ein Gerät ohne Zugangsdaten fragt mit seiner Kennung danach. Kündigen Sie die Kennung an, dann nehmen Sie das Gerät hier an.',
  id: 'Kennung des Geräts',
  status: 'Stand',
  statuses: {
    WAITING_FOR_CONNECTION: 'Wartet auf das Gerät',
    PENDING_ACCEPTANCE: 'Fragt nach Zugangsdaten',
    ACCEPTED: 'Angenommen',
  },
  type: 'Typ',
  group: 'Kennung einer Gruppe',
  time: 'Angekündigt',
  actions: 'Aktionen',
  announce: 'Gerät ankündigen',
  announced: (id) => `${id} ist angekündigt`,
  accept: 'Annehmen',
  acceptOf: (id) => `${id} annehmen`,
  acceptTitle: (id) => `${id} annehmen?`,
  acceptText: 'Es bekommt einen eigenen Benutzer und darf dann Daten senden.',
  token: 'Sicherheitscode',
  tokenHint: 'Der des Geräts, wenn es einen zeigt; oft steht er auf einem Aufkleber.',
  accepted: (id) => `${id} ist angenommen`,
  acceptAll: 'Alle annehmen, die fragen',
  acceptAllTitle: 'Alle Geräte annehmen, die fragen?',
  acceptAllText: 'Jedes, das jetzt fragt, bekommt einen eigenen Benutzer. Die mit einem Sicherheitscode bleiben.',
  acceptedAll: (good, bad) => `${numberText(good)} angenommen, ${numberText(bad)} abgelehnt`,
  remove: 'Löschen',
  removeOf: (id) => `${id} löschen`,
  removeTitle: (id) => `Anfrage ${id} löschen?`,
  removeText: 'Das Gerät bekommt keine Zugangsdaten.',
  import: 'Geräte importieren',
  importText:
    'Eine CSV-Datei mit einer Zeile für jedes Gerät. Der Kopf nennt die Spalten: ID muss da sein; mit CREDENTIALS, NAME und TYPE werden die Geräte gleich angelegt, mit ID allein angekündigt.',
  file: 'CSV-Datei',
  separator: 'Trennzeichen',
  separators: { ';': 'Strichpunkt', ',': 'Komma', '\t': 'Tabulator' },
  columns: 'Spalten',
  column: 'Spalte',
  meaning: 'Bedeutung',
  firstValue: 'Erste Zeile',
  meanings: {
    known: 'Bekannt',
    external: 'Externe Kennung',
    member: 'Teil des Objekts',
    twice: 'Doppelt: der Server lehnt sie ab',
    empty: 'Ohne Namen',
  },
  noId: 'Der Kopf hat keine Spalte ID.',
  emptyFile: 'Die Datei hat keine Zeile unter ihrem Kopf.',
  preview: (count) => `Erste von ${lines(count)}`,
  send: (count) => `${lines(count)} importieren`,
  result: 'Ergebnis',
  madeCount: (count) => `${lines(count)} importiert`,
  failedCount: (count) => `${lines(count)} fehlgeschlagen`,
  line: 'Zeile',
  reason: 'Grund',
  downloadFailed: 'Fehlgeschlagene Zeilen herunterladen',
  again: 'Andere Datei importieren',
  template: 'Beispiel herunterladen',
  tooLarge: 'Die Datei hat mehr als 16 MiB: teilen Sie sie.',
};

export default de;
