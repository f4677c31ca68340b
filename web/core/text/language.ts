/**
 * Texts of the console. English is part of each screen; other languages are loaded when they are chosen. A pseudo
 * language shows in tests what is not translated.
 */
import { signal } from '@preact/signals';

export const LANGUAGES = ['en', 'de', 'pseudo'] as const;
export type Language = (typeof LANGUAGES)[number];

/** That of all texts on the page. */
export const language = signal<Language>('en');
/** The same, from the moment at which its texts begin to load: those of a module that comes meanwhile load it, too. */
let wantedLanguage: Language = 'en';

type Texts = Readonly<Record<string, unknown>>;
type Load<T> = () => Promise<{ readonly default: T }>;

/** Loads of texts that have begun; the frame waits for them before it shows a screen. */
const pending = new Set<Promise<void>>();
/** How each set of texts gets the language; a set is a module, so there are as many as there are screens. */
const sets: ((wanted: Language) => Promise<void>)[] = [];

/** Resolves when all texts of the modules loaded until now are there. */
export async function textsReady(): Promise<void> {
  while (pending.size > 0) await Promise.all(pending);
}

/** Loads the language for all texts, then shows it. */
export async function setLanguage(wanted: Language): Promise<void> {
  wantedLanguage = wanted;
  await Promise.all(sets.map((load) => load(wanted)));
  await textsReady();
  if (wantedLanguage === wanted) language.value = wanted;
}

/**
 * The texts of a module: `const words = defineTexts(en, { de: () => import('./text.de.ts') })`, in components
 * `words().title`.
 * @param en texts, and functions that make texts. Its type is that of every language.
 */
export function defineTexts<T extends Texts>(en: T, others: { readonly de: Load<T> }): () => T {
  const loaded = new Map<Language, T>([['en', en]]);
  const load = async (wanted: Language): Promise<void> => {
    if (loaded.has(wanted)) return;
    if (wanted === 'pseudo') loaded.set(wanted, pseudo(en) as T);
    else loaded.set(wanted, (await others.de()).default);
  };
  sets.push(load);
  const first = load(wantedLanguage).finally(() => pending.delete(first));
  pending.add(first);
  return () => loaded.get(language.value) ?? en;
}

const ACCENTS: Readonly<Record<string, string>> = {
  a: 'á',
  e: 'é',
  i: 'í',
  o: 'ó',
  u: 'ú',
  n: 'ñ',
  A: 'Á',
  E: 'É',
  O: 'Ó',
};
/** German and others are a third longer. */
const LONGER = 3;

/** A text as no language has it, in brackets, a third longer. */
export const pseudoText = (text: string): string =>
  `⟦${text.replace(/[aeiounAEO]/g, (letter) => ACCENTS[letter])}${'·'.repeat(Math.ceil(text.length / LONGER))}⟧`;

function pseudo(value: unknown): unknown {
  if (typeof value === 'string') return pseudoText(value);
  if (typeof value === 'function') return (...given: unknown[]) => pseudo(value(...given));
  if (Array.isArray(value)) return value.map(pseudo);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, pseudo(member)]));
  return value;
}

/** The language as `Intl` takes it. */
export const locale = (): string => (language.value === 'de' ? 'de' : 'en');

/** By language and options, of which there are as many as this program writes: to make one takes a millisecond. */
const formats = new Map<string, Intl.NumberFormat | Intl.PluralRules>();

function formatOf<Format extends Intl.NumberFormat | Intl.PluralRules>(key: string, make: () => Format): Format {
  const known = formats.get(key);
  if (known !== undefined) return known as Format;
  const made = make();
  formats.set(key, made);
  return made;
}

/** `plural(3, { one: 'alarm', other: 'alarms' })`. */
export const plural = (count: number, forms: { readonly one: string; readonly other: string }): string =>
  formatOf(`plural ${locale()}`, () => new Intl.PluralRules(locale())).select(count) === 'one'
    ? forms.one
    : forms.other;

/** A number with the separators of the language: `12,431`. */
export const numberText = (value: number, options: Intl.NumberFormatOptions = {}): string =>
  formatOf(`${locale()} ${JSON.stringify(options)}`, () => new Intl.NumberFormat(locale(), options)).format(value);
