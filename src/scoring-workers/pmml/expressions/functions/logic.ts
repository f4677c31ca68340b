import type { Expression } from '../../fields/expression.ts';
import { ofNumbers, ofValues } from '../../fields/expression.ts';
import type { Field } from '../../fields/field.ts';
import type { Row } from '../../fields/row.ts';
import { castComputed } from '../../fields/scope.ts';
import { castInput, type DataType, isArithmetic, isNumeric, type Value } from '../../fields/types.ts';
import { type BuiltIn, commonType, ofMissing, truthFrom } from './built-in.ts';

/** `wins` decides at once; what is missing spreads only where nothing decided. */
function logical(wins: 0 | 1): BuiltIn {
  return {
    min: 2,
    max: Number.POSITIVE_INFINITY,
    compile: ({ args }) => {
      const truths = args.map(truthFrom);
      return ofNumbers('boolean', (row) => {
        let isUnknown = false;
        for (const truth of truths) {
          const one = truth(row);
          if (one === wins) return wins;
          if (Number.isNaN(one)) isUnknown = true;
        }
        return isUnknown ? Number.NaN : 1 - wins;
      });
    },
  };
}

const negation: BuiltIn = {
  min: 1,
  max: 1,
  compile: ({ args }) => {
    const truth = truthFrom(args[0]);
    return ofNumbers('boolean', (row) => 1 - truth(row));
  },
};

/** `if`: only the branch that is chosen is evaluated. */
const conditional: BuiltIn = {
  min: 2,
  max: 3,
  compile: ({ args }) => {
    const truth = truthFrom(args[0]);
    const branches = args.slice(1);
    const [yes, no] = branches;
    const type = typeOfBranches(branches);
    const chosen = (row: Row): Expression | undefined => {
      const one = truth(row);
      return one === 1 ? yes : one === 0 ? no : undefined;
    };
    if (type !== undefined && isNumeric(type)) return ofNumbers(type, (row) => chosen(row)?.number(row) ?? Number.NaN);
    return ofValues(type, (row) => chosen(row)?.value(row));
  },
};

function typeOfBranches(branches: readonly Expression[]): DataType | undefined {
  const [{ type }] = branches;
  if (branches.every((branch) => branch.type === type)) return type;
  return branches.every((branch) => isArithmetic(branch.type)) ? commonType(branches) : undefined;
}

const isField = (expression: Expression): expression is Field => 'slot' in expression;

/** Whether a value is in the domain of its field; what is missing is neither valid nor not. */
function validity(wanted: boolean): BuiltIn {
  return {
    min: 1,
    max: 1,
    compile: ({ args: [first] }) => {
      const isValid = isField(first) ? first.isValid : (): boolean => true;
      return ofNumbers('boolean', (row) => {
        const value = first.value(row);
        return value !== undefined && isValid(value) === wanted ? 1 : 0;
      });
    },
  };
}

/** Neither before nor after nor equal: two values of types that cannot be compared. */
const INCOMPARABLE = 2;

/** Compares two values: -1, 0, 1, INCOMPARABLE, or NaN where one is missing. */
function comparison(left: Expression, right: Expression): (row: Row) => number {
  const order = isField(left) && left.order.length > 0 && left.optype === 'ordinal' ? left.order : undefined;
  if (order !== undefined && !(isField(right) && right.optype !== 'ordinal')) return byOrder(left, right, order);
  if (isNumeric(left.type) && isNumeric(right.type) && !isCalendar(left.type) && !isCalendar(right.type)) {
    const [first, second] = [left.number, right.number];
    return (row) => compareNumbers(first(row), second(row));
  }
  const type = left.type;
  return (row) => {
    const [first, second] = [left.value(row), right.value(row)];
    return first === undefined || second === undefined ? Number.NaN : compareValues(first, second, type, right.type);
  };
}

const isCalendar = (type: DataType | undefined): boolean => type === 'date' || type === 'dateTime' || type === 'time';

function compareNumbers(x: number, y: number): number {
  // Not a difference, which two infinities do not have.
  return x < y ? -1 : x > y ? 1 : x === y ? 0 : Number.NaN;
}

