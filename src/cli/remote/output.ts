/** Data goes to standard output, as a table or as JSON; words for people go to standard error. */

/** The columns of a table: heading, and what stands below it. */
export type Columns<Entry> = readonly (readonly [heading: string, value: (entry: Entry) => unknown])[];

/** Prints one line of JSON for each entry, or a table. */
export function printList<Entry extends object>(
  entries: readonly Entry[],
  columns: Columns<Entry>,
  asJson: boolean,
): void {
  if (asJson) {
    for (const entry of entries) printJson(entry);
    return;
  }
  const rows = [
    columns.map(([heading]) => heading),
    ...entries.map((entry) => columns.map(([, value]) => cell(value(entry)))),
  ];
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index].length)));
  for (const row of rows)
    process.stdout.write(
      `${row
        .map((text, index) => text.padEnd(widths[index]))
        .join('  ')
        .trimEnd()}\n`,
    );
}

/** Prints one line of JSON. */
export function printJson(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Prints what was made: one line of JSON, or names and values. */
export function printRecord(record: Readonly<Record<string, unknown>>, asJson: boolean): void {
  if (asJson) {
    printJson(record);
    return;
  }
  const width = Math.max(...Object.keys(record).map((name) => name.length));
  for (const [name, value] of Object.entries(record)) process.stdout.write(`${name.padEnd(width)}  ${cell(value)}\n`);
}

/** Words for people. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Control characters of data would move a terminal's cursor. */
export const cell = (value: unknown): string =>
  value === undefined || value === null ? '-' : String(value).replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
