/** Texts of the data explorer. */
import { defineTexts, numberText } from '../../core/text/language.ts';

const en = {
  title: 'Explorer',
  device: 'Add series of a device',
  deviceHint: 'name or id',
  seriesOf: (name: string) => `Series of ${name}`,
  noSeries: 'This device has sent no measurements.',
  done: 'Done',
  shown: 'Shown series',
  remove: (name: string) => `Take ${name} away`,
  removeAll: 'Take all away',
  emptyTitle: 'Compare series of any devices',
  emptyText: 'Find a device above and choose its series. The address keeps what you see: copy it to share it.',
  tooMany: (count: number) => `At most ${numberText(count)} series at once`,
  table: 'Table',
  download: 'CSV of the shown points',
  fileHint: 'in this range, one file a device',
};

export type ExploreTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
