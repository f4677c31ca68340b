/** A list as a CSV file, with its columns: read page by page, so that it can be given up. */
import { Download, X } from 'lucide';
import { Fragment, render } from 'preact';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { isAborted } from '../../core/api/error.ts';
import { useAction } from '../../core/api/request.ts';
import { saveCsv } from '../../core/clipboard.ts';
import { csvField } from '../../core/server/exports.ts';
import { common } from '../../core/text/common.ts';
import { millisOf } from '../../core/time/time.ts';
import { Button } from '../button.tsx';
import { FormFault } from '../states.tsx';
import { Time } from '../time.tsx';
import type { Column } from './column.ts';

/** Rows of one file: the page keeps their lines until it is complete. */
const FILE_ROWS_MAX = 100_000;
const PAGE_ROWS = 1_000;
/** Pages one behind the other that have nothing new. */
const KNOWN_PAGES_MAX = 20;

/** The id of a column of buttons, which files leave out. */
const ACTIONS = 'actions';

/** The words of a part without its buttons. Its times are ISO. */
function renderedText(part: VNode): string {
  const box = document.createElement('div');
  render(part, box);
  for (const time of box.querySelectorAll('time')) (time.parentElement as HTMLElement).textContent = time.dateTime;
  for (const control of box.querySelectorAll('.button, input, select')) control.remove();
  const text = box.textContent.replace(/\s+/g, ' ').trim();
  render(null, box);
  return text;
}

/** What a cell shows, as text. */
function textOf(content: ComponentChildren): string | number {
  if (content === null || content === undefined || typeof content === 'boolean') return '';
  if (typeof content === 'number') return content;
  if (typeof content !== 'object') return String(content);
  if (Array.isArray(content)) return content.map(textOf).join('');
  const part = content as VNode<{ children?: ComponentChildren; value?: string }>;
  if (part.type === Time) {
    const ms = millisOf(part.props.value);
    return ms === undefined ? '' : new Date(ms).toISOString();
  }
  return typeof part.type === 'string' || part.type === Fragment ? textOf(part.props.children) : renderedText(part);
}

export interface RowsFile {
  /** With CRLF, the names of the columns first. */
  readonly lines: readonly string[];
  /** The list has more rows than the file. */
  readonly isCut: boolean;
}

/** One page of the list, from 1. It may have fewer rows than asked for; behind the last page there is none. */
export type LoadRows<Row> = (page: number, signal: AbortSignal, pageSize?: number) => Promise<readonly Row[]>;

/**
 * The rows of all pages, each once. While they are read rows come and go: one that moves to a later page is there once.
 * @param onCount gets how many were read. @param max rows of the file.
 */
export async function rowsFile<Row>(
  load: (page: number) => Promise<readonly Row[]>,
  columns: readonly Column<Row>[],
  keyOf: (row: Row) => string,
  onCount: (count: number) => void,
  max = FILE_ROWS_MAX,
): Promise<RowsFile> {
  const shown = columns.filter(({ id }) => id !== ACTIONS);
  const lineOf = (fields: readonly (string | number)[]): string => `${fields.map(csvField).join(',')}\r\n`;
  const lines = [lineOf(shown.map(({ title }) => title))];
  const keys = new Set<string>();
  let known = 0;
  for (let page = 1; ; page += 1) {
    const before = keys.size;
    const rows = await load(page);
    if (rows.length === 0) return { lines, isCut: false };
    for (const row of rows) {
      const key = keyOf(row);
      if (keys.has(key)) continue;
      if (keys.size === max) return { lines, isCut: true };
      keys.add(key);
      lines.push(lineOf(shown.map(({ text, cell }) => (text === undefined ? textOf(cell(row)) : text(row)))));
    }
    // As many rows may have come before this page; a list whose pages are all the same never ends.
    known = keys.size === before ? known + 1 : 0;
    if (known === KNOWN_PAGES_MAX) return { lines, isCut: true };
    onCount(keys.size);
  }
}

export interface ListFileProps<Row> {
  /** Of the list; the file has its name. */
  readonly label: string;
  readonly load: LoadRows<Row>;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** The way to all rows where the file has not all. */
  readonly whole?: ComponentChildren;
}

export function ListFile<Row>({ label, load, columns, keyOf, whole }: ListFileProps<Row>) {
  const words = common();
  const [count, setCount] = useState(0);
  const [isCut, setCut] = useState(false);
  const control = useRef<AbortController>(undefined);
  useEffect(() => () => control.current?.abort(), []);
  const save = useAction(async () => {
    const { signal } = (control.current = new AbortController());
    setCount(0);
    setCut(false);
    try {
      const ofPage = (page: number): Promise<readonly Row[]> => load(page, signal, PAGE_ROWS);
      const file = await rowsFile(ofPage, columns, keyOf, setCount);
      signal.throwIfAborted();
      saveCsv(`${label}.csv`, file.lines);
      setCut(file.isCut);
    } catch (error) {
      // The person has given it up, or left the page.
      if (!isAborted(error)) throw error;
    }
  });
  return (
    <>
      {save.isRunning ? (
        <Button icon={X} onClick={() => control.current?.abort()}>
          {words.cancel}
        </Button>
      ) : (
        <Button kind="quiet" icon={Download} label={`${words.exportCsv}: ${label}`} onClick={() => void save.run()}>
          {words.exportCsv}
        </Button>
      )}
      <span role="status">
        {save.isRunning && words.exportRead(count)}
        {isCut && (
          <>
            {words.exportCut(FILE_ROWS_MAX)} {whole}
          </>
        )}
      </span>
      <FormFault error={save.error} />
    </>
  );
}
