/** The Range header of a download (RFC 9110 section 14): one range of bytes; several are answered with the whole. */

export interface ByteRange {
  readonly from: number;
  readonly through: number;
}

/** @returns undefined for the whole, `unsatisfiable` for 416. */
export function byteRangeOf(header: string, length: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header.trim());
  if (match === null) return undefined;
  const [, first, last] = match;
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const count = Number(last);
    return count === 0 || length === 0 ? 'unsatisfiable' : { from: Math.max(0, length - count), through: length - 1 };
  }
  if (last !== '' && Number(last) < Number(first)) return undefined;
  if (Number(first) >= length) return 'unsatisfiable';
  return { from: Number(first), through: last === '' ? length - 1 : Math.min(Number(last), length - 1) };
}

/** Whether one of the tags of If-None-Match is that of the content. */
export const isKnownTag = (header: string, tag: string): boolean =>
  header.split(',').some((one) => one.trim().replace(/^W\//, '') === tag || one.trim() === '*');

/** Characters of a file name. Proxies bound the heads of answers, and file systems a name to 255 bytes. */
const NAME_LENGTH_MAX = 200;

/**
 * `attachment` with the name in both spellings (RFC 6266): what is not ASCII is replaced in the plain one. The middle of
 * a long name is left out. A name can neither end the header nor name a directory.
 */
export function attachmentHeader(sent: string): string {
  const name = shortName(sent.replace(/[/\\\p{Cc}]/gu, '_'));
  const plain = name.replace(/[^\x20-\x7e]/g, '_').replace(/["\\]/g, '_');
  const encoded = encodeURIComponent(name.replace(/\p{Surrogate}/gu, '_')).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  return plain === name
    ? `attachment; filename="${plain}"`
    : `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

function shortName(name: string): string {
  if (name.length <= NAME_LENGTH_MAX) return name;
  const half = NAME_LENGTH_MAX / 2;
  return `${name.slice(0, half - 1)}…${name.slice(-half)}`;
}

/** Whether a text may stand in a Content-Type header as it is. */
export const isMediaType = (text: string): boolean =>
  /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(\s*;\s*[\w-]+=([\w!#$&^.+/:-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/.test(
    text,
  );
