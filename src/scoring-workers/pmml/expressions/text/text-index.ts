import { type Element, PmmlError } from '../../document/element.ts';
import { type Expression, ofNumbers, textFrom } from '../../fields/expression.ts';
import type { Scope } from '../../fields/scope.ts';
import { hits } from './hits.ts';
import { compileNormalization, type Normalize } from './normalization.ts';
import { readTextSettings, tokenizer } from './tokens.ts';

/** Terms whose words are kept, of one TextIndex: they come again for each record. Longer ones are cut into words each time. */
const KEPT_TERMS_MAX = 10_000;
const KEPT_TERM_CHARACTERS_MAX = 200;

/** `TextIndex`: how often a term is in a text. The words of the last text are kept: a model asks for many terms of it. */
export function compileTextIndex(element: Element, scope: Scope): Expression {
  const settings = readTextSettings(element, undefined);
  const weights = element.oneOf(
    'localTermWeights',
    ['termFrequency', 'binary', 'logarithmic', 'augmentedNormalizedTermFrequency'] as const,
    'termFrequency',
  );
  const isBest = element.oneOf('countHits', ['allHits', 'bestHits'] as const, 'allHits') === 'bestHits';
  const normalizations: readonly Normalize[] = element
    .childrenOf('TextIndexNormalization')
    .map((child) => compileNormalization(child, settings, scope));
  const termElement = element.children.find(({ name }) => name !== 'TextIndexNormalization');
  if (termElement === undefined) throw new PmmlError(element, 'has no expression for its term');
  const text = textFrom(scope.field(element.required('textField'), element));
  const term = textFrom(scope.names.compile(termElement, scope));
  const tokenize = tokenizer(settings, element);
  const wordsOf = (given: string): readonly string[] => {
    const normalized = normalizations.reduce((changed, normalize) => normalize(changed), given);
    return tokenize(settings.isCaseSensitive ? normalized : normalized.toLowerCase());
  };
  const terms = new Map<string, readonly string[]>();
  const wordsOfTerm = (given: string): readonly string[] => {
    const known = terms.get(given);
    if (known !== undefined) return known;
    const words = wordsOf(given);
    if (given.length > KEPT_TERM_CHARACTERS_MAX) return words;
    if (terms.size >= KEPT_TERMS_MAX) terms.clear();
    terms.set(given, words);
    return words;
  };
  let lastText: string | undefined;
  let lastWords: readonly string[] = [];
  let lastCounts: ReadonlyMap<string, number> = new Map();
  const frequency = (inText: string, ofTerm: string): number => {
    if (inText !== lastText) {
      lastWords = wordsOf(inText);
      lastCounts = countWords(lastWords);
      lastText = inText;
    }
    const wanted = wordsOfTerm(ofTerm);
    if (settings.distance === 0 && settings.isTokenized && wanted.length === 1) return lastCounts.get(wanted[0]) ?? 0;
    return hits(lastWords, wanted, settings, isBest);
  };
  const isWhole = weights === 'termFrequency' || weights === 'binary';
  return ofNumbers(isWhole ? 'integer' : 'double', (row) => {
    const inText = text(row);
    const ofTerm = term(row);
    if (inText === undefined || ofTerm === undefined) return Number.NaN;
    const count = frequency(inText, ofTerm);
    switch (weights) {
      case 'termFrequency':
        return count;
      case 'binary':
        return count > 0 ? 1 : 0;
      case 'logarithmic':
        return Math.log10(1 + count);
      default:
        return count === 0 ? 0 : 0.5 * (1 + count / highest(lastCounts));
    }
  });
}

function countWords(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function highest(counts: ReadonlyMap<string, number>): number {
  let most = 1;
  for (const count of counts.values()) if (count > most) most = count;
  return most;
}
