/** A PMML document with what was found in it as comments (docs/spec/scoring.md#annotated). */
import type { Problem } from '../pmml/document/problems.ts';

const LESS = 0x3c;
const LINE_END = 0x0a;
const SLASH = 0x2f;
/** What begins so ends with the other text. */
const ENDS: readonly (readonly [begin: string, end: string])[] = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
];

/**
 * The document with a comment in front of each element that has a problem, and one in front of the first element that
 * names the processor. @param version of PMML that the processor reads.
 */
export function annotated(document: Buffer, problems: readonly Problem[], version: string): Buffer {
  const waiting = [...problems].sort((left, right) => left.line - right.line);
  const parts: Uint8Array[] = [];
  let [written, line, counted, lastEnd] = [0, 1, 0, -1];
  let next = 0;
  let isFirst = true;
  const insert = (at: number, comments: readonly string[]): void => {
    if (comments.length === 0) return;
    parts.push(document.subarray(written, at), Buffer.from(comments.map((text) => `<!-- ${text} -->\n`).join('')));
    written = at;
  };
  for (let at = document.indexOf(LESS); at !== -1; at = document.indexOf(LESS, at)) {
    line += lineEnds(document, counted, at);
    counted = at;
    if (document[at + 1] === SLASH) lastEnd = at;
    else if (isElement(document[at + 1])) {
      const first = next;
      while (next < waiting.length && (waiting[next] as Problem).line <= line) next += 1;
      const head = isFirst ? [`PMML processed by Millrace (Version : ${version})`] : [];
      isFirst = false;
      insert(at, [...head, ...waiting.slice(first, next).map(commentOf)]);
    }
    at = endOf(document, at);
  }
  insert(lastEnd === -1 || lastEnd < written ? document.length : lastEnd, waiting.slice(next).map(commentOf));
  return Buffer.concat([...parts, document.subarray(written)]);
}

function commentOf({ severity, element, line, text }: Problem): string {
  const place = element === '' ? '' : `${element} (line ${line}): `;
  return `${severity === 'error' ? 'ERROR' : 'WARNING'}: ${place}${text}`.replaceAll('--', '- -').replace(/-$/, '- ');
}

function lineEnds(document: Buffer, from: number, to: number): number {
  let count = 0;
  for (let at = document.indexOf(LINE_END, from); at !== -1 && at < to; at = document.indexOf(LINE_END, at + 1))
    count += 1;
  return count;
}

const isElement = (byte: number | undefined): boolean => byte !== undefined && byte !== 0x21 && byte !== 0x3f;

/** Behind the tag, comment or other markup that begins at `at`. */
function endOf(document: Buffer, at: number): number {
  for (const [begin, end] of ENDS) {
    if (document.toString('latin1', at, at + begin.length) !== begin) continue;
    const found = document.indexOf(end, at + begin.length);
    return found === -1 ? document.length : found + end.length;
  }
  let quote = 0;
  for (let index = at + 1; index < document.length; index += 1) {
    const byte = document[index] as number;
    if (quote !== 0) {
      if (byte === quote) quote = 0;
    } else if (byte === 0x22 || byte === 0x27) quote = byte;
    else if (byte === 0x3e) return index + 1;
  }
  return document.length;
}
