/** Time in query parameters (docs/spec/conventions.md#timestamps). */
import { TIME_MAX, TIME_MIN } from '../../../model/documents/entity-time.ts';
import { parseTime } from '../../../model/documents/iso-time.ts';

/** A filter may lie outside of what can be stored: it becomes the border. A blank in front of the offset is a `+`. */
export function parseQueryTime(text: string): number | undefined {
  const time = parseTime(text.trim(), { spaceIsPlus: true });
  return time === undefined ? undefined : Math.min(TIME_MAX, Math.max(TIME_MIN, time));
}
