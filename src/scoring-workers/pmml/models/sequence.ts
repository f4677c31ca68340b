import { arrayIn, readTexts } from '../document/arrays.ts';
import { type Element, PmmlError } from '../document/element.ts';
import type { Field } from '../fields/field.ts';
import { textOf, type Value } from '../fields/types.ts';
import { type Model, type ModelContext, Prediction, type RankedRule } from './model.ts';

/** Items that come at one time. */
type ItemSet = ReadonlySet<string>;

interface Rule extends RankedRule {
  readonly from: readonly ItemSet[];
  readonly to: readonly ItemSet[];
}

/**
 * SequenceModel: what comes next, by the first rule whose antecedent sequence is in the record's sequence, in order. The
 * standard describes sequences and rules and fixes no result; this is what engines agree on. A record's sequence is a list
 * of items, or of lists of items that come together.
 */
export function compileSequence(context: ModelContext): Model {
  const { element, scope } = context;
  const items = new Map(element.childrenOf('Item').map((item) => [item.required('id'), item.required('value')]));
  const sets = new Map(
    element.childrenOf('Itemset', 'SetPredicate').map((set) => [set.required('id'), itemsOf(set, items)]),
  );
  const sequences = new Map(element.childrenOf('Sequence').map((one) => [one.required('id'), setsOf(one, sets)]));
  const rules = element.childrenOf('SequenceRule').map((rule) => readRule(rule, sequences));
  const fields = context.activeFields.map((name) => scope.field(name, element));
  const prediction = new Prediction();
  return {
    prediction,
    bytes: items.size * 100 + rules.length * 500,
    evaluate: (row) => {
      prediction.clear();
      const given = fields.map((field) => sequenceOf(field, field.value(row))).flat();
      if (given.length === 0) return;
      const fired = rules.filter((rule) => contains(given, rule.from));
      prediction.rules = () => fired;
      const [first] = fired;
      if (first === undefined) return;
      const next = [...(first.to[0] ?? [])];
      prediction.setValue(next.length === 1 ? next[0] : next);
      prediction.entityId = first.id;
      prediction.affinity = first.confidence;
    },
    explain: (_, trace) => {
      trace.line('[SequenceModel]');
      for (const { id } of prediction.rules?.('recommendation') ?? []) trace.line(`The rule [${id}] fires`);
    },
  };
}

/** Items by reference, or of a SetPredicate their values. */
function itemsOf(set: Element, items: ReadonlyMap<string, string>): ItemSet {
  if (set.name === 'SetPredicate') {
    set.oneOf('operator', ['supersetOf'] as const, 'supersetOf');
    return new Set(readTexts(arrayIn(set)));
  }
  return new Set(
    set.childrenOf('ItemRef').map((ref) => {
      const text = items.get(ref.required('itemRef'));
      if (text === undefined) throw new PmmlError(ref, `unknown item '${ref.required('itemRef')}'`);
      return text;
    }),
  );
}

function setsOf(sequence: Element, sets: ReadonlyMap<string, ItemSet>): readonly ItemSet[] {
  return sequence.childrenOf('SetReference').map((ref) => {
    const set = sets.get(ref.required('setId'));
    if (set === undefined) throw new PmmlError(ref, `unknown set '${ref.required('setId')}'`);
    return set;
  });
}

function readRule(element: Element, sequences: ReadonlyMap<string, readonly ItemSet[]>): Rule {
  const side = (name: string): readonly ItemSet[] => {
    const ref = element.child(name)?.child('SequenceReference');
    if (ref === undefined) throw new PmmlError(element, `a ${name} with a SequenceReference is missing`);
    const sequence = sequences.get(ref.required('seqId'));
    if (sequence === undefined) throw new PmmlError(ref, `unknown sequence '${ref.required('seqId')}'`);
    return sequence;
  };
  const [from, to] = [side('AntecedentSequence'), side('ConsequentSequence')];
  return {
    id: element.required('id'),
    from,
    to,
    antecedent: from.flatMap((set) => [...set]),
    consequent: to.flatMap((set) => [...set]),
    support: element.requiredNumber('support'),
    confidence: element.requiredNumber('confidence'),
    lift: element.number('lift'),
    leverage: undefined,
    affinity: undefined,
  };
}

function sequenceOf(field: Field, value: Value | undefined): ItemSet[] {
  if (value === undefined) return [];
  const list = Array.isArray(value) ? (value as readonly Value[]) : [value];
  return list.map((one) =>
    Array.isArray(one)
      ? new Set((one as readonly Value[]).map((item) => textOf(item, field.type)))
      : new Set([textOf(one, field.type)]),
  );
}

/** Whether the sets of a sequence are in the given ones, in order, with others between them or not. */
function contains(given: readonly ItemSet[], sequence: readonly ItemSet[]): boolean {
  let at = 0;
  for (const set of given) {
    const wanted = sequence[at];
    if (wanted === undefined) break;
    if ([...wanted].every((item) => set.has(item))) at++;
  }
  return at === sequence.length;
}
