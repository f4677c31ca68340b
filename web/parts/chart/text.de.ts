/** German of text.ts. */
import { numberText } from '../../core/text/language.ts';
import type { ChartTexts } from './text.ts';

const de: ChartTexts = {
  keys: 'Pfeiltasten bewegen den Zeiger, Pos1 und Ende gehen an die Enden, die Eingabetaste beginnt und beendet einen Bereich zum Vergrößern, Escape nimmt den Zeiger weg.',
  hint: 'Ziehen vergrößert',
  noValues: 'Keine Werte in diesem Zeitraum',
  at: (time) => `Um ${time}`,
  last: 'Zuletzt',
  minimum: 'Min',
  maximum: 'Max',
  average: 'Mittel',
  time: 'Zeit',
  series: 'Reihe',
  value: 'Wert',
  alarms: 'Alarme in diesem Zeitraum',
  alarmsHere: (count, text) => `${numberText(count)} Alarme, der erste: ${text}`,
  rangeBegins: (time) => `Der Bereich beginnt um ${time}`,
  truncated: 'Der Server hat mehr Werte, als er zeigt. Wählen Sie längere Abschnitte oder einen kürzeren Zeitraum.',
  tableOf: (name) => `Werte von ${name}`,
  earlier: 'Früher',
  later: 'Später',
  back: 'Einen halben Zeitraum zurück',
  forward: 'Einen halben Zeitraum vor',
  wider: 'Doppelter Zeitraum',
  points: 'Punkte',
  automatic: 'Automatisch',
  automaticNow: (what) => `Automatisch (${what})`,
  singleValues: 'einzelne Werte',
  every: (interval) => `je ${interval}`,
};

export default de;
