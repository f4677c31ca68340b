/** Expressions and predicates of PMML over fields, without a model. */
import { readDocument } from '../../../src/scoring-workers/pmml/document/reader.ts';
import { compileExpression, namesOf } from '../../../src/scoring-workers/pmml/expressions/compile.ts';
import { readDataField } from '../../../src/scoring-workers/pmml/fields/data-field.ts';
import type { Expression } from '../../../src/scoring-workers/pmml/fields/expression.ts';
import { type Field, makeField, store } from '../../../src/scoring-workers/pmml/fields/field.ts';
import { Dictionary, Row } from '../../../src/scoring-workers/pmml/fields/row.ts';
import { type Names, Scope, type Table } from '../../../src/scoring-workers/pmml/fields/scope.ts';
import { castInput, isNumeric, type Value } from '../../../src/scoring-workers/pmml/fields/types.ts';
import { compilePredicate } from '../../../src/scoring-workers/pmml/predicates/compile.ts';
import { TRUE, UNKNOWN } from '../../../src/scoring-workers/pmml/predicates/predicate.ts';

export type Input = Readonly<Record<string, unknown>>;

interface Among {
  /** `<DataField>` elements. */
  readonly fields?: string;
  /** `<DefineFunction>` and `<DerivedField>` elements. */
  readonly transformations?: string;
  readonly tables?: Readonly<Record<string, Table>>;
}

interface Ready {
  readonly names: Names;
  readonly scope: Scope;
  /** Makes the row when everything is compiled. */
  row(): { readonly row: Row; next(input: Input): Row };
}

function ready({ fields = '', transformations = '', tables = {} }: Among): Ready {
  const document = readDocument(`<PMML>${fields}${transformations}</PMML>`);
  const named = (name: string) =>
    new Map(document.childrenOf(name).map((element) => [element.required('name'), element] as const));
  const names = namesOf({
    globals: named('DerivedField'),
    functions: named('DefineFunction'),
    table: (name) => tables[name],
  });
  const scope = new Scope(names);
  const inputs: Field[] = document.childrenOf('DataField').map((element) => {
    const { name, type, optype, valid, isValid } = readDataField(element);
    const dictionary = isNumeric(type) ? undefined : new Dictionary();
    const field = makeField({ name, type, optype, slot: names.slots.take(), dictionary, order: valid, isValid });
    scope.declare(field);
    return field;
  });
  return {
    names,
    scope,
    row: () => {
      const row = new Row(names.slots.count);
      const next = (input: Input): Row => {
        if (row.epoch > 0) names.lookBack.advance(row);
        row.epoch++;
        for (const { name, type, slot, dictionary } of inputs) {
          const given = input[name];
          const value: Value | undefined =
            given === undefined || given === null
              ? undefined
              : Array.isArray(given)
                ? (given as Value[])
                : castInput(given, type);
          store(row, slot, value, dictionary);
        }
        return row;
      };
      return { row, next };
    },
  };
}

/** `evaluate` gives the value for a record (undefined: missing), and looks whether the number is the same. */
export function expression(
  xml: string,
  among: Among = {},
): { readonly compiled: Expression; readonly row: Row; evaluate(input?: Input): Value | undefined } {
  const { scope, row } = ready(among);
  const compiled = compileExpression(readDocument(xml), scope);
  const made = row();
  return {
    compiled,
    row: made.row,
    evaluate(input = {}) {
      const current = made.next(input);
      const value = compiled.value(current);
      const number = compiled.number(current);
      const wanted = typeof value === 'boolean' ? Number(value) : typeof value === 'number' ? value : Number.NaN;
      if (!Object.is(number, wanted)) throw new Error(`the value is ${String(value)}, the number ${number}`);
      return value;
    },
  };
}

/** Gives true, false, or null for unknown. */
export function predicate(xml: string, among: Among = {}): (input?: Input) => boolean | null {
  const { scope, row } = ready(among);
  const compiled = compilePredicate(readDocument(xml), scope);
  const made = row();
  return (input = {}) => {
    const truth = compiled(made.next(input));
    return truth === UNKNOWN ? null : truth === TRUE;
  };
}
