/** Texts of the map. */
import { defineTexts, numberText, plural } from '../../core/text/language.ts';

const devices = (count: number): string => `${numberText(count)} ${plural(count, { one: 'device', other: 'devices' })}`;

const en = {
  title: 'Map',
  map: 'Map of devices',
  list: 'Devices in this view',
  name: 'Name',
  state: 'Connection',
  position: 'Position',
  found: (count: number) => `${devices(count)} in this view`,
  some: (shown: number, count: number) =>
    `${numberText(shown)} of ${devices(count)} in this view are drawn: zoom in to see all`,
  cluster: (count: number) => `${devices(count)}, zoom in`,
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  emptyText:
    'No device in this view has a position. A device tells its own with the row 112 on s/us, or as c8y_Position.',
  world: 'Show the world',
};

export type MapTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
