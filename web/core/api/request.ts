/** What a screen asks the server for: loads when the inputs change, gives up when the screen is left. */
import { untracked } from '@preact/signals';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError, isAborted } from './error.ts';

export interface Loaded<T> {
  /** The last answer, also while the next one is awaited, and when that is an error for the same inputs. */
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** The data is still that of other inputs. */
  readonly isOld: boolean;
  /** Asks again with the same inputs; while a request is under way, once more behind it. */
  readonly reload: () => void;
  /**
   * Changes what is shown, for what came live or was changed here. An answer under way may be older: it is changed in the
   * same way, so a change that the answer has already must be none.
   */
  readonly patch: (change: (data: T) => T) => void;
}

/** Changes that are kept for an answer under way; beyond it is asked for again. */
const PATCHES_MAX = 1_000;
/** A request that takes longer may never end: it is given up when the screen asks again. */
const UNDER_WAY_MS = 30_000;

export const asApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : new ApiError({ status: 0, error: 'console', message: String(error), method: '', url: location.href });

interface State<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
}

interface UnderWay<T> {
  readonly control: AbortController;
  readonly answer: Promise<T>;
}

function begin<T>(load: (signal: AbortSignal) => Promise<T>): UnderWay<T> {
  const control = new AbortController();
  const answer = untracked(() => load(control.signal));
  // A screen that is gone before it was shown asks for no answer; all others see how it ends.
  answer.catch(() => undefined);
  return { control, answer };
}

/** The state before where it says the same: its component need not render again. */
const unlessSame = <T>(before: State<T>, next: State<T>): State<T> =>
  before.data === next.data && before.error === next.error && before.isLoading === next.isLoading ? before : next;

/**
 * @param load asks the server; it gets the signal that ends it. `undefined` in its place asks for nothing.
 * @param inputs what the answer depends on: another value asks again.
 */
export function useLoaded<T>(
  load: ((signal: AbortSignal) => Promise<T>) | undefined,
  inputs: readonly unknown[],
): Loaded<T> {
  const [state, setState] = useState<State<T>>({ data: undefined, error: undefined, isLoading: load !== undefined });
  const [round, setRound] = useState(0);
  // While the screen renders for the first time the server works already.
  const [ahead] = useState(() => ({ current: load === undefined ? undefined : begin(load) }));
  const latest = useRef(load);
  latest.current = load;
  const isOf = (known: readonly unknown[] | undefined): boolean =>
    known?.every((value, index) => Object.is(value, inputs[index])) ?? false;
  const patches = useRef<((data: T) => T)[]>([]);
  const own = useRef<{ beganMs: number; isAgain: boolean; inputs: readonly unknown[] | undefined }>({
    beganMs: 0,
    isAgain: false,
    inputs: undefined,
  });
  // Before the paint: an effect behind it would begin the request some frames later.
  useLayoutEffect(() => {
    const known = own.current;
    known.beganMs = 0;
    known.isAgain = false;
    if (latest.current === undefined) {
      setState((before) => unlessSame(before, { data: undefined, error: undefined, isLoading: false }));
      return undefined;
    }
    const { control, answer: awaited } = ahead.current ?? begin(latest.current);
    ahead.current = undefined;
    known.beganMs = Date.now();
    // What is shown stays while it is asked for again, with the error above it.
    const isSame = isOf(known.inputs);
    setState((before) => {
      const { data, error } = before;
      return unlessSame(before, { data, error: isSame && data !== undefined ? error : undefined, isLoading: true });
    });
    const end = (): boolean => {
      if (control.signal.aborted) return false;
      known.beganMs = 0;
      if (known.isAgain || patches.current.length > PATCHES_MAX) setRound((before) => before + 1);
      return true;
    };
    awaited.then(
      (answer) => {
        if (!end()) return;
        known.inputs = inputs;
        const data = patches.current.splice(0).reduce((before, change) => change(before), answer);
        setState({ data, error: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (!end() || isAborted(error)) return;
        setState(({ data }) => ({ data: isSame ? data : undefined, error: asApiError(error), isLoading: false }));
      },
    );
    return () => {
      control.abort();
      patches.current = [];
    };
  }, [...inputs, round, load === undefined]);
  const reload = useCallback(() => {
    if (Date.now() - own.current.beganMs < UNDER_WAY_MS) own.current.isAgain = true;
    else setRound((before) => before + 1);
  }, []);
  const patch = useCallback((change: (data: T) => T) => {
    if (own.current.beganMs > 0 && patches.current.length <= PATCHES_MAX) patches.current.push(change);
    setState((before) => {
      const data = before.data === undefined ? undefined : change(before.data);
      return data === before.data ? before : { ...before, data };
    });
  }, []);
  return { ...state, isOld: state.data !== undefined && !isOf(own.current.inputs), reload, patch };
}

/**
 * Whether the page has shown what is there: what comes second is asked for behind that paint and behind what the person
 * has pressed meanwhile.
 */
export function useShown(isThere: boolean): boolean {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    if (!isThere) return undefined;
    const timer = setTimeout(() => setShown(true));
    return () => clearTimeout(timer);
  }, [isThere]);
  return isShown && isThere;
}

export interface Action<Given extends readonly unknown[]> {
  /** Resolves to whether it worked; `error` says why not. */
  readonly run: (...given: Given) => Promise<boolean>;
  readonly isRunning: boolean;
  readonly error: ApiError | undefined;
}

/** A change that a person asked for; a second click while it runs does nothing. */
export function useAction<Given extends readonly unknown[]>(work: (...given: Given) => Promise<void>): Action<Given> {
  const [state, setState] = useState<{ isRunning: boolean; error: ApiError | undefined }>({
    isRunning: false,
    error: undefined,
  });
  const running = useRef(false);
  const latest = useRef(work);
  latest.current = work;
  const run = useCallback(async (...given: Given): Promise<boolean> => {
    if (running.current) return false;
    running.current = true;
    setState({ isRunning: true, error: undefined });
    try {
      await latest.current(...given);
      setState({ isRunning: false, error: undefined });
      return true;
    } catch (error) {
      setState({ isRunning: false, error: asApiError(error) });
      return false;
    } finally {
      running.current = false;
    }
  }, []);
  return { run, ...state };
}
