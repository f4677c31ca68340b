/** JSON as it is stored, to read and to edit. Numbers keep their digits: the text is never parsed for showing. */
import { useMemo } from 'preact/hooks';
import { common } from '../core/text/common.ts';
import { TextArea } from './fields.tsx';
import { CopyButton } from './copy.tsx';

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;
/** Of longer texts the rest has no colours. */
const COLOURED_LENGTH_MAX = 40_000;

/** Lists of numbers fill lines of this length: one of a hundred thousand is read, and drawn, in as many lines. */
const LINE_LENGTH = 100;

/** @param list `[1,2]`, of numbers and literals alone. @param line begins one. */
function numberList(list: string, line: string): string {
  const values = list.slice(1, -1).split(',');
  const lines: string[] = [];
  let filled = '';
  for (const value of values.map((one) => one.trim())) {
    if (filled.length + value.length > LINE_LENGTH) {
      lines.push(`${filled},`);
      filled = value;
    } else filled += filled === '' ? value : `, ${value}`;
  }
  lines.push(filled);
  return lines.length === 1 ? `[${filled}]` : `[${lines.map((one) => `${line}  ${one}`).join('')}${line}]`;
}

/** The same JSON with line breaks. Texts and numbers stay as they are, digit for digit. */
export function prettyJson(text: string): string {
  let depth = 0;
  const line = (): string => `\n${'  '.repeat(depth)}`;
  return text.replace(
    /("(?:[^"\\]|\\.)*")|(\[[^"[\]{}]*\])|({)\s*(})|([[{])|([\]}])|(,)|(:)|\s+/g,
    (_, string, list, open, shut, begin, end, comma, colon) => {
      if (string !== undefined) return string;
      if (list !== undefined) return numberList(list, line());
      if (open !== undefined) return open + shut;
      if (begin !== undefined) {
        depth += 1;
        return begin + line();
      }
      if (end !== undefined) {
        depth -= 1;
        return line() + end;
      }
      if (comma !== undefined) return `,${line()}`;
      return colon === undefined ? '' : ': ';
    },
  );
}

function Coloured({ text }: { readonly text: string }) {
  const pieces = useMemo(() => {
    const found: (string | { readonly kind: string; readonly text: string })[] = [];
    let at = 0;
    for (const match of text.slice(0, COLOURED_LENGTH_MAX).matchAll(TOKEN)) {
      found.push(text.slice(at, match.index));
      const kind = match[1] === undefined ? 'json-other' : match[2] === undefined ? 'json-text' : 'json-key';
      found.push({ kind, text: match[0] });
      at = match.index + match[0].length;
    }
    found.push(text.slice(at));
    return found;
  }, [text]);
  return (
    <>
      {pieces.map((piece, index) =>
        typeof piece === 'string' ? (
          piece
        ) : (
          <span key={index} class={piece.kind}>
            {piece.text}
          </span>
        ),
      )}
    </>
  );
}

/** @param text JSON. */
export function JsonView({ text, label }: { readonly text: string; readonly label: string }) {
  const pretty = useMemo(() => prettyJson(text), [text]);
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={label}>
        <Coloured text={pretty} />
      </pre>
      <div class="code-copy">
        <CopyButton text={pretty} />
      </div>
    </div>
  );
}

/** Code or a command, to be copied. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <div class="code-copy">
        <CopyButton text={text} />
      </div>
    </div>
  );
}

/** The place of a fault in words, `Line 3, column 7: …`; undefined for an object. */
export function jsonFault(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? undefined : common().jsonObject;
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    const told = /position (\d+)/.exec(what);
    const position = told === null ? text.length : Number(told[1]);
    const lines = text.slice(0, position).split('\n');
    return common().jsonFault(
      lines.length,
      lines[lines.length - 1].length + 1,
      what.replace(/ (?:in JSON )?at position.*$/, ''),
    );
  }
}

export interface JsonFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
  readonly hint?: string;
  readonly rows?: number;
  /** What the server said of the text. */
  readonly refusal?: string | undefined;
}

/** A field for one JSON object; it says at which line and column a mistake is. */
export function JsonField({ value, refusal, ...props }: JsonFieldProps) {
  const fault = value.trim() === '' ? undefined : jsonFault(value);
  return <TextArea {...props} isMono value={value} error={fault ?? refusal} />;
}
