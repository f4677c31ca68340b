/**
 * A query as conditions over the table managed_objects, or over alarms. Everything that comes from the query is a bound
 * parameter, names of properties too. A value is looked for below arrays: one element that fulfils a comparison is
 * enough.
 */
import { ALARM_SEVERITIES, ALARM_STATUSES } from '../../model/entities/alarm.ts';
import { NOT_FRAGMENTS } from '../../model/entities/fragments.ts';
import { namesOfFragment } from '../../model/entities/agent-marker.ts';
import { parseTime } from '../../model/documents/iso-time.ts';
import type { Expression, Literal, Operator, OrderBy, Path } from './parser.ts';

/** Makes places of bound parameters. */
export interface ParameterBinder {
  /** @returns the place, `{name:Type}`. */
  bind(type: string, value: unknown): string;
}

/** What the functions of a query need from the hierarchy, looked up before. */
export interface HierarchyAnswers {
  /** Conditions of `bygroupid` and `isinhierarchyof`, by expression. */
  readonly conditions: ReadonlyMap<Expression, string>;
}

const SIGNS: Readonly<Record<Operator, string>> = { eq: '=', ne: '=', gt: '>', ge: '>=', lt: '<', le: '<=' };
/** The id has two names: public clients write the second one. */
const ID_NAMES: ReadonlySet<string> = new Set(['id', '_id']);

/** Members of documents that are columns of their table; all others are looked for in the document. */
export interface QueryColumns {
  /** Names of member and column; an absent member is ''. */
  readonly texts: ReadonlySet<string>;
  readonly times: ReadonlyMap<string, string>;
  /** Values in their order, of those columns of text that are not ordered by the alphabet. */
  readonly ranked: ReadonlyMap<string, readonly string[]>;
}
const INVENTORY_COLUMNS: QueryColumns = {
  texts: new Set(['type', 'name', 'owner']),
  times: new Map([
    ['creationTime', 'creation_time'],
    ['lastUpdated', 'last_updated'],
  ]),
  ranked: new Map(),
};
export const ALARM_COLUMNS: QueryColumns = {
  texts: new Set(['type', 'status', 'severity']),
  times: new Map([...INVENTORY_COLUMNS.times, ['time', 'time']]),
  ranked: new Map<string, readonly string[]>([
    ['status', ALARM_STATUSES],
    ['severity', ALARM_SEVERITIES],
  ]),
};
/** ISO 8601 as model/documents/iso-time.ts reads it, in years that the store has. */
const TIME_PATTERN =
  '^(19|2[012])\\\\d\\\\d-\\\\d\\\\d-\\\\d\\\\d' +
  '([Tt ]([01]\\\\d|2[0-3]):[0-5]\\\\d(:[0-5]\\\\d(\\\\.\\\\d+)?)?([Zz]|[+-][01]\\\\d(:?[0-5]\\\\d)?)?)?$';
/** Clients that read all page by page ask for those behind the last id, and begin behind 0. */
const ID = /^(0|[1-9]\d{0,15})$/;

export class QueryCompiler {
  readonly #binder: ParameterBinder;
  readonly #hierarchy: HierarchyAnswers;

  readonly #columns: QueryColumns;

  constructor(binder: ParameterBinder, hierarchy: HierarchyAnswers, columns = INVENTORY_COLUMNS) {
    this.#binder = binder;
    this.#hierarchy = hierarchy;
    this.#columns = columns;
  }

  condition(expression: Expression): string {
    switch (expression.kind) {
      case 'and':
      case 'or':
        return `(${expression.operands.map((operand) => this.condition(operand)).join(expression.kind === 'and' ? ' AND ' : ' OR ')})`;
      case 'not':
        return `NOT (${this.condition(expression.operand)})`;
      case 'has':
        return `(${expression.paths.map((path) => this.#has(path)).join(' OR ')})`;
      case 'comparison': {
        const condition = this.#comparison(this.#withoutDate(expression.path), expression.operator, expression.literal);
        return expression.operator === 'ne' ? `NOT (${condition})` : condition;
      }
      default: {
        const condition = this.#hierarchy.conditions.get(expression);
        if (condition === undefined) throw new Error(`${expression.kind} was not looked up`);
        return condition;
      }
    }
  }

