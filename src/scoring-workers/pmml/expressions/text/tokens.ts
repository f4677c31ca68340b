import { type Element, PmmlError } from '../../document/element.ts';
import { regularExpression } from './regular-expression.ts';

/** How a text is cut into words and words are compared: of a TextIndex, or of a TextIndexNormalization in it. */
export interface TextSettings {
  readonly isCaseSensitive: boolean;
  /** Levenshtein distance that words may have and still be alike; of a term of several words, of all together. */
  readonly distance: number;
  readonly isTokenized: boolean;
  /** What stands between words. */
  readonly separator: string;
  /** What a word is, in place of what stands between them (`x-wordRE`). */
  readonly word: string | undefined;
}

const DISTANCE_MAX = 1_000;

/** What an element does not say it takes from the one around it. */
export function readTextSettings(element: Element, around: TextSettings | undefined): TextSettings {
  const distance = element.number('maxLevenshteinDistance', around?.distance ?? 0);
  if (!Number.isInteger(distance) || distance < 0 || distance > DISTANCE_MAX)
    throw new PmmlError(element, `'maxLevenshteinDistance' is ${distance}; it may be 0 to ${DISTANCE_MAX}`);
  return {
    isCaseSensitive: element.flag('isCaseSensitive', around?.isCaseSensitive ?? false),
    distance,
    isTokenized: element.flag('tokenize', around?.isTokenized ?? true),
    separator: element.attribute('wordSeparatorCharacterRE') ?? around?.separator ?? '\\s+',
    word: element.attribute('x-wordRE') ?? element.attribute('wordRE') ?? around?.word,
  };
}

const PUNCTUATION_AROUND = /^\p{P}+|\p{P}+$/gu;

/** Cuts a text into words, without punctuation at their ends. A text that is not to be cut is one word. */
export function tokenizer(settings: TextSettings, element: Element): (text: string) => readonly string[] {
  const { word, separator, isTokenized } = settings;
  if (!isTokenized) return (text) => [text];
  if (word !== undefined) {
    const expression = expressionIn(word, element);
    return (text) => text.match(expression) ?? [];
  }
  const expression = expressionIn(separator, element);
  return (text) =>
    text
      .split(expression)
      .map((one) => one.replace(PUNCTUATION_AROUND, ''))
      .filter((one) => one !== '');
}

export function expressionIn(source: string, element: Element, flags = 'g'): RegExp {
  const expression = regularExpression(source, flags);
  if (expression === undefined) throw new PmmlError(element, `'${source}' is not a regular expression`);
  return expression;
}
