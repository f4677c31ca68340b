/** What marks a prediction, so that bindings do not score their own results for ever (docs/spec/scoring.md#bindings). */
import { MARK } from '../../scoring-workers/measurements/plan.ts';

/** Predictions of predictions of … a measurement of a device. */
export const DEPTH_MAX = 3;

const NAME = Buffer.from(`"${MARK}"`);
const [QUOTE, BACKSLASH, COLON] = Buffer.from('"\\:');
const OPENING: ReadonlySet<number | undefined> = new Set(Buffer.from('{['));
const CLOSING: ReadonlySet<number | undefined> = new Set(Buffer.from('}]'));
const BLANK: ReadonlySet<number | undefined> = new Set(Buffer.from(' \t\n\r'));
/** Behind the name, in all marks that the server writes. */
const DEPTH = Buffer.from(':{"depth":');
const ZERO = 0x30;

export interface Mark {
  /** 1: of a measurement of a device. */
  readonly depth: number;
  readonly model: string;
  /** Of the content of the model: another one with each upload. */
  readonly version: string;
  readonly bindingId: string;
}

/** As JSON, the depth first. */
export const markText = ({ depth, model, version, bindingId }: Mark): string =>
  JSON.stringify({ depth, model, version, bindingId });

/**
 * @param bytes of the document of a measurement, `[start, end)` @returns 0 for one that is not marked, DEPTH_MAX where
 * the mark is not one that the server has written
 */
export function depthOf(bytes: Buffer, start: number, end: number): number {
  if (start === end) return 0;
  const document = bytes.subarray(start, end);
  const at = markAt(document);
  if (at < 0) return 0;
  const depthAt = at + NAME.length;
  const digitAt = depthAt + DEPTH.length;
  if (digitAt >= document.length || document.compare(DEPTH, 0, DEPTH.length, depthAt, digitAt) !== 0) return DEPTH_MAX;
  const depth = (document[digitAt] as number) - ZERO;
  return depth >= 1 && depth < DEPTH_MAX ? depth : DEPTH_MAX;
}

/**
 * @param document JSON text of an object @returns where its member begins that is the mark; -1: it has none. The name may
 * stand in it as a value, or as a member of a member.
 */
function markAt(document: Buffer): number {
  let next = 0;
  let level = 0;
  let isText = false;
  for (let at = document.indexOf(NAME); at >= 0; at = document.indexOf(NAME, at + NAME.length)) {
    for (; next < at; next += 1) {
      const byte = document[next];
      if (isText && byte === BACKSLASH) next += 1;
      else if (byte === QUOTE) isText = !isText;
      else if (isText) continue;
      else if (OPENING.has(byte)) level += 1;
      else if (CLOSING.has(byte)) level -= 1;
    }
    // What is escaped was passed over.
    if (next > at || isText || level !== 1) continue;
    let behind = at + NAME.length;
    while (BLANK.has(document[behind])) behind += 1;
    if (document[behind] === COLON) return at;
  }
  return -1;
}
