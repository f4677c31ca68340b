/** German of text.ts. */
import { numberText, plural } from '../../core/text/language.ts';
import type { MapTexts } from './text.ts';

const devices = (count: number): string => `${numberText(count)} ${plural(count, { one: 'Gerät', other: 'Geräte' })}`;

const de: MapTexts = {
  title: 'Karte',
  map: 'Karte der Geräte',
  list: 'Geräte in diesem Ausschnitt',
  name: 'Name',
  state: 'Verbindung',
  position: 'Position',
  found: (count) => `${devices(count)} in diesem Ausschnitt`,
  some: (shown, count) =>
    `${numberText(shown)} von ${devices(count)} in diesem Ausschnitt sind gezeichnet: vergrößern Sie, um alle zu sehen`,
  cluster: (count) => `${devices(count)}, vergrößern`,
  zoomIn: 'Vergrößern',
  zoomOut: 'Verkleinern',
  emptyText:
    'Kein Gerät in diesem Ausschnitt hat eine Position. Ein Gerät meldet seine mit der Zeile 112 auf s/us oder als c8y_Position.',
  world: 'Die Welt zeigen',
};

export default de;
