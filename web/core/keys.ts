/** Keyboard shortcuts: single keys, `g d` in turn, and with Ctrl. None while a person writes into a field. */
import { useEffect } from 'preact/hooks';
import { preferences } from './preferences.ts';

export interface Shortcut {
  /** `?`, `g d`, `Ctrl K`, `Escape`. */
  readonly keys: string;
  readonly text: () => string;
  readonly run: (event: KeyboardEvent) => void;
}

/** The second key has to follow within this time. */
const CHORD_MS = 1_500;

/** What the page has, the latest last; the latest with the same keys counts. */
const active: Shortcut[] = [];

export const activeShortcuts = (): readonly Shortcut[] =>
  active.filter((one, index) => active.findLastIndex(({ keys }) => keys === one.keys) === index);

const FIELD = 'input:not([type=checkbox], [type=radio], [type=button]), textarea, select, [contenteditable]';

/** The name of the key as shortcuts spell it. */
export function keyName({
  key,
  ctrlKey,
  metaKey,
  altKey,
}: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>): string {
  if (altKey) return '';
  if (ctrlKey || metaKey) return `Ctrl ${key.toUpperCase()}`;
  return key;
}

/** Finds shortcuts, those of two keys too. */
export class KeyReader {
  #first = '';
  #firstMs = 0;

  /** @returns the shortcut that the key completes. */
  read(name: string, nowMs: number, shortcuts: readonly Shortcut[]): Shortcut | undefined {
    const chord = nowMs - this.#firstMs < CHORD_MS && this.#first !== '' ? `${this.#first} ${name}` : '';
    this.#first = '';
    const find = (keys: string): Shortcut | undefined => shortcuts.findLast((one) => one.keys === keys);
    const found = (chord === '' ? undefined : find(chord)) ?? find(name);
    if (found === undefined && shortcuts.some(({ keys }) => keys.startsWith(`${name} `) && name.length === 1)) {
      this.#first = name;
      this.#firstMs = nowMs;
    }
    return found;
  }
}

/** Listens to the page's keys; called once. */
export function startKeys(): void {
  const reader = new KeyReader();
  addEventListener('keydown', (event) => {
    const name = keyName(event);
    const isPlain = !name.startsWith('Ctrl ') && name !== 'Escape';
    const isWriting = event.target instanceof Element && event.target.closest(FIELD) !== null;
    if (event.defaultPrevented || name === '' || (isPlain && (isWriting || !preferences.peek().hasKeys))) return;
    // A dialog has the keyboard for itself.
    if (!name.startsWith('Ctrl ') && document.querySelector('dialog:modal') !== null) return;
    const found = reader.read(name, event.timeStamp, active);
    if (found === undefined) return;
    event.preventDefault();
    found.run(event);
  });
}

/** Shortcuts while the component is on the page. @param shortcuts may change with each paint. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  useEffect(() => {
    active.push(...shortcuts);
    return () => {
      for (const one of shortcuts) active.splice(active.indexOf(one), 1);
    };
  }, [shortcuts]);
}
