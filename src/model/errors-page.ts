/** The page of all error codes (docs/reference/errors.md), made of their table. */
import { ERRORS, type ErrorEntry } from './errors.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

/** The whole text of docs/reference/errors.md; `npm run docs` writes it and a test compares it. */
export function errorsPage(): string {
  const rows = Object.entries(ERRORS as Readonly<Record<string, ErrorEntry>>).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${[
    '<!-- Generated from src/model/errors.ts by `npm run docs`; do not edit. -->',
    '# Errors',
    '',
    'Each error has a code. The log names it, `lastError` of a device as `code`, and the counter of JSON over MQTT as `json-over-mqtt/<code>`. A client of REST reads the',
    'status, the text of `error` and the message, in which `{name}` stands for a value. MQTT 5 gets the reason code, 0x80 where the table has none.',
    '[Statuses and bodies](../spec/errors.md), [limits](limits.md).',
    '',
    '| code | status | `error` | message | MQTT 5 |',
    '|---|---|---|---|---|',
    ...rows.map(
      ([code, { status, error, message, mqttReason }]) =>
        `| \`${code}\` | ${status} | \`${error}\` | ${cell(message)} | ${mqttReason === undefined ? '' : `0x${mqttReason.toString(16)}`} |`,
    ),
  ].join('\n')}\n`;
}
