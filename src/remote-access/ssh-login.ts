/** What an SSH session asks its user and keeps of its host: lines that are typed, sizes of the screen, host keys. */
import { createHash } from 'node:crypto';

const LINE_LENGTH_MAX = 1_024;
const SIDE_MAX = 1_000;
const CANCEL = new Set(['\x03', '\x04']);
/** Arrows and other keys, and the brackets around what is pasted. */
const NO_LETTERS = /\u001b(?:\[[\d;]*[A-Z~]|O[A-Z]|.?)/g;
const DELETE = new Set(['\b', '\x7f']);

export interface ScreenSize {
  readonly cols: number;
  readonly rows: number;
}

/** @param text JSON of the page. @returns undefined for what is not the size of a screen. */
export function sizeOf(text: string): ScreenSize | undefined {
  let value: Partial<ScreenSize> | null;
  try {
    value = JSON.parse(text) as Partial<ScreenSize> | null;
  } catch {
    return undefined; // Not JSON.
  }
  const { cols, rows } = value ?? {};
  return isSide(cols) && isSide(rows) ? { cols, rows } : undefined;
}

const isSide = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= SIDE_MAX;

/** One line from the keyboard of a terminal. */
export class TypedLine {
  #text: string[] = [];
  readonly #isShown: boolean;
  readonly #show: (text: string) => void;
  readonly #done: (line: string | undefined) => void;

  /** @param done gets the line, or undefined when the user cancels. */
  constructor(isShown: boolean, show: (text: string) => void, done: (line: string | undefined) => void) {
    this.#isShown = isShown;
    this.#show = show;
    this.#done = done;
  }

  /** Further keys of the same message as the end of the line are dropped. */
  type(keys: string): void {
    for (const key of keys.replace(NO_LETTERS, '')) {
      if (key === '\r' || key === '\n' || CANCEL.has(key)) {
        this.#show('\r\n');
        this.#done(CANCEL.has(key) ? undefined : this.#text.join(''));
        return;
      }
      if (DELETE.has(key)) {
        if (this.#text.pop() !== undefined && this.#isShown) this.#show('\b \b');
      } else if (key >= ' ' && this.#text.length < LINE_LENGTH_MAX) {
        this.#text.push(key);
        if (this.#isShown) this.#show(key);
      }
    }
  }
}

/** @returns as `ssh-keygen -l` shows it: without the `=` that base64 of 32 bytes ends with. */
export const fingerprintOf = (key: Uint8Array): string =>
  `SHA256:${createHash('sha256').update(key).digest('base64').slice(0, -1)}`;

/** @param kept a fingerprint, or a public key as in `known_hosts`. @returns its fingerprint; others as they are. */
export function keptFingerprint(kept: string): string {
  const key = kept.split(/\s+/).find((word) => word.startsWith('AAAA'));
  return key === undefined ? kept.trim() : fingerprintOf(Buffer.from(key, 'base64'));
}
