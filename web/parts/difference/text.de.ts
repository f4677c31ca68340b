/** German of text.ts. */
import { numberText, plural } from '../../core/text/language.ts';
import type { DifferenceTexts } from './text.ts';

const lines = (count: number): string => `${numberText(count)} ${plural(count, { one: 'Zeile', other: 'Zeilen' })}`;

const de: DifferenceTexts = {
  difference: 'Unterschied',
  same: 'Beide sind gleich.',
  tooDifferent: 'Sie unterscheiden sich in zu vielen Zeilen. Laden Sie beide herunter.',
  added: (count) => `${lines(count)} neu`,
  removed: (count) => `${lines(count)} entfernt`,
  unchanged: (count) => `${lines(count)} unverändert`,
};

export default de;
