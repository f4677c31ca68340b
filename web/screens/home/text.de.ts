/** German of text.ts. */
import type { HomeTexts } from './text.ts';

const de: HomeTexts = { title: 'Start', welcome: 'Der Server läuft.' };

export default de;
