/** German of titles.ts. */
import type { TrafficTitles } from './titles.ts';

const de: TrafficTitles = { title: 'MQTT-Verkehr' };

export default de;
