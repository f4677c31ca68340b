/** German of text.ts. */
import type { LimitTexts } from './text.ts';

const de: LimitTexts = {
  title: 'Grenzen',
  about:
    'Jede Grenze des Servers hat einen Namen, den die Antwort, das Log und der Zähler der Ablehnungen nennen. Was sie begrenzt, steht in den Worten der englischen Dokumentation da. Namen, die mit zwei Strichen beginnen, sind Einstellungen des Servers.',
  filter: 'Name oder Worte',
  name: 'Name',
  bounds: 'Was sie begrenzt',
  bound: 'Grenzwert',
  beyond: 'Darüber hinaus',
  nothing: 'Keine Grenze hat diesen Namen oder diese Worte.',
};

export default de;
