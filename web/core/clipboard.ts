/** Copying and random secrets, also under plain HTTP, where browsers offer neither clipboard nor subtle crypto. */

/** @returns whether the browser took the text. */
export async function copyText(text: string): Promise<boolean> {
  if (isSecureContext && navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not allowed for this page: the old way may be.
    }
  }
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  // Inside of an open dialog, which has the focus for itself.
  const parent = document.querySelector('dialog:modal') ?? document.body;
  const focused = document.activeElement;
  parent.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';

/** Random letters and digits that no one mistakes for each other, each with 5.8 bits; safe in a shell and a URL. */
export function randomText(length: number): string {
  const made: string[] = [];
  while (made.length < length) {
    // Bytes beyond a multiple of the alphabet would make its first letters more likely.
    for (const byte of crypto.getRandomValues(new Uint8Array(length)))
      if (byte < 256 - (256 % LETTERS.length) && made.length < length) made.push(LETTERS[byte % LETTERS.length]);
  }
  return made.join('');
}

/** Hands the bytes to the person as a file. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Hands CSV to the person as a file. The mark in front tells spreadsheet programs that it is UTF-8. */
export const saveCsv = (name: string, parts: readonly string[]): void =>
  saveFile(name, new Blob(['\ufeff', ...parts], { type: 'text/csv' }));
