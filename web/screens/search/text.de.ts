/** German of text.ts. */
import type { SearchTexts } from './text.ts';

const de: SearchTexts = {
  label: 'Name, Seriennummer, Kennung oder Text',
  hint: 'Pfeile wählen, die Eingabetaste öffnet. Auch Seiten der Konsole werden gefunden.',
  page: 'Seite',
  nothing: 'Nichts gefunden',
};

export default de;
