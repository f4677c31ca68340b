/** Texts of the start page. */
import { defineTexts } from '../../core/text/language.ts';

const en = { title: 'Home', welcome: 'The server is running.' };

export type HomeTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
