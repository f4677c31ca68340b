/** German of text.ts. */
import type { ExportTexts } from './text.ts';

const de: ExportTexts = {
  title: 'Export',
  intro:
    'Ganze Listen als Dateien, die der Server fortlaufend sendet. Ein Benutzer hat höchstens fünf Exporte zugleich; ein weiterer wird mit 503 und der Wartezeit beantwortet.',
  kind: 'Was',
  kinds: {
    measurements: 'Messwerte',
    events: 'Ereignisse',
    alarms: 'Alarme',
    operations: 'Operationen',
    objects: 'Geräte und andere Objekte',
  },
  format: 'Format',
  formats: {
    csv: 'CSV: für Tabellenprogramme',
    ndjson: 'JSON-Zeilen: alle Felder, alle Ziffern',
    parquet: 'Parquet: für Modelle und Notebooks',
  },
  findDevice: 'Eines Geräts',
  deviceHint: 'Name oder Kennung; leer für alle',
  chosen: (name) => `Nur ${name}`,
  all: 'Aller Geräte, die Sie sehen dürfen',
  allAgain: 'Alle Geräte',
  type: 'Typ',
  status: 'Status; mehrere von Alarmen mit Kommas',
  severity: 'Schweregrad; mehrere mit Kommas',
  ofCommand: 'Befehl, zum Beispiel c8y_Restart',
  bulk: 'Kennung einer Massenoperation',
  query: 'Abfrage',
  queryHint: "$filter=type eq 'pump'",
  command: 'Dasselbe als Befehl, für große Dateien und Skripte',
  download: 'Herunterladen',
  running: 'Die Datei wird geholt …',
  done: 'Die Datei ist da',
};

export default de;
