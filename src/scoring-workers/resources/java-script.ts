/** Files with functions in JavaScript (docs/spec/scoring.md#javascript-functions). */
import { ContentError } from '../content/byte-reader.ts';
import { whole } from '../content/whole.ts';
import { FunctionLibrary, fullNames } from '../functions/library.ts';
import { FUNCTIONS_BYTES_MAX } from '../functions/sandbox.ts';
import { FunctionWatch } from '../functions/watch.ts';

/** Of one file. */
export const JAVASCRIPT_BYTES_MAX = 1_048_576;

export const isJavaScript = (fileName: string): boolean => /\.js$/i.test(fileName);

/** @throws ContentError for what is not a text, ContentTooLong beyond the bound */
export async function readJavaScript(content: AsyncIterable<Uint8Array>): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await whole(content, JAVASCRIPT_BYTES_MAX));
  } catch (error) {
    if (error instanceof TypeError) throw new ContentError('it is not UTF-8');
    throw error;
  }
}

/** Names of its functions, with their namespace. @throws ContentError where it cannot be used */
export async function functionsOf(fileName: string, content: AsyncIterable<Uint8Array>): Promise<readonly string[]> {
  const library = new FunctionLibrary(FUNCTIONS_BYTES_MAX, new FunctionWatch());
  const source = await readJavaScript(content);
  try {
    return fullNames(fileName, await library.add(fileName, source));
  } catch (error) {
    throw error instanceof Error && error.name === 'FunctionError' ? new ContentError(error.message) : error;
  } finally {
    library.close();
  }
}
