import type { Element } from '../../document/element.ts';
import type { Scope } from '../../fields/scope.ts';
import { tableOf } from '../../fields/tables.ts';
import { levenshtein } from './hits.ts';
import { replaceAll } from './regular-expression.ts';
import { expressionIn, readTextSettings, type TextSettings, tokenizer } from './tokens.ts';

export type Normalize = (text: string) => string;

/** Times that a recursive table is used on one text, and the length that a text may grow to. */
const ROUNDS_MAX = 100;
const TEXT_CHARACTERS_MAX = 4_194_304;

/**
 * `TextIndexNormalization`: replaces what stands in one column by what stands in another, row after row. A row whose flag is set
 * holds a regular expression; other rows hold words as they are.
 */
export function compileNormalization(element: Element, around: TextSettings, scope: Scope): Normalize {
  const settings = readTextSettings(element, around);
  const inField = element.attribute('inField') ?? 'string';
  const outField = element.attribute('outField') ?? 'stem';
  const regexField = element.attribute('regexField') ?? 'regex';
  const rows = tableOf(element, scope).flatMap((row): Normalize[] => {
    const from = row.get(inField);
    const to = row.get(outField);
    if (from === undefined || to === undefined) return [];
    const isExpression = row.get(regexField)?.trim() === 'true' || row.get(regexField)?.trim() === '1';
    return [isExpression ? expressionRow(from, to, settings, element) : wordsRow(from, to, settings, element)];
  });
  const once = (text: string): string => rows.reduce((changed, row) => cut(row(changed)), text);
  if (!element.flag('recursive', false)) return once;
  return (text) => {
    let changed = text;
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const next = once(changed);
      if (next === changed) break;
      changed = next;
    }
    return changed;
  };
}

const cut = (text: string): string => (text.length > TEXT_CHARACTERS_MAX ? text.slice(0, TEXT_CHARACTERS_MAX) : text);

function expressionRow(from: string, to: string, settings: TextSettings, element: Element): Normalize {
  const expression = expressionIn(from, element, settings.isCaseSensitive ? 'g' : 'gi');
  return (text) => replaceAll(text, expression, to);
}

/** Words as they are: those between separators, or with a distance those that are near enough. */
function wordsRow(from: string, to: string, settings: TextSettings, element: Element): Normalize {
  const literal = () => to;
  const flags = settings.isCaseSensitive ? 'gu' : 'giu';
  const escaped = from.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  if (!settings.isTokenized) {
    const anywhere = new RegExp(escaped, flags);
    return (text) => text.replace(anywhere, literal);
  }
  if (settings.distance === 0) {
    const whole = new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, flags);
    return (text) => text.replace(whole, literal);
  }
  const tokenize = tokenizer(settings, element);
  const same = (text: string): string => (settings.isCaseSensitive ? text : text.toLowerCase());
  const wanted = tokenize(same(from));
  return (text) => {
    if (wanted.length === 0) return text;
    const words = tokenize(text);
    const made: string[] = [];
    let isChanged = false;
    for (let i = 0; i < words.length; ) {
      let distance = 0;
      for (let j = 0; j < wanted.length && distance <= settings.distance; j++)
        distance +=
          words[i + j] === undefined
            ? settings.distance + 1
            : levenshtein(same(words[i + j]), wanted[j], settings.distance - distance);
      if (distance > settings.distance) made.push(words[i++]);
      else {
        made.push(to);
        i += wanted.length;
        isChanged = true;
      }
    }
    return isChanged ? made.join(' ') : text;
  };
}
