/** Texts of requests of new devices, and of the import of many. */
import { defineTexts, numberText, plural } from '../../core/text/language.ts';

const lines = (count: number): string => `${numberText(count)} ${plural(count, { one: 'line', other: 'lines' })}`;

const en = {
  requests: 'New devices',
  requestsText:
    'A device that has no credentials yet asks for them by its id. Announce the id first, then accept the device here.',
  id: 'Id of the device',
  status: 'Status',
  statuses: {
    WAITING_FOR_CONNECTION: 'Waiting for the device',
    PENDING_ACCEPTANCE: 'Asks for credentials',
    ACCEPTED: 'Accepted',
  },
  type: 'Type',
  group: 'Id of a group',
  time: 'Announced',
  actions: 'Actions',
  announce: 'Announce a device',
  announced: (id: string) => `${id} is announced`,
  accept: 'Accept',
  acceptOf: (id: string) => `Accept ${id}`,
  acceptTitle: (id: string) => `Accept ${id}?`,
  acceptText: 'It gets a user of its own and may send data from then on.',
  token: 'Security token',
  tokenHint: 'That of the device, where it shows one; a printed label often has it.',
  accepted: (id: string) => `${id} is accepted`,
  acceptAll: 'Accept all that ask',
  acceptAllTitle: 'Accept all devices that ask?',
  acceptAllText: 'Each that asks now gets a user of its own. Those that show a security token stay.',
  acceptedAll: (good: number, bad: number) => `${numberText(good)} accepted, ${numberText(bad)} refused`,
  remove: 'Delete',
  removeOf: (id: string) => `Delete ${id}`,
  removeTitle: (id: string) => `Delete the request ${id}?`,
  removeText: 'The device gets no credentials.',
  import: 'Import devices',
  importText:
    'A CSV file with a line for each device. The header names the columns: ID is needed; with CREDENTIALS, NAME and TYPE the devices are made at once, with ID alone they are announced.',
  file: 'CSV file',
  separator: 'Separator',
  separators: { ';': 'Semicolon', ',': 'Comma', '\t': 'Tab' },
  columns: 'Columns',
  column: 'Column',
  meaning: 'Meaning',
  firstValue: 'First line',
  meanings: {
    known: 'Known',
    external: 'External id',
    member: 'Member of the object',
    twice: 'Twice: the server refuses it',
    empty: 'Without a name',
  },
  noId: 'The header has no column ID.',
  emptyFile: 'The file has no line below its header.',
  preview: (count: number) => `First lines of ${lines(count)}`,
  send: (count: number) => `Import ${lines(count)}`,
  result: 'Result',
  madeCount: (count: number) => `${lines(count)} imported`,
  failedCount: (count: number) => `${lines(count)} failed`,
  line: 'Line',
  reason: 'Reason',
  downloadFailed: 'Download the failed lines',
  again: 'Import another file',
  template: 'Download an example',
  tooLarge: 'The file has more than 16 MiB: split it.',
};

export type RegistrationTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
