/** State of a screen in the query of its URL: what reload, Back and a copied link bring again. */
import { useLocation, useRoute } from 'preact-iso';
import { useCallback, useMemo } from 'preact/hooks';

/** How a value stands in the URL. `write` gives undefined for the default, which stays out of the URL. */
export interface Parameter<T> {
  readonly read: (text: string | null) => T;
  readonly write: (value: T) => string | undefined;
}

export const textParameter = (otherwise = ''): Parameter<string> => ({
  read: (text) => text ?? otherwise,
  write: (value) => (value === otherwise ? undefined : value),
});

/** A text among `values`; others count as the first. */
export const choiceParameter = <const T extends string>(values: readonly T[]): Parameter<T> => ({
  read: (text) => values.find((value) => value === text) ?? values[0],
  write: (value) => (value === values[0] ? undefined : value),
});

export const numberParameter = (
  otherwise: number,
  { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = {},
): Parameter<number> => ({
  read: (text) => {
    const value = text === null || text.trim() === '' ? Number.NaN : Number(text);
    return Number.isSafeInteger(value) && value >= minimum && value <= maximum ? value : otherwise;
  },
  write: (value) => (value === otherwise ? undefined : String(value)),
});

export const flagParameter: Parameter<boolean> = {
  read: (text) => text !== null && text !== 'no',
  write: (value) => (value ? 'yes' : undefined),
};

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that begins no character: typed by hand.
    return text;
  }
}

/** Texts with commas between them; commas and percent signs of a text are encoded. */
export const listParameter: Parameter<readonly string[]> = {
  read: (text) => (text === null || text === '' ? [] : text.split(',').map(decoded)),
  write: (values) =>
    values.length === 0 ? undefined : values.map((value) => value.replace(/[%,]/g, encodeURIComponent)).join(','),
};

type Shape = Readonly<Record<string, Parameter<any>>>;
export type StateOf<S extends Shape> = { readonly [Name in keyof S]: S[Name] extends Parameter<infer T> ? T : never };

/** The values of a query. @param search with or without its question mark. */
export function readState<S extends Shape>(shape: S, search: string): StateOf<S> {
  const query = new URLSearchParams(search);
  return Object.fromEntries(
    Object.entries(shape).map(([name, parameter]) => [name, parameter.read(query.get(name))]),
  ) as StateOf<S>;
}

/** The query with the changes. Names that the shape does not know stay. @returns with its question mark, or ''. */
export function writeState<S extends Shape>(shape: S, search: string, changes: Partial<StateOf<S>>): string {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    const text = shape[name].write(value);
    if (text === undefined) query.delete(name);
    else query.set(name, text);
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** The address of the view with the changes. */
export const urlWith = <S extends Shape>(shape: S, changes: Partial<StateOf<S>>): string =>
  location.origin + location.pathname + writeState(shape, location.search, changes);

export type SetState<S extends Shape> = (changes: Partial<StateOf<S>>, options?: { readonly isStep?: boolean }) => void;

/**
 * The state of the screen and how to change it. With `isStep` Back returns to the state before; without it the change
 * takes its place in the history, as for each letter of a search.
 * @param shape constant: made outside of the component.
 */
export function useUrlState<S extends Shape>(shape: S): readonly [StateOf<S>, SetState<S>] {
  const { url, path, route } = useLocation();
  // A screen stays until the next one is loaded, whose address is not its own.
  const own = useRoute().path ?? path;
  const search = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  const state = useMemo(() => readState(shape, search), [shape, search]);
  const set = useCallback<SetState<S>>(
    (changes, { isStep = false } = {}) => {
      if (own !== (location.pathname.replace(/\/+$/, '') || '/')) return;
      // Two changes in one turn build on each other, so the address of the moment counts, not that of the last paint.
      const next = writeState(shape, location.search, changes);
      if (next !== location.search) route(location.pathname + next, !isStep);
    },
    [shape, route, own],
  );
  return [state, set];
}
