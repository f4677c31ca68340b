/** Texts of the search. */
import { defineTexts } from '../../core/text/language.ts';

const en = {
  label: 'Name, serial number, id or text',
  hint: 'Arrows choose, Enter opens. Pages of the console are found too.',
  page: 'Page',
  nothing: 'Nothing found',
};

export type SearchTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
