/** Texts of charts. */
import { defineTexts, numberText } from '../../core/text/language.ts';

const en = {
  keys: 'Arrow keys move the cursor, Home and End go to the ends, Enter begins and ends a range to zoom into, Escape takes the cursor away.',
  hint: 'Drag to zoom',
  noValues: 'No values in this range',
  at: (time: string) => `At ${time}`,
  last: 'Last',
  minimum: 'Min',
  maximum: 'Max',
  average: 'Average',
  time: 'Time',
  series: 'Series',
  value: 'Value',
  alarms: 'Alarms in this range',
  alarmsHere: (count: number, text: string) => `${numberText(count)} alarms, the first: ${text}`,
  rangeBegins: (time: string) => `The range begins at ${time}`,
  truncated: 'The server has more values than it shows. Choose longer intervals or a shorter range.',
  tableOf: (name: string) => `Values of ${name}`,
  earlier: 'Earlier',
  later: 'Later',
  back: 'Half a range back',
  forward: 'Half a range forward',
  wider: 'Twice the range',
  points: 'Points',
  automatic: 'Automatic',
  automaticNow: (what: string) => `Automatic (${what})`,
  singleValues: 'single values',
  every: (interval: string) => `each ${interval}`,
};

export type ChartTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
