/** Cells of a terminal: letters with their width, and how they are drawn. */

/** Of ink and ground: none of the program's, 0 to 255 of the palette, or `TRUE_COLOUR` and 24 bits. */
export const NO_COLOUR = -1;
export const TRUE_COLOUR = 0x1000000;
export const BOLD = 1;
export const DIM = 2;
export const ITALIC = 4;
export const UNDERLINE = 8;
export const INVERSE = 16;
export const HIDDEN = 32;
export const STRUCK = 64;
/** By the number that sets one; 20 more takes it away. */
const FLAGS = [0, BOLD, DIM, ITALIC, UNDERLINE, 0, 0, INVERSE, HIDDEN, STRUCK];

/** How cells are drawn. */
export interface Pen {
  readonly ink: number;
  readonly ground: number;
  readonly flags: number;
}
export const PLAIN: Pen = { ink: NO_COLOUR, ground: NO_COLOUR, flags: 0 };

/** A line of cells: the second cell of a wide letter is empty. */
export interface Row {
  readonly cells: string[];
  readonly pens: Pen[];
  /** Since it was drawn. */
  isChanged: boolean;
}

const MARK = /[\p{M}\u200b-\u200f\u2060\ufeff]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Cells that a letter takes. */
export function widthOf(letter: string): number {
  if (letter < '\u0300') return 1;
  return MARK.test(letter) ? 0 : WIDE.test(letter) ? 2 : 1;
}

export const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(value, most));

export function rowOf(columns: number, pen = PLAIN): Row {
  return { cells: new Array<string>(columns).fill(' '), pens: new Array<Pen>(columns).fill(pen), isChanged: true };
}

/** Cells from `from` to before `to` become `letter`; no half of a wide letter stays behind. */
export function fill({ cells, pens }: Row, from: number, to: number, pen: Pen, letter = ' '): void {
  if (cells[from] === '' && from > 0) cells[from - 1] = ' ';
  if (cells[to] === '') cells[to] = ' ';
  cells.fill(letter, from, to);
  pens.fill(pen, from, to);
}

/** @param parts - of `ESC [ … m`. */
export function penAfter(pen: Pen, parts: readonly string[]): Pen {
  let { ink, ground, flags } = pen;
  for (let at = 0; at < parts.length; at++) {
    const own = parts[at].split(':').map(Number);
    const [code] = own;
    if (code === 38 || code === 48 || code === 58) {
      // `38:2::R:G:B` has its parts in itself, and a place for the space of colours; `38;2;R;G;B` takes those behind it.
      const from = own.length > 1 ? own.slice(1) : parts.slice(at + 1, at + 5).map(Number);
      const isPalette = from[0] === 5;
      const channels = (own.length > 5 ? from.slice(2) : from.slice(1)).map((value) => clamp(value || 0, 0, 255));
      const [red = 0, green = 0, blue = 0] = channels;
      const colour = isPalette ? red : TRUE_COLOUR + red * 0x10000 + green * 0x100 + blue;
      if (code === 38) ink = colour;
      else if (code === 48) ground = colour;
      if (own.length === 1) at += isPalette ? 2 : 4;
    } else if (code === 0) ({ ink, ground, flags } = PLAIN);
    else if (code === 21 || (code === 4 && own[1] !== 0)) flags |= UNDERLINE;
    else if (code === 4) flags &= ~UNDERLINE;
    else if (code < FLAGS.length) flags |= FLAGS[code];
    else if (code === 22) flags &= ~(BOLD | DIM);
    else if (code > 22 && code < 30) flags &= ~FLAGS[code - 20];
    else if (code >= 30 && code <= 37) ink = code - 30;
    else if (code >= 40 && code <= 47) ground = code - 40;
    else if (code >= 90 && code <= 97) ink = code - 82;
    else if (code >= 100 && code <= 107) ground = code - 92;
    else if (code === 39) ink = NO_COLOUR;
    else if (code === 49) ground = NO_COLOUR;
  }
  return ink === NO_COLOUR && ground === NO_COLOUR && flags === 0 ? PLAIN : { ink, ground, flags };
}
