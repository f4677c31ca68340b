import type { TextSettings } from './tokens.ts';

/**
 * How often a term, a row of words, is in a text. Words are alike up to a distance, which is of the whole term. Of the best hits
 * only those with the smallest distance count.
 */
export function hits(
  words: readonly string[],
  term: readonly string[],
  settings: TextSettings,
  isBest: boolean,
): number {
  if (term.length === 0 || (term.length === 1 && term[0] === '')) return 0;
  const { distance } = settings;
  if (!settings.isTokenized) return hitsInside(words[0] ?? '', term[0], distance, isBest);
  return count(
    words.length - term.length + 1,
    isBest,
    (start, limit) => {
      let sum = 0;
      for (let i = 0; i < term.length && sum <= limit; i++) sum += levenshtein(words[start + i], term[i], limit - sum);
      return sum;
    },
    distance,
  );
}

/** Without words: each place of the text where this many characters are alike. */
function hitsInside(text: string, term: string, distance: number, isBest: boolean): number {
  if (distance === 0) return text.split(term).length - 1;
  return count(
    text.length - term.length + 1,
    isBest,
    (start, limit) => levenshtein(text.slice(start, start + term.length), term, limit),
    distance,
  );
}

function count(
  places: number,
  isBest: boolean,
  distanceAt: (start: number, limit: number) => number,
  limit: number,
): number {
  let found = 0;
  let best = limit;
  for (let start = 0; start < places; start++) {
    const here = distanceAt(start, best);
    if (here > best) continue;
    if (isBest && here < best) {
      best = here;
      found = 0;
    }
    found++;
  }
  return found;
}

/** The Levenshtein distance of two words, or more than the limit. */
export function levenshtein(one: string, other: string, limit: number): number {
  if (one === other) return 0;
  if (limit === 0 || Math.abs(one.length - other.length) > limit) return limit + 1;
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const line = [i];
    let least = i;
    for (let j = 1; j <= other.length; j++) {
      const change = above[j - 1] + (one.charCodeAt(i - 1) === other.charCodeAt(j - 1) ? 0 : 1);
      line[j] = Math.min(change, above[j] + 1, line[j - 1] + 1);
      if (line[j] < least) least = line[j];
    }
    if (least > limit) return limit + 1;
    above = line;
  }
  return above[other.length];
}
