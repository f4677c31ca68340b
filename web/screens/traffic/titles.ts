/** The title of MQTT traffic, which the navigation shows before the rest is loaded. */
import { defineTexts } from '../../core/text/language.ts';

const en = { title: 'MQTT traffic' };

export type TrafficTitles = typeof en;
export const words = defineTexts(en, { de: () => import('./titles.de.ts') });
