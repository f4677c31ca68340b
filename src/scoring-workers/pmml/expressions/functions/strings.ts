import { numberFrom, ofNumbers, ofValues, textFrom } from '../../fields/expression.ts';
import { InvalidRecord, type Row } from '../../fields/row.ts';
import type { DataType, Value } from '../../fields/types.ts';
import { textOf, textOfReal } from '../../fields/types.ts';
import { regularExpression, replaceAll } from '../text/regular-expression.ts';
import { type BuiltIn, type Call, ofTexts } from './built-in.ts';
import { formatNumber } from './number-format.ts';

const substring: BuiltIn = {
  min: 3,
  max: 3,
  compile: ({ args }) => {
    const text = textFrom(args[0]);
    const [start, length] = [numberFrom(args[1]), numberFrom(args[2])];
    return ofValues('string', (row) => {
      const [given, from, count] = [text(row), start(row), length(row)];
      if (given === undefined || Number.isNaN(from) || Number.isNaN(count)) return undefined;
      if (from < 1 || count < 0)
        throw new InvalidRecord(`substring: start ${from} and length ${count}; they begin at 1 and 0`);
      return given.slice(Math.trunc(from) - 1, Math.trunc(from) - 1 + Math.trunc(count));
    });
  },
};

/** Missing arguments are left out; missing where all are. */
const concat: BuiltIn = {
  min: 2,
  max: Number.POSITIVE_INFINITY,
  compile: ({ args }) => {
    const pieces = args.map(({ value, type }) => (row: Row): string | undefined => {
      const given = value(row);
      return given === undefined ? undefined : pieceOf(given, type);
    });
    return ofValues('string', (row) => {
      let text: string | undefined;
      for (const piece of pieces) {
        const one = piece(row);
        if (one !== undefined) text = (text ?? '') + one;
      }
      if (text !== undefined && text.length > TEXT_CHARACTERS_MAX)
        throw new InvalidRecord(`concat: the text has ${text.length} characters; at most ${TEXT_CHARACTERS_MAX}`);
      return text;
    });
  },
};

const TEXT_CHARACTERS_MAX = 16_777_216;

/** A real number in a text always shows that it is one: 2 is `2.0`. */
function pieceOf(value: Value, type: DataType | undefined): string {
  if (typeof value === 'number' && (type === 'double' || type === 'float')) return textOfReal(value, type);
  return textOf(value, type);
}

/** A function of a text and a regular expression, which is compiled once where it is a literal. */
function withExpression<Result extends Value>(
  count: number,
  type: DataType,
  compute: (text: string, expression: RegExp, others: readonly string[]) => Result,
): BuiltIn {
  return {
    min: count,
    max: count,
    compile: (call: Call) => {
      const literal = call.args[1].constant?.value;
      const compiled = literal === undefined ? undefined : compileLiteral(call, String(literal));
      const base = ofTexts(count, type, (_call, text, expression, ...others) =>
        compute(text, compiled ?? compileGiven(expression), others),
      ).compile(call);
      if (type !== 'boolean') return base;
      return ofNumbers('boolean', (row) => {
        const result = base.value(row);
        return result === undefined ? Number.NaN : Number(result);
      });
    },
  };
}

function compileLiteral(call: Call, source: string): RegExp {
  const compiled = regularExpression(source, 'g');
  return compiled ?? call.refuse(`'${source}' is not a regular expression`);
}

function compileGiven(source: string): RegExp {
  const compiled = regularExpression(source, 'g');
  if (compiled === undefined) throw new InvalidRecord(`'${source}' is not a regular expression`);
  return compiled;
}

const format: BuiltIn = {
  min: 2,
  max: 2,
  compile: ({ args }) => {
    const [number, pattern] = [numberFrom(args[0]), textFrom(args[1])];
    return ofValues('string', (row) => {
      const [given, shape] = [number(row), pattern(row)];
      if (Number.isNaN(given) || shape === undefined) return undefined;
      const text = formatNumber(given, shape);
      if (text === undefined) throw new InvalidRecord(`formatNumber: '${shape}' is not a pattern for a number`);
      return text;
    });
  },
};

const length: BuiltIn = {
  min: 1,
  max: 1,
  compile: ({ args }) => {
    const text = textFrom(args[0]);
    return ofNumbers('integer', (row) => text(row)?.length ?? Number.NaN);
  },
};

export const STRINGS: ReadonlyMap<string, BuiltIn> = new Map([
  ['uppercase', ofTexts(1, 'string', (_call, text) => text.toUpperCase())],
  ['lowercase', ofTexts(1, 'string', (_call, text) => text.toLowerCase())],
  ['trimBlanks', ofTexts(1, 'string', (_call, text) => text.trim())],
  ['stringLength', length],
  ['substring', substring],
  ['concat', concat],
  [
    'replace',
    withExpression(3, 'string', (text, expression, [replacement]) => replaceAll(text, expression, replacement)),
  ],
  [
    'matches',
    withExpression(2, 'boolean', (text, expression) => {
      expression.lastIndex = 0;
      return expression.test(text);
    }),
  ],
  ['formatNumber', format],
]);
