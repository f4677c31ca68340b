import { type Element, PmmlError } from '../document/element.ts';
import type { Value } from '../fields/types.ts';
import type { Prediction, RankedRule, RuleAlgorithm } from '../models/model.ts';

export const RULE_ALGORITHMS = [
  'recommendation',
  'exclusiveRecommendation',
  'ruleAssociation',
] as const satisfies RuleAlgorithm[];
const BASES = ['confidence', 'support', 'lift', 'leverage', 'affinity'] as const;

/** Affinity of a rule: what of the baskets with either side have both. Rules tell it only by support and confidence. */
function affinityOf(rule: RankedRule): number | undefined {
  const { support, confidence, lift } = rule;
  if (rule.affinity !== undefined) return rule.affinity;
  if (lift === undefined || lift === 0 || confidence === 0) return undefined;
  const antecedent = support / confidence;
  const consequent = confidence / lift;
  return support / (antecedent + consequent - support);
}

const MEASURES: Readonly<Record<(typeof BASES)[number], (rule: RankedRule) => number | undefined>> = {
  confidence: (rule) => rule.confidence,
  support: (rule) => rule.support,
  lift: (rule) => rule.lift,
  leverage: (rule) => rule.leverage,
  affinity: affinityOf,
};

const braces = (items: readonly string[]): string => `{${items.join(',')}}`;

const FEATURES: Readonly<Record<string, (rule: RankedRule) => Value | undefined>> = {
  antecedent: (rule) => rule.antecedent,
  consequent: (rule) => rule.consequent,
  rule: (rule) => `${braces(rule.antecedent)}->${braces(rule.consequent)}`,
  ruleId: (rule) => rule.id,
  ...MEASURES,
};

/**
 * An output about the rules of an association that fired: of the rule of a rank, or of all (`rank="0"`, or several by
 * `isMultiValued`).
 */
export function ruleFeature(
  element: Element,
  feature: string,
  prediction: () => Prediction,
): { readonly type: undefined; readonly value: () => Value | undefined } {
  const read = Object.hasOwn(FEATURES, feature) ? FEATURES[feature] : undefined;
  if (read === undefined)
    throw new PmmlError(element, `'ruleFeature' is '${feature}'; it may be ${Object.keys(FEATURES).join(', ')}`);
  const algorithm = element.oneOf('algorithm', RULE_ALGORITHMS, 'exclusiveRecommendation');
  const measure = MEASURES[element.oneOf('rankBasis', BASES, 'confidence')];
  const sign = element.oneOf('rankOrder', ['descending', 'ascending'] as const, 'descending') === 'descending' ? -1 : 1;
  const isMultiValued = element.flag('isMultiValued', false);
  const rank = element.number('rank', 1);
  return {
    type: undefined,
    value: () => {
      const fired = prediction().rules?.(algorithm) ?? [];
      const ordered =
        fired.length < 2 ? fired : [...fired].sort((a, b) => sign * ((measure(a) ?? 0) - (measure(b) ?? 0)));
      if (!isMultiValued) {
        const rule = ordered[Math.max(rank, 1) - 1];
        return rule === undefined ? undefined : read(rule);
      }
      const chosen = rank > 0 ? ordered.slice(0, rank) : ordered;
      return chosen.map((rule) => read(rule)).filter((value) => value !== undefined);
    },
  };
}
