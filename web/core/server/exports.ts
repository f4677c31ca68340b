/** Exports: whole lists as CSV, JSON lines or Parquet, streamed by the server. */
import { sendRaw } from '../api/send.ts';
import { saveFile } from '../clipboard.ts';

export const EXPORT_FORMATS = ['csv', 'ndjson', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** What can be exported, with the parameter of the list. */
export const EXPORT_PATHS = {
  measurements: '/measurement/measurements',
  events: '/event/events',
  alarms: '/alarm/alarms',
  operations: '/devicecontrol/operations',
  objects: '/inventory/managedObjects',
} as const;
export type ExportKind = keyof typeof EXPORT_PATHS;

/** @param query of the list; '' is left out. */
export function exportPath(kind: ExportKind, query: Readonly<Record<string, string>>, format: ExportFormat): string {
  const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
  parameters.set('format', format);
  return `${EXPORT_PATHS[kind]}?${parameters}`;
}

/** Fetches a file and hands it to the person. The browser keeps it, on its disk where it is large. @throws ApiError. */
export async function download(path: string, name: string): Promise<void> {
  const answer = await sendRaw(path, { headers: { Accept: '*/*' } });
  saveFile(name, await answer.blob());
}

/** One field of CSV. What a spreadsheet would run as a formula has a `'` before it, also where it parts by `;` or tab. */
export function csvField(value: string | number): string {
  const text = typeof value === 'number' ? String(value) : value.replace(/(^|[;\t\r\n])(?=[=+@\t\r-])/g, "$1'");
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
