/** Lines of a stream of UTF-8 text, as a store sends its rows. */

/**
 * The complete lines of each piece, without their ends.
 * @throws Error for a line that goes on for more than `lengthMax` characters over several pieces, and at the end for
 * one that has no end: what the sender had to say was broken off.
 */
export async function* textLines(
  source: AsyncIterable<Uint8Array>,
  lengthMax: number,
): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of source) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > lengthMax) throw new Error(`a line has more than ${lengthMax} characters`);
    if (lines.length > 0) yield lines;
  }
  if (rest !== '') throw new Error(`the text ended within a line: ${rest.slice(-200)}`);
}
