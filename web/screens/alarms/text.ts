/** Texts of alarms. */
import type { AlarmStatus } from '../../core/server/alarm.ts';
import { defineTexts, numberText, plural } from '../../core/text/language.ts';

const alarms = (count: number): string => `${numberText(count)} ${plural(count, { one: 'alarm', other: 'alarms' })}`;
const DONE: Readonly<Record<AlarmStatus, string>> = {
  ACTIVE: 'active again',
  ACKNOWLEDGED: 'acknowledged',
  CLEARED: 'cleared',
};

const en = {
  title: 'Alarms',
  one: 'Alarm',
  severity: 'Severity',
  text: 'Text',
  status: 'Status',
  source: 'Device',
  sourceId: 'Id of the device',
  type: 'Type',
  time: 'Time',
  first: 'First',
  count: 'Count',
  open: 'Open (active and acknowledged)',
  anyStatus: 'All',
  statuses: { ACTIVE: 'Active', ACKNOWLEDGED: 'Acknowledged', CLEARED: 'Cleared' },
  verbs: { ACTIVE: 'Reactivate', ACKNOWLEDGED: 'Acknowledge', CLEARED: 'Clear' },
  changeMany: (count: number, status: AlarmStatus) =>
    `${{ ACTIVE: 'Reactivate', ACKNOWLEDGED: 'Acknowledge', CLEARED: 'Clear' }[status]} ${alarms(count)}`,
  changed: (count: number, status: AlarmStatus) =>
    `${alarms(count)} ${plural(count, { one: 'is', other: 'are' })} ${DONE[status]}`,
  changedMeanwhile: 'It was changed meanwhile, and stays as it is.',
  notChanged: (count: number) =>
    `${alarms(count)} ${plural(count, { one: 'is', other: 'are' })} not changed after a minute: the server goes on, or you may not change them.`,
  allSelected: (count: number) => `All ${numberText(count)} that match are selected`,
  confirmText: (count: number) =>
    `This changes ${alarms(count)} that match the filters, also those of other pages. It can be undone.`,
  empty: 'No alarm is open. Alarms that devices send appear here by themselves.',
  hint: 'Show all severities, or one alone',
  history: 'History',
  noHistory: 'No one has changed it since it was raised.',
  user: 'User',
  activity: 'What',
  json: 'As JSON',
  gone: 'This alarm does not exist',
};

export type AlarmTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
