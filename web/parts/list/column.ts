/** A column of a list: of its table, and of its file. */
import type { ComponentChildren } from 'preact';

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
