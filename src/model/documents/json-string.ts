/** Strings within JSON texts. */

/** Index behind the closing quote of the string that starts at `at`. */
export function stringEnd(text: string, at: number): number {
  let end = at + 1;
  for (;;) {
    end = text.indexOf('"', end);
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes += 1;
    end += 1;
    if (backslashes % 2 === 0) return end;
  }
}