  /** ORDER BY without the keyword: missing values first, then numbers, texts, anything else; at last by id. */
  order(list: readonly OrderBy[]): string {
    return [
      ...list.map(
        ({ path, isDescending }) => `${this.#orderOf(this.#withoutDate(path))}${isDescending ? ' DESC' : ''}`,
      ),
      'id',
    ].join(', ');
  }

  /** `creationTime.date` is `creationTime`. */
  #withoutDate(path: Path): Path {
    return path.length === 2 && path[1] === 'date' && this.#columns.times.has(path[0]) ? [path[0]] : path;
  }

  /** The value is written once, as the argument of a function: the engine works through each copy of its path. */
  #orderOf(path: Path): string {
    const [name] = path;
    if (path.length === 1) {
      if (ID_NAMES.has(name)) return 'id';
      const { texts, times, ranked } = this.#columns;
      const [values, time] = [ranked.get(name), times.get(name)];
      if (values !== undefined) return `indexOf(${this.#binder.bind('Array(String)', values)}, ${name})`;
      if (texts.has(name)) return name;
      if (time !== undefined) return time;
    }
    const rank = `multiIf(v IN ('', 'null'), 0, ${isNumber('v')}, 1, ${isText('v')}, 2, 3)`;
    const keys = `tuple(${rank}, if(${isNumber('v')}, JSONExtractFloat(v), 0), if(${isText('v')}, JSONExtractString(v), ''))`;
    return `arrayMap(v -> ${keys}, [(${this.#values(path)})[1]])[1]`;
  }

  #has(path: Path): string {
    if (path.length === 1 && !NOT_FRAGMENTS.has(path[0])) {
      return `(${namesOfFragment(path[0])
        .map((name) => `has(fragments, ${this.#binder.bind('String', name)})`)
        .join(' OR ')})`;
    }
    return `notEmpty(${this.#found(path)})`;
  }

  #comparison(path: Path, operator: Operator, literal: Literal): string {
    const [name] = path;
    if (path.length === 1) {
      if (ID_NAMES.has(name)) return this.#idComparison(operator, literal);
      const column =
        this.#columns.texts.has(name) && literal.kind === 'text'
          ? this.#columnComparison(name, operator, literal.pieces)
          : undefined;
      if (column !== undefined) return column;
      const timeColumn = this.#columns.times.get(name);
      const time = timeColumn === undefined ? undefined : timeOf(literal);
      if (time !== undefined)
        return `toUnixTimestamp64Milli(${timeColumn}) ${SIGNS[operator]} ${this.#binder.bind('Int64', time)}`;
    }
    const values = this.#values(path);
    if (literal.kind === 'null') return `(empty(${values}) OR has(${values}, 'null'))`;
    if (literal.kind === 'boolean') return `has(${values}, '${literal.value ? 'true' : 'false'}')`;
    const exists = `arrayExists(x -> ${this.#valueComparison('x', operator, literal)}, ${values})`;
    return [...this.#cheapConditions(path, operator, literal), exists].join(' AND ');
  }

  /**
   * What has to hold for a value at the path to fulfil the comparison, and is seen without looking into the document: 1
   * million objects by a serial number took 2 s CPU without it.
   */
  #cheapConditions(
    [first]: Path,
    operator: Operator,
    literal: Extract<Literal, { kind: 'text' | 'number' }>,
  ): string[] {
    const conditions = NOT_FRAGMENTS.has(first) ? [] : [`has(fragments, ${this.#binder.bind('String', first)})`];
    if (literal.kind === 'text' && (operator === 'eq' || operator === 'ne') && timeOf(literal) === undefined) {
      const longest = literal.pieces.reduce((left, right) => (right.length > left.length ? right : left));
      // A document with a backslash may spell the text in another way.
      if (longest !== '')
        conditions.push(`(position(doc, ${this.#binder.bind('String', longest)}) > 0 OR position(doc, '\\\\') > 0)`);
    }
    return conditions;
  }

  /** @param value SQL of the JSON text of one value. */
  #valueComparison(value: string, operator: Operator, literal: Extract<Literal, { kind: 'text' | 'number' }>): string {
    if (literal.kind === 'number') {
      return `(${isNumber(value)} AND JSONExtractFloat(${value}) ${SIGNS[operator]} ${this.#binder.bind('Float64', literal.value)})`;
    }
    const text = `JSONExtractString(${value})`;
    const time = timeOf(literal);
    const isEquality = operator === 'eq' || operator === 'ne';
    const byText = isEquality
      ? this.#textEquality(text, literal.pieces)
      : `${text} ${SIGNS[operator]} ${this.#binder.bind('String', literal.pieces.join('*'))}`;
    if (time === undefined) return `(${isText(value)} AND ${byText})`;
    // Times are compared as such, whatever their offsets: a text that is none is compared as a text.
    const byTime = `ifNull(${parsedTime(text)} ${SIGNS[operator]} ${this.#binder.bind('Int64', time)}, 0)`;
    return `(${isText(value)} AND if(${isTime(text)}, ${byTime}, ${byText}))`;
  }

  #textEquality(text: string, pieces: readonly string[]): string {
    if (pieces.length === 1) return `${text} = ${this.#binder.bind('String', pieces[0])}`;
    return `${text} LIKE ${this.#binder.bind('String', pieces.map((piece) => piece.replace(/[\\%_]/g, '\\$&')).join('%'))}`;
  }

  /**
   * Absent is an empty text there: comparisons that an empty text would fulfil, and those of times, look into the
   * document.
   */
  #columnComparison(column: string, operator: Operator, pieces: readonly string[]): string | undefined {
    if (timeOf({ kind: 'text', pieces }) !== undefined) return undefined;
    const text = pieces.join('*');
    if (operator === 'eq' || operator === 'ne') {
      return pieces.some((piece) => piece !== '') ? this.#textEquality(column, pieces) : undefined;
    }
    return (operator === 'gt' || operator === 'ge') && text !== ''
      ? `${column} ${SIGNS[operator]} ${this.#binder.bind('String', text)}`
      : undefined;
  }

  /** Ids are compared as numbers; as texts where they hold wildcards. */
  #idComparison(operator: Operator, literal: Literal): string {
    if (literal.kind === 'boolean' || literal.kind === 'null') return '0';
    const pieces = literal.kind === 'number' ? [String(literal.value)] : literal.pieces;
    if (pieces.length > 1 && (operator === 'eq' || operator === 'ne'))
      return this.#textEquality('toString(id)', pieces);
    const text = pieces.join('*');
    return ID.test(text) && Number.isSafeInteger(Number(text))
      ? `id ${SIGNS[operator]} ${this.#binder.bind('UInt64', Number(text))}`
      : '0';
  }

  /**
   * JSON texts of the values at the path, elements of an array one by one; `….date` is also a stored time itself
   * (docs/spec/queries.md#dates).
   */
  #values(path: Path): string {
    const values = this.#valuesAt(path);
    if (path.length === 1 || path[path.length - 1] !== 'date') return values;
    const isStoredTime = `${isText('x')} AND ${isTime('JSONExtractString(x)')}`;
    return `arrayConcat(${values}, arrayFilter(x -> ${isStoredTime}, ${this.#valuesAt(path.slice(0, -1))}))`;
  }

  #valuesAt(path: Path): string {
    return `arrayFilter(y -> y != '', arrayFlatten(arrayMap(x -> if(startsWith(x, '['), JSONExtractArrayRaw(x), [x]), ${this.#found(path)})))`;
  }

  /** JSON texts of what is at the path, arrays as such. */
  #found(path: Path): string {
    const [first, ...others] = path.map((name) => this.#binder.bind('String', name));
    const top = `[JSONExtractRaw(doc, ${first})]`;
    const found = others.reduce(
      (from, name) =>
        `arrayFlatten(arrayMap(x -> if(startsWith(x, '['), arrayMap(y -> JSONExtractRaw(y, ${name}), JSONExtractArrayRaw(x)), ` +
        `[JSONExtractRaw(x, ${name})]), ${from}))`,
      top,
    );
    return `arrayFilter(z -> z != '', ${found})`;
  }
}

const isText = (value: string): string => `startsWith(${value}, '"')`;
const parsedTime = (text: string): string =>
  `toUnixTimestamp64Milli(parseDateTime64BestEffortOrNull(${text}, 3, 'UTC'))`;
const isTime = (text: string): string => `(match(${text}, '${TIME_PATTERN}') AND isNotNull(${parsedTime(text)}))`;
const isNumber = (value: string): string => `match(${value}, '^-?[0-9]')`;

/** Milliseconds since 1970 of a literal that is a time. */
function timeOf(literal: Literal): number | undefined {
  return literal.kind === 'text' && literal.pieces.length === 1
    ? parseTime(literal.pieces[0], { spaceIsPlus: true })
    : undefined;
}
