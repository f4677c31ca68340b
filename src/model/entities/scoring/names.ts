/** Names of models, resources and groups (docs/spec/scoring.md#names). */

const LENGTH_MAX = 200;
const UNSAFE = /[^\p{L}\p{N} ._-]/gu;

/**
 * The name under which something is kept: characters other than letters, digits, blanks, `.`, `_` and `-` become `_`.
 * Never empty, never a step of a path, at most 200 characters.
 */
export function safeName(sent: string): string {
  const name = sent.normalize('NFC').trim().slice(0, LENGTH_MAX).replace(UNSAFE, '_').trimEnd();
  if (/^\.*$/.test(name)) return name === '' ? '_' : '_'.repeat(name.length);
  return name;
}

/** The last step of a path that a client sent as a file name. */
export const baseName = (fileName: string): string =>
  fileName.slice(Math.max(fileName.lastIndexOf('/'), fileName.lastIndexOf('\\')) + 1);

/** A file's name without the endings that say how it is packed and what it is: `iris.pmml.zip` is `iris`. */
export function stemOf(fileName: string): string {
  const name = baseName(fileName)
    .replace(/\.(zip|gz)$/i, '')
    .replace(/\.(pmml|xml|onnx|model)$/i, '');
  return name === '' ? fileName : name;
}
