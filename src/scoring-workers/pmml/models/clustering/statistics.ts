/** Clusters that are told by statistics of their records (docs/spec/pmml-clusters.md#clusters). */
import { ARRAY_NAMES, readNumbers, readTexts } from '../../document/arrays.ts';
import { type Element, numberOf, PmmlError } from '../../document/element.ts';
import type { Field } from '../../fields/field.ts';
import { castText, type Value } from '../../fields/types.ts';
import { asNumber, type Compare, type ComparedField, comparedField, type Measure, readMeasure } from '../comparison.ts';
import type { ModelContext } from '../model.ts';

/** What distribution-based clusters hold: centers with covariances, statistics of each field, or centers alone. */
export function distributionKind(elements: readonly Element[], model: Element): 'mixture' | 'statistics' | 'centers' {
  const all = (...names: readonly string[]): boolean =>
    elements.every((element) => element.childrenOf(...names).length > 0);
  if (all('Covariances') && all(...ARRAY_NAMES)) return 'mixture';
  if (all('Partition')) return 'statistics';
  if (all(...ARRAY_NAMES)) return 'centers';
  throw new PmmlError(model, 'its clusters have neither Partition, nor Covariances with a center, nor a center');
}

/** A value of the distribution of a field in one cluster, and how many records have it. */
interface Share {
  readonly value: number;
  readonly count: number;
}

/**
 * A field is compared with a cluster by the mean of its comparisons with the cluster's records. A center is the number of its
 * cluster here, in each field.
 */
export function statisticsForm(
  context: ModelContext,
  measureElement: Element,
  elements: readonly Element[],
): { readonly fields: readonly ComparedField[]; readonly centers: Float64Array; readonly measure: Measure } {
  const { element, scope } = context;
  const fields = element.childrenOf('ClusteringField').map((child): ComparedField => {
    const compared = comparedField(child, scope.field(child.required('field'), child), measureElement);
    const shares = elements.map((cluster) => sharesOf(cluster, compared.field, element));
    return { ...compared, compare: meanOver(compared.compare, shares) };
  });
  if (fields.length === 0) throw new PmmlError(element, 'the ClusteringField is missing');
  const centers = Float64Array.from(elements.flatMap((_, cluster) => fields.map(() => cluster)));
  return { fields, centers, measure: measureOf(measureElement, fields) };
}

/** `simpleMatching` is the share of what matches, by weight; of the others the distances are of numbers. */
function measureOf(element: Element, fields: readonly ComparedField[]): Measure {
  const [measure] = element.children;
  if (measure?.name !== 'simpleMatching') {
    if (measure !== undefined && ['jaccard', 'tanimoto', 'binarySimilarity'].includes(measure.name))
      throw new PmmlError(measure, 'compares two binary values, which statistics are not');
    return readMeasure(element, fields);
  }
  const kind = element.oneOf('kind', ['distance', 'similarity'] as const, 'similarity');
  return {
    kind,
    between: (x, y, offset) => {
      let sum = 0;
      let weights = 0;
      fields.forEach(({ weight, compare }, i) => {
        const own = x[i] as number;
        if (Number.isNaN(own)) return;
        sum += weight * compare(own, y[offset + i] as number);
        weights += weight;
      });
      return sum / weights;
    },
  };
}

function meanOver(compare: Compare, clusters: readonly (readonly Share[])[]): Compare {
  const counts = clusters.map((shares) => shares.reduce((sum, { count }) => sum + count, 0));
  return (x, cluster) => {
    const shares = clusters[cluster] as readonly Share[];
    let sum = 0;
    for (const { value, count } of shares) sum += count * compare(x, value);
    return sum / (counts[cluster] as number);
  };
}

function sharesOf(cluster: Element, field: Field, model: Element): readonly Share[] {
  const stats = cluster
    .child('Partition')
    ?.childrenOf('PartitionFieldStats')
    .find((one) => one.attribute('field') === field.name);
  if (stats === undefined) throw new PmmlError(cluster, `its Partition has no statistics of '${field.name}'`);
  const [frequencies, sums] = stats.childrenOf(...ARRAY_NAMES).map((array) => readNumbers(array));
  const univariate = model
    .child('ModelStats')
    ?.childrenOf('UnivariateStats')
    .find((one) => one.attribute('field') === field.name);
  const shares =
    frequencies === undefined
      ? []
      : field.optype === 'continuous'
        ? ofIntervals(frequencies, sums, univariate?.child('ContStats'), stats)
        : ofValues(frequencies, valuesOf(field, univariate), field, stats);
  const found = shares.filter(({ count, value }) => count > 0 && !Number.isNaN(value));
  if (found.length > 0) return found;
  const mean = stats.child('NumericInfo')?.number('mean');
  if (mean === undefined || field.type === 'string')
    throw new PmmlError(stats, `has neither frequencies of the values of '${field.name}' nor a mean`);
  return [{ value: mean, count: 1 }];
}

/** Values that frequencies are about: those of the model's statistics, else those that the field declares. */
function valuesOf(field: Field, univariate: Element | undefined): readonly Value[] {
  const texts = univariate
    ?.child('DiscrStats')
    ?.childrenOf('Array')
    .find((array) => array.attribute('type') === 'string' || numberOf(readTexts(array)[0] ?? '') === undefined);
  return texts === undefined ? field.order : readTexts(texts).flatMap((text) => castText(text, field.type) ?? []);
}

function ofValues(frequencies: Float64Array, values: readonly Value[], field: Field, from: Element): Share[] {
  if (frequencies.length !== values.length)
    throw new PmmlError(
      from,
      `holds ${frequencies.length} frequencies; '${field.name}' has ${values.length} declared values`,
    );
  return values.map((value, i) => ({ value: asNumber(field, value), count: frequencies[i] as number }));
}

/** The mean of an interval by the sums of its values, else its middle. */
function ofIntervals(
  frequencies: Float64Array,
  sums: Float64Array | undefined,
  stats: Element | undefined,
  from: Element,
): Share[] {
  const intervals = stats?.childrenOf('Interval') ?? [];
  if (sums === undefined && intervals.length === 0) return [];
  const count = sums?.length ?? intervals.length;
  if (frequencies.length !== count)
    throw new PmmlError(from, `holds ${frequencies.length} frequencies of ${count} intervals`);
  return Array.from(frequencies, (frequency, i) => {
    const sum = sums?.[i];
    if (sum !== undefined) return { value: sum / frequency, count: frequency };
    const interval = intervals[i];
    const left = interval?.number('leftMargin') ?? interval?.number('rightMargin') ?? Number.NaN;
    const right = interval?.number('rightMargin') ?? left;
    return { value: (left + right) / 2, count: frequency };
  });
}
