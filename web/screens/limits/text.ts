/** Texts of the limits of the server. */
import { defineTexts } from '../../core/text/language.ts';

const en = {
  title: 'Limits',
  about:
    'Every bound of the server has a name, which the answer, the log and the counter of refusals tell. Names that begin with two dashes are settings of the server.',
  filter: 'Name or words',
  name: 'Name',
  bounds: 'What it bounds',
  bound: 'Bound',
  beyond: 'Beyond it',
  nothing: 'No limit has this name or these words.',
};

export type LimitTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
