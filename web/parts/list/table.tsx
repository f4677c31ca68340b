/** Real tables, in pages of 100 rows: readers, search in the page and printing work. Small screens show cards. */
import { ArrowDown, ArrowUp, ArrowUpDown } from 'lucide';
import { useEffect, useState } from 'preact/hooks';
import { behindFrame } from '../../core/live/pace.ts';
import { common } from '../../core/text/common.ts';
import { Icon } from '../icon.tsx';
import type { Column } from './column.ts';
import { ListFile } from './list-file.tsx';

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
