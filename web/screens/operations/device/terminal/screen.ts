/**
 * The screen of a terminal, as programs for `xterm-256color` draw it: rows of cells, and the lines that went off its
 * top. What a device writes is not trusted: everything has a bound, titles, clipboard and links are left out, and the
 * only answers are fixed words and the position of the cursor.
 */

import { NO_COLOUR, PLAIN, clamp, fill, penAfter, rowOf, widthOf } from './cells.ts';
import type { Pen, Row } from './cells.ts';

/** Lines above the screen that are kept; the oldest go. */
export const LINES_MAX = 2_000;
const COLUMNS_MAX = 500;
const ROWS_MAX = 200;
/** Characters of a control sequence; a longer one is left out. */
const SEQUENCE_LENGTH_MAX = 200;
/** Characters of a title and the like, which are left out; then text begins again. */
const STRING_LENGTH_MAX = 100_000;
/** Characters that are answered to one part; the rest is not answered. */
const ANSWER_LENGTH_MAX = 200;
/** Characters that wait to be read out. */
const SPOKEN_LENGTH_MAX = 1_000;
/** UTF-16 units of a cell: a letter with its marks. */
const CELL_LENGTH_MAX = 16;
const TAB_WIDTH = 8;

/** What the letters from ` to ~ are in the set of lines and corners. */
const LINES = '◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·';
const LINES_FIRST = 0x60;
const PRINTED = /[^\u0000-\u001f\u007f-\u009f]+/y;
const PARAMETERS = /^([<=>?]?)([\d:;]*)([ -/]*)$/;

/** What a program saves of the cursor, and brings back. */
interface Cursor {
  readonly x: number;
  readonly y: number;
  readonly pen: Pen;
  readonly sets: readonly string[];
  readonly set: number;
}

export class Screen {
  columns = 80;
  rows: Row[] = [];
  /** Lines that went off the top. */
  readonly kept: Row[] = [];
  isCursorShown = true;
  /** Arrows are sent as the program has asked for. */
  hasApplicationKeys = false;
  /** Pasted text is sent in brackets. */
  hasPasteBrackets = false;
  /** A line feed is the end of a line, as devices without a terminal write it. */
  isFeedLine = false;
  #x = 0;
  #y = 0;
  #top = 0;
  #bottom = 0;
  #pen = PLAIN;
  #sets: string[] = ['B', 'B'];
  #set = 0;
  #isWrapping = true;
  #isInserting = false;
  #last = '';
  /** The rows of the shell while a program has the other screen. */
  #main: Row[] | undefined;
  /** Of both screens. */
  readonly #saved: (Cursor | undefined)[] = [];
  #state: 'text' | 'escape' | 'control' | 'string' = 'text';
  #sequence = '';
  #stringLength = 0;
  #answer = '';
  #spoken = '';

  constructor(columns = 80, rows = 24) {
    this.#reset();
    this.resize(columns, rows);
  }

  get isAlternate(): boolean {
    return this.#main !== undefined;
  }

