import { arrayIn, readNumbers } from '../../document/arrays.ts';
import { type Element, PmmlError } from '../../document/element.ts';
import type { Row } from '../../fields/row.ts';
import { type ComparedField, type Measure, readMeasure } from '../comparison.ts';
import type { Model, ModelContext, RankedEntity, Trace } from '../model.ts';
import { Prediction } from '../model.ts';
import { type Cluster, centerFields, centerOf } from './centers.ts';
import { compileMixture } from './mixture.ts';
import { distributionKind, statisticsForm } from './statistics.ts';

/** ClusteringModel: the cluster that is most like the record (docs/spec/pmml-clusters.md#clusters). */
export function compileClustering(context: ModelContext): Model {
  const { element } = context;
  const modelClass = element.oneOf('modelClass', ['centerBased', 'distributionBased'] as const, 'centerBased');
  const measureElement = element.child('ComparisonMeasure');
  if (measureElement === undefined) throw new PmmlError(element, 'the ComparisonMeasure is missing');
  const elements = element.childrenOf('Cluster');
  if (elements.length === 0) throw new PmmlError(element, 'the Cluster is missing');
  const clusters = elements.map((child, index): Cluster => {
    return { id: child.attribute('id') ?? String(index + 1), name: child.attribute('name') };
  });
  const kind = modelClass === 'centerBased' ? 'centers' : distributionKind(elements, element);
  if (kind === 'mixture') return compileMixture(context, clusters, centerFields(context, measureElement), elements);
  if (kind === 'statistics') {
    const form = statisticsForm(context, measureElement, elements);
    return new ClusteringModel({ ...form, clusters, weights: missingWeights(element, form.fields.length) });
  }
  if (modelClass !== 'centerBased')
    context.problems.warn(element, 'its clusters have no statistics: the nearest center stands in for them');
  const fields = centerFields(context, measureElement);
  const centers = elements.flatMap((child) => [...centerOf(arrayIn(child), fields)]);
  return new ClusteringModel({
    fields,
    clusters,
    centers: Float64Array.from(centers),
    measure: readMeasure(measureElement, fields),
    weights: missingWeights(element, fields.length),
  });
}

/** Weights with which missing values are made up for. */
function missingWeights(element: Element, count: number): Float64Array {
  const given = element.child('MissingValueWeights');
  if (given === undefined) return new Float64Array(count).fill(1);
  const array = arrayIn(given);
  const weights = readNumbers(array, count);
  if (weights.length !== count)
    throw new PmmlError(array, `holds ${weights.length} numbers; there are ${count} clustering fields`);
  return Float64Array.from(weights);
}

class ClusteringModel implements Model {
  readonly prediction = new Prediction();
  readonly bytes: number;
  readonly #fields: readonly ComparedField[];
  readonly #clusters: readonly Cluster[];
  readonly #centers: Float64Array;
  readonly #measure: Measure;
  readonly #weights: Float64Array;
  readonly #weightOfAll: number;
  /** Of the record: its values, and its affinity to each cluster. */
  readonly #values: Float64Array;
  readonly #affinities: Float64Array;

  constructor(form: {
    readonly fields: readonly ComparedField[];
    readonly clusters: readonly Cluster[];
    readonly centers: Float64Array;
    readonly measure: Measure;
    readonly weights: Float64Array;
  }) {
    this.#fields = form.fields;
    this.#clusters = form.clusters;
    this.#centers = form.centers;
    this.#measure = form.measure;
    this.#weights = form.weights;
    this.#weightOfAll = form.weights.reduce((sum, weight) => sum + weight, 0);
    this.#values = new Float64Array(form.fields.length);
    this.#affinities = new Float64Array(form.clusters.length);
    this.bytes = form.centers.byteLength + form.clusters.length * 200 + form.fields.length * 100;
  }

  evaluate(row: Row): void {
    const { prediction } = this;
    const values = this.#values;
    let present = 0;
    for (let i = 0; i < values.length; i++) {
      const number = numberOf(this.#fields[i] as ComparedField, row);
      values[i] = number;
      if (!Number.isNaN(number)) present += this.#weights[i] as number;
    }
    if (present === 0) {
      this.#affinities.fill(Number.NaN);
      prediction.clear();
      return;
    }
    const best = this.#nearest(this.#weightOfAll / present);
    const cluster = this.#clusters[best];
    prediction.setValue(cluster?.id);
    prediction.entityId = cluster?.id;
    prediction.display = cluster?.name ?? cluster?.id;
    prediction.affinity = this.#affinities[best] ?? Number.NaN;
    prediction.entities = this.#listed;
    prediction.ranked = this.#ordered;
  }

  /** Index of the nearest cluster, the first of equally near ones. */
  #nearest(adjustment: number): number {
    const affinities = this.#affinities;
    const sign = this.#measure.kind === 'distance' ? 1 : -1;
    let best = -1;
    let lowest = Number.POSITIVE_INFINITY;
    const width = this.#values.length;
    for (let i = 0; i < affinities.length; i++) {
      const affinity = this.#measure.between(this.#values, this.#centers, i * width, adjustment);
      affinities[i] = affinity;
      if (sign * affinity < lowest) {
        lowest = sign * affinity;
        best = i;
      }
    }
    return best;
  }

  readonly #listed = (): RankedEntity[] =>
    this.#clusters.map(({ id, name }, i) => ({
      id,
      affinity: this.#affinities[i] as number,
      ...(name === undefined ? {} : { display: name }),
    }));

  readonly #ordered = (): RankedEntity[] => {
    const sign = this.#measure.kind === 'distance' ? 1 : -1;
    return this.#listed()
      .filter(({ affinity }) => !Number.isNaN(affinity))
      .sort((a, b) => sign * (a.affinity - b.affinity));
  };

  explain(_: Row, trace: Trace): void {
    trace.line('[ClusteringModel]');
    for (const { id, affinity } of this.#listed())
      trace.line(`The [${this.#measure.kind}] of the record to the cluster [${id}] is [${affinity}]`);
  }
}

/** A field's number, or the code of its text. */
function numberOf({ field }: ComparedField, row: Row): number {
  field.ensure?.(row);
  return row.numbers[field.slot] as number;
}
