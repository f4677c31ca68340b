/**
 * Real tables, in pages of 100 rows: readers, search in the page and printing work. Small screens show cards. Below
 * stands the list as a CSV file: it is read page by page, so that it can be given up.
 */
import { ArrowDown, ArrowUp, ArrowUpDown, Download, X } from 'lucide';
import { Fragment, render } from 'preact';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { isAborted } from '../core/api/error.ts';
import { useAction } from '../core/api/request.ts';
import { saveFile } from '../core/clipboard.ts';
import { behindFrame } from '../core/live/pace.ts';
import { csvField } from '../core/server/exports.ts';
import { common } from '../core/text/common.ts';
import { millisOf } from '../core/time/time.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { FormFault } from './states.tsx';
import { Time } from './time.tsx';

export interface Column<Row> {
  /** `actions` has buttons alone: files of the list leave it out. */
  readonly id: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Of a file of the list, where it is not what the cell shows: numbers without separators. */
  readonly text?: (row: Row) => string | number;
  /** Names the row: one column of each table. */
  readonly isHeading?: boolean;
  /** Numbers stand at the end. */
  readonly isEnd?: boolean;
  /** As narrow as its content. */
  readonly isNarrow?: boolean;
  /** The server can sort by it. */
  readonly isSortable?: boolean;
}

/** Rows of one file: the page keeps their lines until it is complete. */
const FILE_ROWS_MAX = 100_000;
const PAGE_ROWS = 1_000;

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
  for (let page = 1; ; page += 1) {
    const before = keys.size;
    for (const row of await load(page)) {
      const key = keyOf(row);
      if (keys.has(key)) continue;
      if (keys.size === max) return { lines, isCut: true };
      keys.add(key);
      lines.push(lineOf(shown.map(({ text, cell }) => (text === undefined ? textOf(cell(row)) : text(row)))));
    }
    if (keys.size === before) return { lines, isCut: false };
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
      saveFile(`${label}.csv`, new Blob([...file.lines], { type: 'text/csv' }));
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

export interface Sort {
  readonly id: string;
  readonly isDescending: boolean;
}

export interface Selection<Row> {
  readonly keys: ReadonlySet<string>;
  readonly onChange: (keys: ReadonlySet<string>) => void;
  /** Names the row for people who do not see it. */
  readonly nameOf: (row: Row) => string;
}

export interface TableProps<Row> {
  /** Says what the rows are. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly sort?: Sort | undefined;
  readonly onSort?: (sort: Sort) => void;
  readonly selection?: Selection<Row>;
  /** False where the rows are not the whole list, or have a file by other means. */
  readonly hasFile?: boolean;
}

/** `id descending` in the URL, for instance `name` and `-name`. */
export const sortText = ({ id, isDescending }: Sort): string => (isDescending ? `-${id}` : id);
export const sortOf = (text: string): Sort | undefined =>
  text === '' ? undefined : { id: text.replace(/^-/, ''), isDescending: text.startsWith('-') };

function SortButton<Row>({
  column,
  sort,
  onSort,
}: {
  column: Column<Row>;
  sort: Sort | undefined;
  onSort: (sort: Sort) => void;
}) {
  const isSorted = sort?.id === column.id;
  const icon = isSorted ? (sort.isDescending ? ArrowDown : ArrowUp) : ArrowUpDown;
  return (
    <button
      type="button"
      class="table-sort"
      title={common().sortBy(column.title)}
      onClick={() => onSort({ id: column.id, isDescending: isSorted && !sort.isDescending })}
    >
      {column.title}
      <Icon icon={icon} />
    </button>
  );
}

/** Rows that are drawn at first; the others follow when these are seen. */
const FIRST_ROWS = 20;

const cellClass = <Row,>({ isEnd, isNarrow }: Column<Row>, content: unknown): string =>
  [isEnd && 'cell-end', isNarrow && 'cell-narrow', (content === '' || content == null) && 'cell-empty']
    .filter(Boolean)
    .join(' ');

/** `j` and `k` go from row to row where a list page says so; the first link of a row opens it. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, sort, onSort, selection, hasFile = true } = props;
  const words = common();
  const [isWhole, setWhole] = useState(rows.length <= FIRST_ROWS);
  useEffect(() => behindFrame(() => setWhole(true)), []);
  const all = rows.map(keyOf);
  const areAllSelected = selection !== undefined && all.length > 0 && all.every((key) => selection.keys.has(key));
  const toggle = (keys: readonly string[], isOn: boolean): void => {
    const next = new Set(selection?.keys);
    for (const key of keys) isOn ? next.add(key) : next.delete(key);
    selection?.onChange(next);
  };
  const table = (
    // A wide table scrolls in its box, which the keyboard has to reach.
    <div class="table-box" role="region" aria-label={label} tabIndex={0}>
      <table class="table table-cards">
        <caption class="visually-hidden">{label}</caption>
        <thead>
          <tr>
            {selection && (
              <th scope="col" class="cell-narrow">
                <input
                  type="checkbox"
                  aria-label={words.selectAll}
                  checked={areAllSelected}
                  onChange={(event) => toggle(all, event.currentTarget.checked)}
                />
              </th>
            )}
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                class={cellClass(column, column.title)}
                aria-sort={sort?.id === column.id ? (sort.isDescending ? 'descending' : 'ascending') : undefined}
              >
                {column.isSortable && onSort ? (
                  <SortButton column={column} sort={sort} onSort={onSort} />
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(isWhole ? rows : rows.slice(0, FIRST_ROWS)).map((row) => {
            const key = keyOf(row);
            const isSelected = selection?.keys.has(key) ?? false;
            return (
              <tr key={key} data-key={key} aria-selected={selection && isSelected}>
                {selection && (
                  <td class="cell-narrow">
                    <input
                      type="checkbox"
                      aria-label={words.selectRow(selection.nameOf(row))}
                      checked={isSelected}
                      onChange={(event) => toggle([key], event.currentTarget.checked)}
                    />
                  </td>
                )}
                {columns.map((column) => {
                  const content = column.cell(row);
                  return column.isHeading ? (
                    <th key={column.id} scope="row" class={cellClass(column, content)}>
                      {content}
                    </th>
                  ) : (
                    <td key={column.id} class={cellClass(column, content)} data-label={column.title}>
                      {content}
                    </td>
                  );
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
  if (!hasFile) return table;
  return (
    <>
      {table}
      <div class="table-foot">
        <ListFile
          label={label}
          columns={columns}
          keyOf={keyOf}
          load={(page) => Promise.resolve(page === 1 ? rows : [])}
        />
      </div>
    </>
  );
}