  get cursor(): { readonly x: number; readonly y: number } {
    return { x: Math.min(this.#x, this.columns - 1), y: this.#y };
  }

  /** The text of the screen, without the lines above it. */
  get text(): string {
    return this.rows.map(({ cells }) => cells.join('').trimEnd()).join('\n');
  }

  /** What the program has to be told, once. */
  takeAnswer(): string {
    const answer = this.#answer;
    this.#answer = '';
    return answer;
  }

  /** Text that came since, for those who do not see the screen. */
  takeSpoken(): string {
    const spoken = this.#spoken.slice(-SPOKEN_LENGTH_MAX);
    this.#spoken = '';
    return spoken;
  }

  resize(columns: number, rows: number): void {
    this.columns = clamp(columns, 2, COLUMNS_MAX);
    const count = clamp(rows, 1, ROWS_MAX);
    for (const all of this.#main === undefined ? [this.rows] : [this.rows, this.#main]) {
      // Lines above the cursor go where lines go that are scrolled off, empty ones below it just go.
      while (all.length > count && all.length - 1 > this.#y) all.pop();
      const gone = all.splice(0, Math.max(all.length - count, 0));
      if (all !== this.rows || !this.isAlternate) this.#keep(gone);
      if (all === this.rows) this.#y = clamp(this.#y - gone.length, 0, count - 1);
      while (all.length < count) all.push(rowOf(this.columns));
      for (const row of all) {
        const { length } = row.cells;
        fill(row, Math.min(this.columns, length), length, PLAIN);
        row.cells.length = row.pens.length = this.columns;
        fill(row, Math.min(this.columns, length), this.columns, PLAIN);
        row.isChanged = true;
      }
    }
    this.#x = Math.min(this.#x, this.columns - 1);
    [this.#top, this.#bottom] = [0, count - 1];
  }

  write(text: string): void {
    for (let at = 0; at < text.length; ) {
      PRINTED.lastIndex = at;
      const printed = this.#state === 'text' ? PRINTED.exec(text)?.[0] : undefined;
      if (printed === undefined) this.#take(text[at++]);
      else {
        this.#print(printed);
        at += printed.length;
      }
    }
  }

  #take(letter: string): void {
    if (letter === '\u001b') {
      this.#state = 'escape';
      this.#sequence = '';
    } else if (letter === '\u0018' || letter === '\u001a') this.#state = 'text';
    else if (this.#state === 'string') {
      this.#stringLength += 1;
      if (letter === '\u0007' || this.#stringLength > STRING_LENGTH_MAX) this.#state = 'text';
    } else if (letter < ' ') this.#control(letter);
    else if (this.#state === 'text' || letter >= '\u007f') return;
    else if (this.#state === 'escape' && letter === '[') this.#state = 'control';
    else if (this.#state === 'escape' && ']PX^_'.includes(letter) && this.#sequence === '') {
      this.#state = 'string';
      this.#stringLength = 0;
    } else if (letter < '0' || (this.#state === 'control' && letter < '@')) {
      if (this.#sequence.length <= SEQUENCE_LENGTH_MAX) this.#sequence += letter;
    } else {
      const isControl = this.#state === 'control';
      this.#state = 'text';
      if (this.#sequence.length > SEQUENCE_LENGTH_MAX) return;
      if (isControl) this.#run(letter);
      else this.#escape(this.#sequence + letter);
    }
  }

  #print(text: string): void {
    this.#speak(text);
    for (const letter of text) {
      const isLine = this.#sets[this.#set] === '0' && letter >= '`' && letter <= '~';
      this.#put(isLine ? LINES[letter.charCodeAt(0) - LINES_FIRST] : letter);
    }
  }

  #put(letter: string): void {
    const width = widthOf(letter);
    if (width === 0) {
      const { cells } = this.#row;
      const at = cells[this.#x - 1] === '' ? this.#x - 2 : this.#x - 1;
      if (at >= 0 && cells[at].length < CELL_LENGTH_MAX) cells[at] += letter;
      return;
    }
    if (this.#x + width > this.columns) {
      if (this.#isWrapping) {
        this.#x = 0;
        this.#feed();
      } else this.#x = this.columns - width;
    }
    if (this.#isInserting) this.#insert(width);
    const row = this.#row;
    fill(row, this.#x, this.#x + width, this.#pen, '');
    row.cells[this.#x] = letter;
    this.#x += width;
    this.#last = letter;
  }

  /** The row of the cursor, which is drawn anew. */
  get #row(): Row {
    const row = this.rows[this.#y];
    row.isChanged = true;
    return row;
  }

  /** What cells get that are erased. */
  get #blank(): Pen {
    return this.#pen.ground === NO_COLOUR ? PLAIN : { ...PLAIN, ground: this.#pen.ground };
  }

  #speak(text: string): void {
    if (this.isAlternate) return;
    this.#spoken += text;
    // Not each time: that would cost a flood more than its drawing.
    if (this.#spoken.length > SPOKEN_LENGTH_MAX * 2) this.#spoken = this.#spoken.slice(-SPOKEN_LENGTH_MAX);
  }

  #control(letter: string): void {
    if (letter === '\r') this.#x = 0;
    else if (letter === '\b') this.#goTo(this.cursor.x - 1, this.#y);
    else if (letter === '\t') this.#goTo((Math.floor(this.cursor.x / TAB_WIDTH) + 1) * TAB_WIDTH, this.#y);
    else if (letter === '\u000e' || letter === '\u000f') this.#set = letter === '\u000e' ? 1 : 0;
    else if (letter >= '\n' && letter <= '\f') {
      if (this.isFeedLine) this.#x = 0;
      this.#feed();
      this.#speak('\n');
    }
  }

  #goTo(x: number, y: number): void {
    this.#x = clamp(x, 0, this.columns - 1);
    this.#y = clamp(y, 0, this.rows.length - 1);
  }

  /** Up or down, not out of the region that scrolls. */
  #move(count: number): void {
    const least = this.#y >= this.#top ? this.#top : 0;
    const most = this.#y <= this.#bottom ? this.#bottom : this.rows.length - 1;
    this.#goTo(this.#x, clamp(this.#y + count, least, most));
  }

  #keep(rows: readonly Row[]): void {
    this.kept.push(...rows);
    while (this.kept.length > LINES_MAX) this.kept.shift();
  }

  #feed(): void {
    if (this.#y === this.#bottom) this.#scroll(1, this.#top);
    else if (this.#y < this.rows.length - 1) this.#y += 1;
  }

  /** Rows from `top` to the end of the region go up, or down when `count` is less than 0. */
  #scroll(count: number, top: number): void {
    const size = this.#bottom - top + 1;
    const lines = Math.min(Math.abs(count), size);
    const gone = this.rows.splice(count > 0 ? top : this.#bottom + 1 - lines, lines);
    const fresh = gone.map(() => rowOf(this.columns, this.#blank));
    this.rows.splice(count > 0 ? top + size - lines : top, 0, ...fresh);
    if (count > 0 && top === 0 && !this.isAlternate) this.#keep(gone);
  }

  /** Cells are put in at the cursor, or taken out when `count` is less than 0. */
  #insert(count: number): void {
    const row = this.#row;
    const { x } = this.cursor;
    const size = Math.min(Math.abs(count), this.columns - x);
    fill(row, x, x, this.#pen);
    for (const [list, blank] of [
      [row.cells, ' '],
      [row.pens, this.#blank],
    ] as [unknown[], unknown][]) {
      list.splice(count > 0 ? this.columns - size : x, size);
      list.splice(count > 0 ? x : this.columns - size, 0, ...new Array(size).fill(blank));
    }
    // Half of a wide letter may have been pushed out, or laid bare.
    if (count < 0 && row.cells[x] === '') row.cells[x] = ' ';
    if (count > 0 && widthOf(row.cells[this.columns - 1]) === 2) row.cells[this.columns - 1] = ' ';
  }

  /** 0: from the cursor on, 1: up to it, 2: all. */
  #eraseLine(part: number): void {
    const { x } = this.cursor;
    fill(this.#row, part === 0 ? x : 0, part === 1 ? x + 1 : this.columns, this.#blank);
  }

  #erase(part: number): void {
    if (part === 3) {
      this.kept.length = 0;
      return;
    }
    if (part !== 2) this.#eraseLine(part);
    const blank = this.#blank;
    this.rows.forEach((row, y) => {
      if (part === 0 ? y <= this.#y : part === 1 && y >= this.#y) return;
      fill(row, 0, this.columns, blank);
      row.isChanged = true;
    });
  }

  #save(): void {
    this.#saved[this.isAlternate ? 1 : 0] = {
      x: this.#x,
      y: this.#y,
      pen: this.#pen,
      sets: [...this.#sets],
      set: this.#set,
    };
  }

  #restore(): void {
    const saved = this.#saved[this.isAlternate ? 1 : 0];
    this.#goTo(saved?.x ?? 0, saved?.y ?? 0);
    this.#pen = saved?.pen ?? PLAIN;
    this.#sets = [...(saved?.sets ?? ['B', 'B'])];
    this.#set = saved?.set ?? 0;
  }

  #showAlternate(isOn: boolean): void {
    if (isOn === this.isAlternate) return;
    const main = this.#main;
    this.#main = isOn ? this.rows : undefined;
    this.rows = main ?? this.rows.map(() => rowOf(this.columns));
    for (const row of this.rows) row.isChanged = true;
  }

  #reset(): void {
    this.#showAlternate(false);
    this.#pen = PLAIN;
    this.#erase(2);
    this.#goTo(0, 0);
    this.isCursorShown = this.#isWrapping = true;
    this.hasApplicationKeys = this.hasPasteBrackets = this.#isInserting = false;
    this.#sets = ['B', 'B'];
    this.#set = 0;
    this.#saved.length = 0;
    [this.#top, this.#bottom] = [0, this.rows.length - 1];
  }

  #escape(name: string): void {
    if (name === '7') this.#save();
    else if (name === '8') this.#restore();
    else if (name === 'D' || name === 'E') {
      if (name === 'E') this.#x = 0;
      this.#feed();
    } else if (name === 'M') {
      if (this.#y === this.#top) this.#scroll(-1, this.#top);
      else this.#move(-1);
    } else if (name === 'c') this.#reset();
    else if (name[0] === '(' || name[0] === ')') this.#sets[name[0] === '(' ? 0 : 1] = name[1];
  }

  #run(final: string): void {
    const [, mark, text, between] = PARAMETERS.exec(this.#sequence) ?? [];
    if (text === undefined) return;
    const parts = text.split(';');
    const number = (at: number): number => Math.min(Number.parseInt(parts[at] ?? '', 10) || 0, 9_999);
    const count = Math.max(number(0), 1);
    const { x } = this.cursor;
    const isInRegion = this.#y >= this.#top && this.#y <= this.#bottom;
    switch (mark + between + final) {
      case 'A':
        return this.#move(-count);
      case 'B':
        return this.#move(count);
      case 'C':
        return this.#goTo(x + count, this.#y);
      case 'D':
        return this.#goTo(x - count, this.#y);
      case 'G':
        return this.#goTo(count - 1, this.#y);
      case 'H':
      case 'f':
        return this.#goTo(number(1) - 1, count - 1);
      case 'd':
        return this.#goTo(x, count - 1);
      case 'J':
        return this.#erase(number(0));
      case 'K':
        return this.#eraseLine(number(0));
      case 'L':
      case 'M':
        if (isInRegion) this.#scroll(final === 'L' ? -count : count, this.#y);
        this.#x = 0;
        return;
      case 'P':
        return this.#insert(-count);
      case '@':
        return this.#insert(count);
      case 'X':
        return fill(this.#row, x, Math.min(x + count, this.columns), this.#blank);
      case 'S':
        return this.#scroll(count, this.#top);
      case 'T':
        return this.#scroll(-count, this.#top);
      case 'b':
        if (this.#last !== '') for (let left = Math.min(count, COLUMNS_MAX); left > 0; left--) this.#put(this.#last);
        return;
      case 'c':
        return this.#reply('\u001b[?62;22c');
      case '>c':
        return this.#reply('\u001b[>0;10;0c');
      case 'n':
        if (number(0) === 5) this.#reply('\u001b[0n');
        else if (number(0) === 6) this.#reply(`\u001b[${this.#y + 1};${x + 1}R`);
        return;
      case 'h':
      case 'l':
        if (number(0) === 4) this.#isInserting = final === 'h';
        return;
      case '?h':
      case '?l':
        for (const at of parts.keys()) this.#setMode(number(at), final === 'h');
        return;
      case 'm':
        this.#pen = penAfter(this.#pen, parts);
        return;
      case 'r': {
        const bottom = Math.min(number(1) || Infinity, this.rows.length) - 1;
        if (count - 1 >= bottom) return;
        [this.#top, this.#bottom] = [count - 1, bottom];
        return this.#goTo(0, 0);
      }
      case 's':
        return this.#save();
      case 'u':
        return this.#restore();
    }
  }

  #reply(text: string): void {
    if (this.#answer.length < ANSWER_LENGTH_MAX) this.#answer += text;
  }

  #setMode(mode: number, isOn: boolean): void {
    if (mode === 1) this.hasApplicationKeys = isOn;
    else if (mode === 7) this.#isWrapping = isOn;
    else if (mode === 25) this.isCursorShown = isOn;
    else if (mode === 2004) this.hasPasteBrackets = isOn;
    else if ((mode === 1049 || mode === 1047 || mode === 47) && isOn !== this.isAlternate) {
      if (isOn) this.#save();
      this.#showAlternate(isOn);
      if (!isOn) this.#restore();
    }
  }
}
