/** Lines for a port that echoes nothing: they are shown and mended here, and sent when they end. */
import { widthOf } from './cells.ts';

/** What a line ends with. */
export const LINE_ENDS = { crlf: '\r\n', lf: '\n', cr: '\r' } as const;
export type LineEnd = keyof typeof LINE_ENDS;
const LENGTH_MAX = 10_000;
/** Sequences of keys: arrows and the like have no meaning in a line. */
const KEYS = /\u001b(?:\[[\d;]*[A-Z~]|O[A-Z]|.?)/g;

export class LineEditor {
  #line = '';
  #isOn = false;

  /** Lines, or keys. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** What was begun before a change is never sent: it would become part of another line. */
  set isOn(isOn: boolean) {
    if (isOn !== this.#isOn) this.#line = '';
    this.#isOn = isOn;
  }

  /** @param text - as it is typed or pasted: `\r` ends a line. */
  write(text: string, end: string): { readonly sent: string; readonly shown: string } {
    let [sent, shown] = ['', ''];
    for (const letter of text.replace(KEYS, '')) {
      if (letter === '\r') {
        sent += this.#line + end;
        shown += '\r\n';
        this.#line = '';
      } else if (letter === '\u007f' || letter === '\b') {
        const last = [...this.#line].at(-1) ?? '';
        this.#line = this.#line.slice(0, this.#line.length - last.length);
        if (last !== '') shown += '\b \b'.repeat(widthOf(last));
      } else if (letter >= ' ' || letter === '\t') {
        if (this.#line.length >= LENGTH_MAX) continue;
        this.#line += letter;
        shown += letter === '\t' ? ' ' : letter;
      } else {
        // Ctrl C and its like are for now, not for the end of the line.
        sent += letter;
        if (letter === '\u0003' || letter === '\u0015') {
          shown += '\r\n';
          this.#line = '';
        }
      }
    }
    return { sent, shown };
  }
}
