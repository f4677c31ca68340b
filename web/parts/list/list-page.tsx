/** A list with its filters, new rows, selection and pages: the body of every screen that is a list. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { useShortcuts } from '../../core/keys.ts';
import { common } from '../../core/text/common.ts';
import { numberText } from '../../core/text/language.ts';
import { Button } from '../button.tsx';
import { PAGE_SIZE } from './list.ts';
import type { List } from './list.ts';
import { Empty, Fault, Loading } from '../states.tsx';
import { ListFile } from './list-file.tsx';
import { Table } from './table.tsx';
import type { Column } from './column.ts';
import type { Selection, Sort } from './table.tsx';

export interface ListPageProps<Row> {
  readonly label: string;
  readonly list: List<Row>;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly page: number;
  readonly onPage: (page: number) => void;
  readonly sort?: Sort | undefined;
  readonly onSort?: (sort: Sort) => void;
  readonly selection?: Selection<Row>;
  /** Buttons for the selected rows. */
  readonly bulk?: ComponentChildren;
  /** A filter is set: an empty list says so, and offers to clear it. */
  readonly hasFilters?: boolean;
  readonly onClearFilters?: () => void;
  /** False where the screen has a link to the server's own export. */
  readonly hasFile?: boolean;
  /** The way to all rows where the file has not all. */
  readonly whole?: ComponentChildren;
  /** What an empty list says: what would be here, and how to get it. */
  readonly empty?: ComponentChildren;
}

/** Moves the focus by `step` rows. */
function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('tr[data-key]')];
  const here = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.min(Math.max(here + step, 0), rows.length - 1)];
  next?.querySelector<HTMLElement>('a, button, input')?.focus();
}

const toggleRow = (): void =>
  document.activeElement?.closest('tr[data-key]')?.querySelector<HTMLElement>('input[type=checkbox]')?.click();

export function ListPage<Row>(props: ListPageProps<Row>) {
  const {
    label,
    list,
    columns,
    keyOf,
    page,
    onPage,
    sort,
    onSort,
    selection,
    bulk,
    hasFilters,
    empty,
    hasFile = true,
    whole,
  } = props;
  const words = common();
  useShortcuts(
    useMemo(
      () => [
        { keys: 'j', text: () => common().next, run: () => moveRow(1) },
        { keys: 'k', text: () => common().previous, run: () => moveRow(-1) },
        { keys: 'x', text: () => common().selectRow(''), run: toggleRow },
      ],
      [],
    ),
  );
  const rows = list.data ?? [];
  // That another filter found nothing says nothing of this one.
  const isUnknown = list.data === undefined || (rows.length === 0 && list.isOld);
  const first = (page - 1) * PAGE_SIZE + 1;
  return (
    <>
      {selection && selection.keys.size > 0 && (
        <div class="bulk" role="group" aria-label={words.selected(selection.keys.size)}>
          <strong>{words.selected(selection.keys.size)}</strong>
          {bulk}
          <Button kind="quiet" onClick={() => selection.onChange(new Set())}>
            {words.clearSelection}
          </Button>
        </div>
      )}
      <div aria-live="polite">
        {list.newCount + list.changedCount > 0 && (
          <button type="button" class="button new-rows" onClick={list.showNew}>
            {words.newRows(list.newCount, list.changedCount)}
          </button>
        )}
      </div>
      {list.error && <Fault error={list.error} retry={list.reload} />}
      {isUnknown && !list.error && <Loading />}
      {!isUnknown && rows.length === 0 && page === 1 && (
        <Empty title={hasFilters ? words.nothingFound : words.nothingHere}>
          {hasFilters
            ? props.onClearFilters && <Button onClick={props.onClearFilters}>{words.clearFilters}</Button>
            : empty}
        </Empty>
      )}
      {(rows.length > 0 || (!isUnknown && page > 1)) && (
        <>
          <div class={list.isOld ? 'is-old' : ''} aria-busy={list.isOld}>
            <Table
              label={label}
              columns={columns}
              rows={rows}
              keyOf={keyOf}
              hasFile={false}
              sort={sort}
              {...(onSort ? { onSort } : {})}
              // Rows that leave are not chosen.
              {...(selection
                ? { selection: list.isOld ? { ...selection, onChange: () => undefined } : selection }
                : {})}
            />
          </div>
          <div class="table-foot">
            <span role="status">
              {list.isOld ? words.loading : rows.length > 0 && words.rows(first, first + rows.length - 1)}{' '}
              {list.total === undefined ? list.isCounting && words.counting : words.ofTotal(list.total)}
            </span>
            {hasFile && <ListFile label={label} load={list.load} columns={columns} keyOf={keyOf} whole={whole} />}
            {(page > 1 || rows.length === PAGE_SIZE) && (
              <span class="table-foot-end">
                <Button {...(page > 1 ? { onClick: () => onPage(page - 1) } : { blocked: words.page(1) })}>
                  {words.previous}
                </Button>
                <Button
                  {...(rows.length === PAGE_SIZE
                    ? { onClick: () => onPage(page + 1) }
                    : { blocked: words.rows(first, numberOfLast(first, rows.length)) })}
                >
                  {words.next}
                </Button>
                <span class="visually-hidden">{numberText(page)}</span>
              </span>
            )}
          </div>
        </>
      )}
    </>
  );
}

const numberOfLast = (first: number, count: number): number => first + Math.max(count - 1, 0);
