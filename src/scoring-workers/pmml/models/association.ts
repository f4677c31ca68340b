import { type Element, PmmlError } from '../document/element.ts';
import type { Field } from '../fields/field.ts';
import type { Row } from '../fields/row.ts';
import { textOf } from '../fields/types.ts';
import { type Model, type ModelContext, Prediction, type RankedRule, type RuleAlgorithm, type Trace } from './model.ts';

interface Item {
  readonly text: string;
  /** Whether the record has it where items are not listed in a basket: by its own field. */
  readonly isIn: ((row: Row) => boolean) | undefined;
}

interface Rule extends RankedRule {
  /** Indexes of items. */
  readonly if: Int32Array;
  readonly then: Int32Array;
}

/**
 * AssociationModel: the rules that fire for a basket (Association Rules of the standard). A basket is a list of items in a
 * field, or a field for each item.
 */
export function compileAssociation(context: ModelContext): Model {
  const { element, scope } = context;
  const fields = context.activeFields.map((name) => scope.find(name, element)).filter((field) => field !== undefined);
  const items = readItems(element, fields);
  const sets = readItemsets(element, items.indexes);
  const rules = element.childrenOf('AssociationRule').map((rule, index) => readRule(rule, index, sets, items.list));
  return new AssociationModel(fields, items.list, rules);
}

function readItems(element: Element, fields: readonly Field[]): { list: Item[]; indexes: Map<string, number> } {
  const list: Item[] = [];
  const indexes = new Map<string, number>();
  for (const child of element.childrenOf('Item')) {
    const id = child.required('id');
    if (indexes.has(id)) throw new PmmlError(child, `there are two items '${id}'`);
    indexes.set(id, list.length);
    const text = child.attribute('value') ?? child.required('category');
    list.push({ text, isIn: presence(child, text, fields) });
  }
  return { list, indexes };
}

/** An item that is a value of a field (`field` and `category`, or `name=value`), or a field of its own that is true. */
function presence(element: Element, text: string, fields: readonly Field[]): Item['isIn'] {
  const named = element.attribute('field');
  if (named !== undefined) {
    const field = fields.find(({ name }) => name === named);
    if (field === undefined) throw new PmmlError(element, `unknown field '${named}'`);
    return equals(field, element.attribute('category') ?? text);
  }
  const own = fields.find(({ name }) => name === text);
  if (own !== undefined) return isTrue(own);
  for (const field of fields)
    if (text.startsWith(`${field.name}=`)) return equals(field, text.slice(field.name.length + 1));
  return undefined;
}

function equals(field: Field, text: string): (row: Row) => boolean {
  return (row) => {
    const value = field.value(row);
    return value !== undefined && !Array.isArray(value) && textOf(value, field.type) === text;
  };
}

function isTrue(field: Field): (row: Row) => boolean {
  return (row) => {
    const value = field.value(row);
    return value === true || value === 1 || value === '1' || value === 'true' || value === 'T' || value === field.name;
  };
}

function readItemsets(element: Element, items: ReadonlyMap<string, number>): ReadonlyMap<string, Int32Array> {
  const sets = new Map<string, Int32Array>();
  for (const child of element.childrenOf('Itemset')) {
    const indexes = child.childrenOf('ItemRef').map((ref) => {
      const index = items.get(ref.required('itemRef'));
      if (index === undefined) throw new PmmlError(ref, `unknown item '${ref.required('itemRef')}'`);
      return index;
    });
    sets.set(child.required('id'), Int32Array.from(indexes));
  }
  return sets;
}

function readRule(
  element: Element,
  index: number,
  sets: ReadonlyMap<string, Int32Array>,
  items: readonly Item[],
): Rule {
  const set = (name: string): Int32Array => {
    const found = sets.get(element.required(name));
    if (found === undefined) throw new PmmlError(element, `unknown itemset '${element.required(name)}'`);
    return found;
  };
  const texts = (indexes: Int32Array): string[] => Array.from(indexes, (at) => (items[at] as Item).text);
  const [antecedent, consequent] = [set('antecedent'), set('consequent')];
  return {
    id: element.attribute('id') ?? String(index + 1),
    if: antecedent,
    // biome-ignore lint/suspicious/noThenProperty: the second half of a rule, which is never awaited
    then: consequent,
    antecedent: texts(antecedent),
    consequent: texts(consequent),
    support: element.requiredNumber('support'),
    confidence: element.requiredNumber('confidence'),
    lift: element.number('lift'),
    leverage: element.number('leverage'),
    affinity: element.number('affinity'),
  };
}

class AssociationModel implements Model {
  readonly prediction = new Prediction();
  readonly bytes: number;
  readonly #fields: readonly Field[];
  readonly #items: readonly Item[];
  readonly #rules: readonly Rule[];
  readonly #indexes = new Map<string, number>();
  /** Of the record: which items it has. */
  readonly #basket: Uint8Array;

  constructor(fields: readonly Field[], items: readonly Item[], rules: readonly Rule[]) {
    this.#fields = fields;
    this.#items = items;
    this.#rules = rules;
    items.forEach(({ text }, index) => {
      this.#indexes.set(text, index);
    });
    this.#basket = new Uint8Array(items.length);
    this.bytes =
      items.length * 120 + rules.reduce((sum, rule) => sum + 300 + (rule.if.length + rule.then.length) * 24, 0);
  }

  evaluate(row: Row): void {
    const basket = this.#basket;
    basket.fill(0);
    for (const field of this.#fields) {
      const value = field.value(row);
      if (Array.isArray(value)) for (const one of value) this.#put(textOf(one, field.type));
      else if (value !== undefined) this.#put(textOf(value, field.type));
    }
    this.#items.forEach(({ isIn }, index) => {
      if (isIn?.(row) === true) basket[index] = 1;
    });
    const { prediction } = this;
    prediction.clear();
    prediction.rules = this.#fired;
    const best = this.#best();
    prediction.entityId = best?.id;
    prediction.setValue(
      best === undefined ? undefined : best.consequent.length === 1 ? best.consequent[0] : best.consequent,
    );
    if (best !== undefined) prediction.affinity = best.confidence;
  }

  #put(text: string): void {
    const index = this.#indexes.get(text);
    if (index !== undefined) this.#basket[index] = 1;
  }

  /** The recommendation of something that is not in the basket with the highest confidence, the first of equal ones. */
  #best(): RankedRule | undefined {
    let best: RankedRule | undefined;
    for (const rule of this.#fired('exclusiveRecommendation'))
      if (best === undefined || rule.confidence > best.confidence) best = rule;
    return best;
  }

  readonly #fired = (algorithm: RuleAlgorithm): readonly RankedRule[] =>
    this.#rules.filter((rule) => {
      if (!this.#has(rule.if)) return false;
      if (algorithm === 'recommendation') return true;
      return this.#has(rule.then) === (algorithm === 'ruleAssociation');
    });

  #has(indexes: Int32Array): boolean {
    for (const index of indexes) if (this.#basket[index] === 0) return false;
    return true;
  }

  explain(_: Row, trace: Trace): void {
    trace.line('[AssociationModel]');
    for (const { id, antecedent, consequent } of this.#fired('recommendation'))
      trace.line(`The rule [${id}] {${antecedent.join(',')}}->{${consequent.join(',')}} fires`);
  }
}
