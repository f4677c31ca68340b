/** German of text.ts. */
import { numberText } from '../../core/text/language.ts';
import type { MeasurementTexts } from './text.ts';

const de: MeasurementTexts = {
  title: 'Messwerte',
  series: 'Reihen',
  table: 'Tabelle',
  chart: 'Diagramm',
  noSeriesTitle: 'Dieses Gerät hat keine Messwerte gesendet',
  noSeriesText: 'Mit dem ersten erscheint hier sein Diagramm, zum Beispiel mit diesem Befehl:',
  choose: 'Wählen Sie oben mindestens eine Reihe.',
  tooMany: (count) => `Höchstens ${numberText(count)} Reihen zugleich`,
  exportShown: 'CSV der gezeigten Punkte',
  exportCsv: 'CSV aller Werte',
  exportNdjson: 'JSON-Zeilen aller Messungen',
  exportParquet: 'Parquet aller Werte',
  exportHint: 'dieses Geräts, in diesem Zeitraum',
  exported: 'Die Datei ist da',
  live: 'Neue Werte erscheinen am rechten Rand',
};

export default de;
