/** Texts of a device's measurements. */
import { defineTexts, numberText } from '../../core/text/language.ts';

const en = {
  title: 'Measurements',
  series: 'Series',
  table: 'Table',
  chart: 'Chart',
  noSeriesTitle: 'This device has sent no measurements',
  noSeriesText: 'The first one makes its chart appear here, for instance with this command:',
  choose: 'Choose at least one series above.',
  tooMany: (count: number) => `At most ${numberText(count)} series at once`,
  exportShown: 'CSV of the shown points',
  exportCsv: 'CSV of all values',
  exportNdjson: 'JSON lines of all measurements',
  exportParquet: 'Parquet of all values',
  exportHint: 'of this device, in this range',
  exported: 'The file is there',
  live: 'New values appear at the right edge',
};

export type MeasurementTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
