/** Texts of the difference of two texts. */
import { defineTexts, numberText, plural } from '../../core/text/language.ts';

const lines = (count: number): string => `${numberText(count)} ${plural(count, { one: 'line', other: 'lines' })}`;

const en = {
  difference: 'Difference',
  same: 'Both are the same.',
  tooDifferent: 'They differ in too many lines to show it. Download both.',
  added: (count: number) => `${lines(count)} added`,
  removed: (count: number) => `${lines(count)} removed`,
  unchanged: (count: number) => `${lines(count)} unchanged`,
};

export type DifferenceTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
