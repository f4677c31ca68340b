/** The field for the inventory's query language: completes names, and shows where the server found a mistake. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Combobox } from './combobox.tsx';
import type { Suggestion } from './combobox.tsx';

export interface QueryFieldProps {
  readonly label: string;
  readonly value: string;
  /** The query to use, when the person pauses or presses Enter. */
  readonly onChange: (query: string) => void;
  /** Names of members that objects of the page have. */
  readonly names: readonly string[];
  readonly error?: string | undefined;
  readonly placeholder?: string;
  readonly hint?: string;
  readonly class?: string;
}

/** Of the query language (docs/spec/inventory.md). */
const WORDS = [
  'and',
  'or',
  'not',
  'eq',
  'ne',
  'gt',
  'ge',
  'lt',
  'le',
  'has(',
  'bygroupid(',
  'isinhierarchyof(',
  '$orderby=',
];
const SUGGESTIONS_MAX = 8;
const PAUSE_MS = 400;

/** The word that the cursor stands at the end of. */
function wordAt(text: string, cursor: number): { readonly start: number; readonly word: string } {
  const word = /[\w$.]*$/.exec(text.slice(0, cursor))?.[0] ?? '';
  return { start: cursor - word.length, word };
}

/** Completions of the word at the cursor; none inside of a text in quotes. */
export function completions(text: string, cursor: number, names: readonly string[]): Suggestion[] {
  const { start, word } = wordAt(text, cursor);
  const isQuoted = (text.slice(0, start).split("'").length - 1) % 2 === 1;
  if (word === '' || isQuoted) return [];
  return [...names, ...WORDS]
    .filter((name) => name.toLowerCase().startsWith(word.toLowerCase()) && name !== word)
    .slice(0, SUGGESTIONS_MAX)
    .map((name) => ({ key: name, text: name, value: text.slice(0, start) + name + text.slice(cursor) }));
}

export function QueryField({ value, onChange, names, ...props }: QueryFieldProps) {
  const [typed, setTyped] = useState(value);
  const [cursor, setCursor] = useState(value.length);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const use = (query: string): void => {
    clearTimeout(timer.current);
    onChange(query.trim());
  };
  return (
    <Combobox
      {...props}
      isMono
      value={typed}
      suggestions={completions(typed, cursor, names)}
      onInput={(text, at) => {
        setTyped(text);
        setCursor(at);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => use(text), PAUSE_MS);
      }}
      onChoose={(suggestion) => {
        const text = suggestion?.value ?? typed;
        setTyped(text);
        setCursor(text.length);
        use(text);
      }}
    />
  );
}
