/** One page of a list, its total apart, and what came live since. */
import { useEffect, useState } from 'preact/hooks';
import { useLoaded, useShown } from '../../core/api/request.ts';
import type { Loaded } from '../../core/api/request.ts';
import type { LoadRows } from './list-file.tsx';

export const PAGE_SIZE = 100;

export interface List<Row> extends Loaded<readonly Row[]> {
  readonly load: LoadRows<Row>;
  /** undefined while it is counted, and where the server does not count. */
  readonly total: number | undefined;
  readonly isCounting: boolean;
  /** New entries that wait until the person wants to see them. */
  readonly newCount: number;
  /** Rows of the page that may no longer belong where they stand. */
  readonly changedCount: number;
  /** Shows the new entries, and all in their order. */
  readonly showNew: () => void;
  /**
   * Takes a live change: a row of the page is replaced in place, a deleted one is taken away, a new one is counted.
   * @param row undefined for a deletion. @param hasLeft it belongs to the list no longer: it stays until the person wants
   * to see the list as it is now.
   */
  readonly take: (key: string, row: Row | undefined, isNew: boolean, hasLeft?: boolean) => void;
  /** Reads the page as the server has it now, and takes it like live changes: in the place of a channel that is refused. */
  readonly look: () => void;
}

/** From one look to the next. */
export const LOOK_MS = 5_000;

export interface ListOptions<Row> {
  /** One page; `page` begins at 1. A file asks for larger pages, which it may get. */
  readonly load: LoadRows<Row>;
  /** Asked for after the rows, so that they do not wait for it. */
  readonly count?: (signal: AbortSignal) => Promise<number | undefined>;
  readonly keyOf: (row: Row) => string;
  readonly page: number;
  /** What the list depends on beside the page. */
  readonly inputs: readonly unknown[];
}

/**
 * Whether a row of a page is gone, and not only pushed off its end by new ones: then others moved up behind it.
 * @param before keys of the page. @param now those of the same page later.
 */
export function hasGone(before: readonly string[], now: readonly string[]): boolean {
  const [old, present] = [new Set(before), new Set(now)];
  const missing = before.filter((key) => !present.has(key)).length;
  if (missing === 0) return false;
  const isPushed = now.filter((key) => !old.has(key)).length >= missing;
  const isOffTheEnd = before.slice(before.length - missing).every((key) => !present.has(key));
  const isEndKnown = missing === before.length || old.has(now.at(-1) ?? '');
  return !isPushed || !isOffTheEnd || !isEndKnown;
}

/** The same set where it has no such key: nothing renders for it. */
export const without = (keys: ReadonlySet<string>, key: string): ReadonlySet<string> =>
  keys.has(key) ? new Set([...keys].filter((one) => one !== key)) : keys;

const emptied = (keys: ReadonlySet<string>): ReadonlySet<string> => (keys.size === 0 ? keys : new Set());

export function useList<Row>({ load, count, keyOf, page, inputs }: ListOptions<Row>): List<Row> {
  const rows = useLoaded((signal) => load(page, signal), [page, ...inputs]);
  const isFirstThere = useShown(rows.data !== undefined || rows.error !== undefined);
  const counted = useLoaded(count === undefined || !isFirstThere ? undefined : count, inputs);
  const [newKeys, setNewKeys] = useState<ReadonlySet<string>>(new Set());
  const [leftKeys, setLeftKeys] = useState<ReadonlySet<string>>(new Set());
  const forgetAll = (): void => {
    setNewKeys(emptied);
    setLeftKeys(emptied);
  };
  useEffect(forgetAll, [page, ...inputs]);
  const take = (key: string, row: Row | undefined, isNew: boolean, hasLeft = false): void => {
    const isShown = (rows.data ?? []).some((one) => keyOf(one) === key);
    setLeftKeys((before) => (hasLeft && isShown ? new Set(before).add(key) : without(before, key)));
    if (row === undefined) {
      setNewKeys((before) => without(before, key));
      rows.patch((before) => before.filter((one) => keyOf(one) !== key));
    } else if (isNew && !isShown)
      setNewKeys((before) => (before.size >= PAGE_SIZE * 100 ? before : new Set(before).add(key)));
    else
      rows.patch((before) =>
        before.some((one) => keyOf(one) === key) ? before.map((one) => (keyOf(one) === key ? row : one)) : before,
      );
  };
  // Which page is looked at: one of other inputs is not, until it is asked for.
  const [lookedAt, setLookedAt] = useState<readonly unknown[] | undefined>();
  const here = [page, ...inputs];
  const isHere = lookedAt?.every((value, index) => Object.is(value, here[index])) === true;
  const seen = useLoaded(isHere ? (signal) => load(page, signal) : undefined, here);
  useEffect(() => {
    if (!isHere || seen.isLoading || seen.data === undefined || rows.isLoading) return;
    if (hasGone((rows.data ?? []).map(keyOf), seen.data.map(keyOf))) {
      forgetAll();
      rows.patch(() => seen.data ?? []);
    } else for (const row of seen.data) take(keyOf(row), row, page === 1);
  }, [seen.data]);
  const reload = (): void => {
    forgetAll();
    rows.reload();
    counted.reload();
  };
  // An answer that was under way may have them already.
  const shown = new Set((rows.data ?? []).map(keyOf));
  return {
    ...rows,
    load,
    reload,
    total: counted.isOld ? undefined : counted.data,
    isCounting: count !== undefined && (counted.isLoading || counted.isOld),
    newCount: [...newKeys].filter((key) => !shown.has(key)).length,
    changedCount: [...leftKeys].filter((key) => shown.has(key)).length,
    showNew: reload,
    take,
    look: () => {
      if (isHere) seen.reload();
      else setLookedAt(here);
    },
  };
}
