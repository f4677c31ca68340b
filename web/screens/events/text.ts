/** Texts of events and the timeline. */
import { defineTexts, numberText, plural } from '../../core/text/language.ts';

const en = {
  title: 'Events',
  one: 'Event',
  timeline: 'Timeline',
  text: 'Text',
  type: 'Type',
  source: 'Device',
  sourceId: 'Id of the device',
  time: 'Time',
  file: 'File',
  view: 'View',
  past: 'Past events, in pages',
  stream: 'Stream, as they arrive',
  pause: 'Pause',
  resume: 'Go on',
  waiting: 'Waiting for events. The stream shows those that arrive while it is open.',
  kept: (count: number) => `${numberText(count)} kept; 1,000 at most`,
  pausedNew: (count: number) =>
    `${numberText(count)} ${plural(count, { one: 'event', other: 'events' })} since the pause`,
  empty: 'Events that devices send appear here by themselves.',
  gone: 'This event does not exist',
  json: 'As JSON',
  older: 'Older',
  latest: 'Latest',
  jump: 'Jump to a time',
  kinds: { alarm: 'Alarms', event: 'Events', operation: 'Operations', audit: 'Audit' },
  kind: { alarm: 'Alarm', event: 'Event', operation: 'Operation', audit: 'Audit' },
  kindsLabel: 'Kinds',
  kindColumn: 'Kind',
  what: 'What',
  state: 'State',
  user: 'User',
  nothingBefore: 'Nothing happened before this time',
  newEntries: (count: number) => `Show ${numberText(count)} new`,
};

export type EventTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
