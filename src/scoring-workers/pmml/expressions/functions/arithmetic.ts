import { numberFrom } from '../../fields/expression.ts';
import { erf, normalCdf, normalPdf, normalQuantile } from '../../math/normal.ts';
import { alwaysInteger, type BuiltIn, binary, common, commonType, rounded, ternary, unary } from './built-in.ts';
import { maximum, mean, median, minimum, product, total } from './collections.ts';

/** `+` and `-`, which some producers write with one argument or with several. */
function additive(compute: (x: number, y: number) => number): BuiltIn {
  const several = fromTheLeft(compute);
  const one = unary((x) => compute(0, x), common);
  return { ...several, min: 1, compile: (call) => (call.args.length === 1 ? one : several).compile(call) };
}

/** A function of two numbers that some producers give more of: taken from the left. */
function fromTheLeft(compute: (x: number, y: number) => number): BuiltIn {
  const two = binary(compute, common);
  return {
    min: 2,
    max: Number.POSITIVE_INFINITY,
    compile: (call) => {
      const [first, ...rest] = call.args;
      return rest.reduce(
        (left, right) => two.compile({ ...call, args: [left, right] }),
        first as (typeof call.args)[number],
      );
    },
  };
}

/** `/`: whole numbers are divided as whole numbers; by zero is not valid. */
const division: BuiltIn = {
  min: 2,
  max: 2,
  compile: (call) => {
    const [first, second] = call.args.map(numberFrom);
    const type = commonType(call.args);
    const isWhole = type === 'integer';
    return rounded(type, (row) => {
      const x = first(row);
      const y = second(row);
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.NaN;
      const result = x / y;
      if (y === 0 || Number.isNaN(result)) return call.invalid(result);
      return isWhole ? Math.trunc(result) : result;
    });
  },
};

/** Over the arguments that are not missing; missing where all are. */
function overList(compute: (numbers: readonly number[]) => number, isDouble: boolean): BuiltIn {
  return {
    min: 1,
    max: Number.POSITIVE_INFINITY,
    compile: (call) => {
      const all = call.args.map(numberFrom);
      return rounded(isDouble ? 'double' : commonType(call.args), (row) => {
        const numbers: number[] = [];
        for (const number of all) {
          const one = number(row);
          if (!Number.isNaN(one)) numbers.push(one);
        }
        if (numbers.length === 0) return Number.NaN;
        const result = compute(numbers);
        return Number.isNaN(result) ? call.invalid(result) : result;
      });
    },
  };
}

/** 0 to the power 0 is 1; between whole numbers the result is a whole number. */
const power: BuiltIn = {
  min: 2,
  max: 2,
  compile: (call) => {
    const isWhole = commonType(call.args) === 'integer';
    return binary((x, y) => (isWhole ? Math.trunc(x ** y) : x ** y), common).compile(call);
  },
};

/** The nearest whole number; of two the even one. */
function roundHalfEven(x: number): number {
  const down = Math.floor(x);
  const rest = x - down;
  if (rest !== 0.5) return Math.round(x);
  return down % 2 === 0 ? down : down + 1;
}

export const ARITHMETIC: ReadonlyMap<string, BuiltIn> = new Map([
  ['+', additive((x, y) => x + y)],
  ['-', additive((x, y) => x - y)],
  ['*', fromTheLeft((x, y) => x * y)],
  ['/', division],
  ['modulo', binary((x, y) => x - y * Math.floor(x / y), common)],
  ['abs', unary(Math.abs, common)],
  ['pow', power],
  ['exp', unary(Math.exp)],
  ['expm1', unary(Math.expm1)],
  ['ln', unary(Math.log)],
  ['ln1p', unary(Math.log1p)],
  ['log10', unary(Math.log10)],
  ['sqrt', unary(Math.sqrt)],
  ['hypot', binary(Math.hypot)],
  ['threshold', binary((x, y) => (x > y ? 1 : 0), alwaysInteger)],
  ['floor', unary(Math.floor, alwaysInteger)],
  ['ceil', unary(Math.ceil, alwaysInteger)],
  ['round', unary(Math.round, alwaysInteger)],
  ['rint', unary(roundHalfEven)],
  ['sin', unary(Math.sin)],
  ['cos', unary(Math.cos)],
  ['tan', unary(Math.tan)],
  ['asin', unary(Math.asin)],
  ['acos', unary(Math.acos)],
  ['atan', unary(Math.atan)],
  ['sinh', unary(Math.sinh)],
  ['cosh', unary(Math.cosh)],
  ['tanh', unary(Math.tanh)],
  ['min', overList(minimum, false)],
  ['max', overList(maximum, false)],
  ['sum', overList(total, false)],
  ['product', overList(product, false)],
  ['avg', overList(mean, true)],
  ['median', overList(median, true)],
  ['normalCDF', ternary((x, mean, deviation) => (deviation > 0 ? normalCdf(x, mean, deviation) : Number.NaN))],
  ['normalPDF', ternary((x, mean, deviation) => (deviation > 0 ? normalPdf(x, mean, deviation) : Number.NaN))],
  ['normalIDF', ternary((p, mean, deviation) => (deviation > 0 ? normalQuantile(p, mean, deviation) : Number.NaN))],
  ['stdNormalCDF', unary((x) => normalCdf(x))],
  ['stdNormalPDF', unary((x) => normalPdf(x))],
  ['stdNormalIDF', unary((p) => normalQuantile(p))],
  ['erf', unary(erf)],
]);
