/** Texts of bulk operations. */
import { defineTexts, numberText, plural } from '../../../core/text/language.ts';

const devices = (count: number): string => `${numberText(count)} ${plural(count, { one: 'device', other: 'devices' })}`;

const en = {
  title: 'Bulk operations',
  create: 'New bulk operation',
  emptyText: 'A bulk operation sends one operation to every device of a group, one after the other.',
  command: 'Command',
  targets: 'Devices',
  groupOf: (id: string) => `Group ${id}`,
  failedOf: (id: string) => `The failed ones of ${id}`,
  status: 'Status',
  statuses: {
    SCHEDULED: 'Scheduled',
    EXECUTING: 'Executing',
    EXECUTING_WITH_ERRORS: 'Executing, with errors',
    SUCCESSFUL: 'Successful',
    FAILED: 'Failed',
    CANCELED: 'Cancelled',
  },
  progress: 'Progress',
  counts: (good: number, bad: number, open: number, all: number) =>
    `${numberText(good)} successful, ${numberText(bad)} failed, ${numberText(open)} open, of ${numberText(all)}`,
  start: 'Start',
  ramp: 'Pause',
  seconds: (count: number) => `${numberText(count)} s`,
  actions: 'Actions',
  show: 'Operations',
  cancel: 'Cancel',
  cancelOf: (id: string) => `Cancel ${id}`,
  cancelTitle: (id: string) => `Cancel the bulk operation ${id}?`,
  cancelText: (open: number) =>
    `${devices(open)} have not answered yet. No further operations are made; devices may carry out those they have.`,
  cancelled: 'The bulk operation is cancelled',
  retry: 'Retry the failed',
  withDeleted: 'Cancelled ones too',
  noGroup: 'Choose the group whose devices get the operation',
  note: 'Note',
  prototype: 'Operation as JSON',
  prototypeHint: 'As for one device, without deviceId.',
  examples: 'Begin with',
  example: 'An example …',
  when: 'Start',
  whens: { now: 'At once', later: 'At a time' },
  time: 'Time',
  rampHint: 'Seconds between two devices; fractions are allowed.',
  badRamp: 'Write a number of seconds above 0',
  pastTime: 'The time is in the past',
  summary: (count: number, seconds: number) =>
    `${devices(count)} get it, the last one about ${numberText(Math.ceil(seconds))} s after the start.`,
  noDevices: 'The group has no device.',
  send: 'Schedule it',
  made: 'The bulk operation is scheduled',
};

export type BulkTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
