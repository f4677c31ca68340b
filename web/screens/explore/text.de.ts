/** German of text.ts. */
import { numberText } from '../../core/text/language.ts';
import type { ExploreTexts } from './text.ts';

const de: ExploreTexts = {
  title: 'Vergleich',
  device: 'Reihen eines Geräts hinzufügen',
  deviceHint: 'Name oder Kennung',
  seriesOf: (name) => `Reihen von ${name}`,
  noSeries: 'Dieses Gerät hat keine Messwerte gesendet.',
  done: 'Fertig',
  shown: 'Gezeigte Reihen',
  remove: (name) => `${name} wegnehmen`,
  removeAll: 'Alle wegnehmen',
  emptyTitle: 'Vergleichen Sie Reihen beliebiger Geräte',
  emptyText:
    'Suchen Sie oben ein Gerät und wählen Sie seine Reihen. Die Adresse behält, was Sie sehen: kopieren Sie sie, um es zu teilen.',
  tooMany: (count) => `Höchstens ${numberText(count)} Reihen zugleich`,
  table: 'Tabelle',
  download: 'CSV der gezeigten Punkte',
  fileHint: 'in diesem Zeitraum, eine Datei je Gerät',
};

export default de;
