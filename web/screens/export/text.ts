/** Texts of the export. */
import { defineTexts } from '../../core/text/language.ts';

const en = {
  title: 'Export',
  intro:
    'Whole lists as files, streamed by the server. A user has at most five exports under way; one more is answered 503 with the time to wait.',
  kind: 'What',
  kinds: {
    measurements: 'Measurements',
    events: 'Events',
    alarms: 'Alarms',
    operations: 'Operations',
    objects: 'Devices and other objects',
  },
  format: 'Format',
  formats: {
    csv: 'CSV: for spreadsheets',
    ndjson: 'JSON lines: all members, all digits',
    parquet: 'Parquet: for models and notebooks',
  },
  findDevice: 'Of one device',
  deviceHint: 'name or id; empty for all',
  chosen: (name: string) => `Only ${name}`,
  all: 'Of all devices that you may see',
  allAgain: 'All devices',
  type: 'Type',
  status: 'Status; several of alarms with commas',
  severity: 'Severity; several with commas',
  ofCommand: 'Command, for instance c8y_Restart',
  bulk: 'Id of a bulk operation',
  query: 'Query',
  queryHint: "$filter=type eq 'pump'",
  command: 'The same as a command, for large files and scripts',
  download: 'Download',
  running: 'The file is being fetched …',
  done: 'The file is there',
};

export type ExportTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
