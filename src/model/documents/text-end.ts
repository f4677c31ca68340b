/**
 * What stands at the end of a text, read from there. A regular expression such as /\/+$/ begins anew at every slash: of
 * a text of slashes that ends otherwise it takes time that grows with the square of their number.
 */

/** The text without those of `characters` that stand at its end. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1])) end -= 1;
  return text.slice(0, end);
}

/** What follows the last slash of a URL, not counting slashes at its end; '' when nothing does. */
export function lastSegment(url: string): string {
  const path = withoutEnd(url, '/');
  return path.slice(path.lastIndexOf('/') + 1);
}
