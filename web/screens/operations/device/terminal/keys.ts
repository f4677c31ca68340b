/** What a terminal sends for a key, as xterm does. */

/** The last letter of `ESC [ …`. */
const LETTERS: Readonly<Record<string, string>> = {
  ArrowUp: 'A',
  ArrowDown: 'B',
  ArrowRight: 'C',
  ArrowLeft: 'D',
  End: 'F',
  Home: 'H',
  F1: 'P',
  F2: 'Q',
  F3: 'R',
  F4: 'S',
};
/** The number of `ESC [ … ~`. */
const NUMBERS: Readonly<Record<string, number>> = {
  Insert: 2,
  Delete: 3,
  PageUp: 5,
  PageDown: 6,
  F5: 15,
  F6: 17,
  F7: 18,
  F8: 19,
  F9: 20,
  F10: 21,
  F11: 23,
  F12: 24,
};
const PLAIN: Readonly<Record<string, string>> = { Enter: '\r', Tab: '\t', Escape: '\u001b', Backspace: '\u007f' };

export interface Key {
  readonly key: string;
  readonly ctrlKey?: boolean;
  readonly altKey?: boolean;
  readonly shiftKey?: boolean;
  readonly metaKey?: boolean;
}

/** The control character of a letter; undefined when it has none. */
export function controlOf(letter: string): string | undefined {
  if (letter === ' ') return '\0';
  return /^[a-z@[\\\]^_]$/i.test(letter) ? String.fromCharCode(letter.toUpperCase().charCodeAt(0) & 0x1f) : undefined;
}

/** undefined: the key is the browser's, or what it writes comes as input. Ctrl, Shift and a letter stay the browser's. */
export function keyText({ key, ctrlKey, altKey, shiftKey, metaKey }: Key, isApplication: boolean): string | undefined {
  if (metaKey) return undefined;
  const modifiers = 1 + (shiftKey ? 1 : 0) + (altKey ? 2 : 0) + (ctrlKey ? 4 : 0);
  const letter = LETTERS[key];
  if (letter !== undefined)
    return modifiers > 1
      ? `\u001b[1;${modifiers}${letter}`
      : `\u001b${isApplication || key[0] === 'F' ? 'O' : '['}${letter}`;
  const number = NUMBERS[key];
  if (number !== undefined) return `\u001b[${number}${modifiers > 1 ? `;${modifiers}` : ''}~`;
  const escape = altKey ? '\u001b' : '';
  if (key === 'Tab' && shiftKey) return '\u001b[Z';
  if (key === 'Backspace' && ctrlKey) return `${escape}\b`;
  if (PLAIN[key] !== undefined) return escape + PLAIN[key];
  // Both together are the third level of some keyboards.
  if (ctrlKey && !altKey) return shiftKey && /[a-z]/i.test(key) ? undefined : controlOf(key);
  return altKey && !ctrlKey && /^[a-z0-9.,<>_-]$/i.test(key) ? escape + key : undefined;
}

/** Pasted text: lines end as with the key, and nothing in it is taken for a key or the end of the paste. */
export function pasteText(text: string, hasBrackets: boolean): string {
  const plain = text.replace(/\r?\n/g, '\r').replace(/[\u0000-\u0008\u000b-\u000c\u000e-\u001f\u007f-\u009f]/g, '');
  return hasBrackets ? `\u001b[200~${plain}\u001b[201~` : plain;
}