/** The right value is taken as the type of the left one. */
function compareValues(
  first: Value,
  second: Value,
  type: DataType | undefined,
  secondType: DataType | undefined,
): number {
  if (typeof first === 'object' || typeof second === 'object') return INCOMPARABLE;
  if (typeof first === 'number' && typeof second === 'number' && (type === secondType || type === undefined))
    return compareNumbers(first, second);
  if (typeof first === 'string' && typeof second === 'string') return first < second ? -1 : first > second ? 1 : 0;
  const asFirst = castComputed(second, typeOf(first, type), secondType);
  if (asFirst === undefined || typeof asFirst === 'object') return INCOMPARABLE;
  if (typeof first === 'string') return first < String(asFirst) ? -1 : first > String(asFirst) ? 1 : 0;
  return compareNumbers(Number(first), Number(asFirst));
}

function typeOf(value: number | string | boolean, type: DataType | undefined): DataType {
  if (type !== undefined && type !== 'integer') return type;
  return typeof value === 'number' ? 'double' : typeof value === 'boolean' ? 'boolean' : 'string';
}

function byOrder(left: Expression, right: Expression, order: readonly Value[]): (row: Row) => number {
  const ranks = new Map(order.map((value, index) => [value, index]));
  const type = left.type as DataType;
  return (row) => {
    const [first, second] = [left.value(row), right.value(row)];
    if (first === undefined || second === undefined) return Number.NaN;
    const [one, other] = [ranks.get(first), ranks.get(castInput(second, type) ?? second)];
    return one === undefined || other === undefined
      ? compareValues(first, second, type, right.type)
      : compareNumbers(one, other);
  };
}

/** `equal` and the like; values that are of types that cannot be compared are not equal, and in no order. */
function compared(decide: (order: number) => boolean, whenIncomparable: 0 | 1): BuiltIn {
  return {
    min: 2,
    max: 2,
    compile: ({ args: [left, right] }) => {
      const code = codeComparison(left, right);
      if (code !== undefined) {
        // Only equality: an order needs the texts.
        const [isEqual, isDifferent] = [decide(0) ? 1 : 0, decide(-1) && decide(1) ? 1 : 0];
        if (isEqual !== isDifferent && decide(-1) === decide(1))
          return ofNumbers('boolean', (row) => {
            const same = code(row);
            return Number.isNaN(same) ? Number.NaN : same === 1 ? isEqual : isDifferent;
          });
      }
      const compare = comparison(left, right);
      return ofNumbers('boolean', (row) => {
        const order = compare(row);
        if (Number.isNaN(order)) return Number.NaN;
        return order === INCOMPARABLE ? whenIncomparable : decide(order) ? 1 : 0;
      });
    },
  };
}

/** A field of texts against a literal: their codes are compared. */
function codeComparison(left: Expression, right: Expression): ((row: Row) => number) | undefined {
  if (!isField(left) || left.dictionary === undefined || typeof right.constant?.value !== 'string') return undefined;
  const { slot, ensure } = left;
  const code = left.dictionary.add(right.constant.value);
  return (row) => {
    ensure?.(row);
    const given = row.numbers[slot];
    return Number.isNaN(given) ? Number.NaN : given === code ? 1 : 0;
  };
}

/** `isIn` and `isNotIn`: a missing value is in no list. */
function membership(wanted: boolean): BuiltIn {
  return {
    min: 2,
    max: Number.POSITIVE_INFINITY,
    compile: ({ args: [first, ...others] }) => {
      const compares = others.map((other) => comparison(first, other));
      return ofNumbers('boolean', (row) => {
        for (const compare of compares) if (compare(row) === 0) return wanted ? 1 : 0;
        return wanted ? 0 : 1;
      });
    },
  };
}

export const LOGIC: ReadonlyMap<string, BuiltIn> = new Map([
  ['isMissing', ofMissing((isMissing) => isMissing)],
  ['isNotMissing', ofMissing((isMissing) => !isMissing)],
  ['isValid', validity(true)],
  ['isNotValid', validity(false)],
  ['equal', compared((order) => order === 0, 0)],
  ['notEqual', compared((order) => order !== 0, 1)],
  ['lessThan', compared((order) => order < 0, 0)],
  ['lessOrEqual', compared((order) => order <= 0, 0)],
  ['greaterThan', compared((order) => order > 0, 0)],
  ['greaterOrEqual', compared((order) => order >= 0, 0)],
  ['isIn', membership(true)],
  ['isNotIn', membership(false)],
  ['and', logical(0)],
  ['or', logical(1)],
  ['not', negation],
  ['if', conditional],
]);
