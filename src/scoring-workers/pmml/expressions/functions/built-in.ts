import type { Expression } from '../../fields/expression.ts';
import { isMissingIn, numberFrom, ofNumbers, ofValues, textFrom } from '../../fields/expression.ts';
import { InvalidRecord, type Row } from '../../fields/row.ts';
import type { DataType, Value } from '../../fields/types.ts';

/** A call of a built-in function, as it is compiled. */
export interface Call {
  readonly name: string;
  readonly args: readonly Expression[];
  /** What becomes of a result that is not valid, such as that of a division by zero. */
  readonly invalid: (result: number) => number;
  /** Refuses the model. */
  readonly refuse: (reason: string) => never;
}

/** A built-in function of PMML 4.4: how many arguments it takes, and how a call of it is compiled. */
export interface BuiltIn {
  readonly min: number;
  readonly max: number;
  readonly compile: (call: Call) => Expression;
}

/** The type of a result of several numbers: double before float before integer. */
export function commonType(args: readonly Expression[]): DataType {
  let common: DataType = 'integer';
  for (const { type } of args) {
    if (type === 'float') common = common === 'double' ? 'double' : 'float';
    else if (type !== 'integer') common = 'double';
  }
  return common;
}

/** A function of one number; NaN of a number that is not missing is a result that is not valid. */
export function unary(compute: (x: number) => number, typeOf: (call: Call) => DataType = alwaysDouble): BuiltIn {
  return {
    min: 1,
    max: 1,
    compile: (call) => {
      const first = numberFrom(call.args[0]);
      return rounded(typeOf(call), (row) => {
        const x = first(row);
        if (Number.isNaN(x)) return Number.NaN;
        const result = compute(x);
        return Number.isNaN(result) ? call.invalid(result) : result;
      });
    },
  };
}

/** A function of two numbers. */
export function binary(
  compute: (x: number, y: number) => number,
  typeOf: (call: Call) => DataType = alwaysDouble,
): BuiltIn {
  return {
    min: 2,
    max: 2,
    compile: (call) => {
      const first = numberFrom(call.args[0]);
      const second = numberFrom(call.args[1]);
      return rounded(typeOf(call), (row) => {
        const x = first(row);
        const y = second(row);
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.NaN;
        const result = compute(x, y);
        return Number.isNaN(result) ? call.invalid(result) : result;
      });
    },
  };
}

/** A function of three numbers. */
export function ternary(compute: (x: number, y: number, z: number) => number): BuiltIn {
  return {
    min: 3,
    max: 3,
    compile: (call) => {
      const [first, second, third] = call.args.map(numberFrom);
      return ofNumbers('double', (row) => {
        const x = first(row);
        const y = second(row);
        const z = third(row);
        if (Number.isNaN(x) || Number.isNaN(y) || Number.isNaN(z)) return Number.NaN;
        const result = compute(x, y, z);
        return Number.isNaN(result) ? call.invalid(result) : result;
      });
    },
  };
}

const alwaysDouble = (): DataType => 'double';
export const alwaysInteger = (): DataType => 'integer';
export const common = ({ args }: Call): DataType => commonType(args);

/** Numbers of a type: those of a float are rounded to 32 bits. */
export function rounded(type: DataType, number: (row: Row) => number): Expression {
  return ofNumbers(type, type === 'float' ? (row) => Math.fround(number(row)) : number);
}

/** A function of texts; a missing argument makes its result missing. */
export function ofTexts(
  count: number,
  type: DataType,
  compute: (call: Call, first: string, ...others: string[]) => Value,
): BuiltIn {
  return {
    min: count,
    max: count,
    compile: (call) => {
      const texts = call.args.map(textFrom);
      const value = (row: Row): Value | undefined => {
        const given: string[] = [];
        for (const text of texts) {
          const one = text(row);
          if (one === undefined) return undefined;
          given.push(one);
        }
        return compute(call, given[0], ...given.slice(1));
      };
      return ofValues(type, value);
    },
  };
}

/** The value as a truth: 1, 0, or NaN where it is missing. */
export function truthFrom(expression: Expression): (row: Row) => number {
  if (expression.type === 'boolean') return expression.number;
  return (row) => {
    const value = expression.value(row);
    if (value === undefined) return Number.NaN;
    if (value === true || value === 'true' || value === 1) return 1;
    if (value === false || value === 'false' || value === 0) return 0;
    throw new InvalidRecord(`'${String(value)}' is not a boolean`);
  };
}

/** Tells of one argument, missing or not. */
export function ofMissing(isTrue: (isMissing: boolean) => boolean): BuiltIn {
  return {
    min: 1,
    max: 1,
    compile: ({ args }) => {
      const isMissing = isMissingIn(args[0]);
      return ofNumbers('boolean', (row) => (isTrue(isMissing(row)) ? 1 : 0));
    },
  };
}
