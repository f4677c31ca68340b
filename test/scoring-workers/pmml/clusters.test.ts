/** Clusters of distributions and of older documents, and baselines (docs/spec/pmml-clusters.md). */
import t, { type Test } from 'tap';
import { modelOf, pmmlOf, refusalsOf } from '../../helpers/pmml/document.ts';
import { doubles, schema, texts } from '../../helpers/pmml/family.ts';

const near = (t: Test, found: unknown, wanted: number, what: string): void => {
  t.ok(
    typeof found === 'number' && Math.abs(found - wanted) <= 1e-12 * Math.max(1, Math.abs(wanted)),
    `${what}: ${String(found)}, wanted ${wanted}`,
  );
};

const CLUSTER_OUTPUT = `<Output><OutputField name="id" feature="predictedValue"/><OutputField name="near" feature="affinity"/>
  <OutputField name="p" feature="probability" value="b"/><OutputField name="other" feature="clusterAffinity" value="b"/></Output>`;

t.test('clusters with covariances: the density of the normal distribution, by the share of records', async (t) => {
  const cluster = (id: string, size: number, center: string, covariances: string): string =>
    `<Cluster id="${id}" size="${size}"><Array n="2" type="real">${center}</Array><Covariances><Matrix kind="symmetric">${covariances}</Matrix></Covariances></Cluster>`;
  const model = modelOf(
    pmmlOf(
      doubles('x', 'y'),
      `<ClusteringModel functionName="clustering" modelClass="distributionBased" numberOfClusters="2">${schema(undefined, 'x', 'y')}${CLUSTER_OUTPUT}
      <ComparisonMeasure kind="distance"><squaredEuclidean/></ComparisonMeasure>
      <ClusteringField field="x"/><ClusteringField field="y"/>
      ${cluster('a', 30, '0 0', '<Array type="real">1</Array><Array type="real">0.5 2</Array>')}
      ${cluster('b', 10, '3 1', '<Array type="real">4</Array><Array type="real">0 1</Array>')}</ClusteringModel>`,
    ),
  );
  const { id, near: affinity, p } = model.apply({ x: 1, y: 1 });
  // Determinants 1.75 and 4; (1, 1) Σ⁻¹ (1, 1) = (2 - 2·0.5 + 1) / 1.75, and (-2)² / 4.
  const a = (30 / 40) * (1 / Math.sqrt(1.75)) * Math.exp(-0.5 * (2 / 1.75));
  const b = (10 / 40) * (1 / Math.sqrt(4)) * Math.exp(-0.5 * 1);
  t.equal(id, 'a');
  near(t, affinity, a / (a + b), 'affinity');
  near(t, p, b / (a + b), 'probability of b');
  t.equal(model.apply({ x: 1 }).id, null, 'a record that lacks a value has no cluster');
});

t.test('clusters of statistics: the mean comparison with the records of the cluster', async (t) => {
  const partition = (colors: string, frequencies: string, sums: string): string =>
    `<Partition name="p"><PartitionFieldStats field="color"><Array type="int">${colors}</Array></PartitionFieldStats>
      <PartitionFieldStats field="x"><Array type="int">${frequencies}</Array><Array type="real">${sums}</Array></PartitionFieldStats></Partition>`;
  const model = modelOf(
    pmmlOf(
      `${texts('color', 'red', 'blue')}${doubles('x')}`,
      `<ClusteringModel functionName="clustering" modelClass="distributionBased" numberOfClusters="2">${schema(undefined, 'color', 'x')}${CLUSTER_OUTPUT}
      <ComparisonMeasure kind="similarity" compareFunction="equal"><simpleMatching/></ComparisonMeasure>
      <ClusteringField field="color" fieldWeight="2"/><ClusteringField field="x" compareFunction="gaussSim" similarityScale="2"/>
      <Cluster id="a">${partition('3 1', '2 2', '2 6')}</Cluster><Cluster id="b">${partition('0 4', '4', '40')}</Cluster></ClusteringModel>`,
    ),
  );
  const gauss = (difference: number): number => Math.exp((-Math.LN2 * difference ** 2) / 4);
  const result = model.apply({ color: 'red', x: 2 });
  t.equal(result.id, 'a');
  // 3 of 4 are red; means of the intervals are 1 and 3.
  near(t, result.near, (2 * 0.75 + (gauss(1) + gauss(1)) / 2) / 3, 'similarity to a');
  near(t, result.other, (0 + gauss(8)) / 3, 'similarity to b');
  t.equal(model.apply({ color: 'blue', x: 10 }).id, 'b');
});

t.test('CenterFields of documents before PMML 3; centers of texts', async (t) => {
  const norm = (field: string): string =>
    `<DerivedField><NormContinuous field="${field}"><LinearNorm orig="0" norm="0"/><LinearNorm orig="10" norm="1"/></NormContinuous></DerivedField>`;
  const old = modelOf(
    pmmlOf(
      doubles('x', 'y').replaceAll(' dataType="double"', ''),
      `<ClusteringModel modelName="m" functionName="clustering" modelClass="centerBased" numberOfClusters="2">${schema(undefined, 'x', 'y')}
      <ComparisonMeasure kind="distance"><euclidean/></ComparisonMeasure>
      <ClusteringField field="x" fieldWeight="4"/><ClusteringField field="y"/><CenterFields>${norm('x')}${norm('y')}</CenterFields>
      <Cluster name="one"><Array n="2" type="real">0.1 0.2</Array></Cluster><Cluster name="two"><Array n="2" type="real">0.9 0.8</Array></Cluster></ClusteringModel>`,
      '2.1',
    ),
  );
  t.equal(old.apply({ x: 8, y: 1 }).predictedValue, '2');
  const wanted = Math.sqrt(4 * (0.8 - 0.9) ** 2 + (0.1 - 0.8) ** 2);
  near(t, Number(/\[affinity\] is \[(.*) \(/.exec(old.explain({ x: 8, y: 1 }))?.[1]), wanted, 'distance');
  const ofTexts = modelOf(
    pmmlOf(
      texts('color', 'red', 'deep blue'),
      `<ClusteringModel functionName="clustering" modelClass="centerBased" numberOfClusters="2">${schema(undefined, 'color')}
      <ComparisonMeasure kind="distance" compareFunction="delta"><cityBlock/></ComparisonMeasure><ClusteringField field="color"/>
      <Cluster id="r"><Array type="string">red</Array></Cluster><Cluster id="b"><Array type="string">"deep blue"</Array></Cluster></ClusteringModel>`,
    ),
  );
  t.equal(ofTexts.apply({ color: 'deep blue' }).predictedValue, 'b');
});

const baseline = (statistic: string, attributes: string, distributions: string): string =>
  pmmlOf(
    `${doubles('x', 'w')}${texts('color', 'red', 'blue', 'green')}${texts('size', 'S', 'L')}`,
    `<BaselineModel functionName="regression">${schema(undefined, 'x', 'w', 'color', 'size')}
    <Output><OutputField name="score" feature="predictedValue"/></Output>
    <TestDistributions field="${statistic === 'CUSUM' ? 'x' : 'color'}" testStatistic="${statistic}" ${attributes}>${distributions}</TestDistributions></BaselineModel>`,
  );

const TABLE = `<Baseline><CountTable sample="20">${[
  ['red', 10],
  ['blue', 6],
  ['green', 4],
]
  .map(([value, count]) => `<FieldValueCount field="color" value="${value}" count="${count}"/>`)
  .join('')}</CountTable></Baseline>`;

t.test('chi square of a distribution: Σ (o - e)² / e of the window, e by the shares of the baseline', async (t) => {
  const model = modelOf(baseline('chiSquareDistribution', 'windowSize="3"', TABLE));
  const scoreOf = (color: string): unknown => model.apply({ color }).score;
  near(t, scoreOf('red'), (1 - 0.5) ** 2 / 0.5 + 0.3 + 0.2, 'one red');
  scoreOf('blue');
  near(t, scoreOf('blue'), (1 - 1.5) ** 2 / 1.5 + (2 - 0.9) ** 2 / 0.9 + 0.6, 'red, blue, blue');
  near(t, scoreOf('blue'), 1.5 + (3 - 0.9) ** 2 / 0.9 + 0.6, 'the red one has left the window');
  t.equal(scoreOf('pink'), null, 'a value that the table does not list');
  model.begin();
  near(t, scoreOf('red'), (1 - 0.5) ** 2 / 0.5 + 0.3 + 0.2, 'a new series begins anew');
});

t.test('chi square of independence: e by the margins of the table', async (t) => {
  const model = modelOf(
    baseline(
      'chiSquareIndependence',
      'weightField="w"',
      '<Baseline><FieldRef field="color"/><FieldRef field="size"/></Baseline>',
    ),
  );
  const records: [string, string, number][] = [
    ['red', 'S', 10],
    ['red', 'L', 20],
    ['blue', 'S', 30],
    ['blue', 'L', 40],
  ];
  let score: unknown;
  for (const [color, size, w] of records) ({ score } = model.apply({ color, size, w }));
  // Rows 30 and 70, columns 40 and 60, all 100.
  const cells = [10 - 12, 20 - 18, 30 - 28, 40 - 42].map((difference, i) => difference ** 2 / [12, 18, 28, 42][i]!);
  near(
    t,
    score,
    cells.reduce((sum, cell) => sum + cell, 0),
    'independence',
  );
  const nested = modelOf(
    baseline(
      'chiSquareIndependence',
      '',
      `<Baseline><CountTable>${(['red', 'blue'] as const)
        .map(
          (color, i) =>
            `<FieldValue field="color" value="${color}"><FieldValueCount field="size" value="S" count="${[9, 30][i]}"/><FieldValueCount field="size" value="L" count="${[20, 40][i]}"/></FieldValue>`,
        )
        .join('')}</CountTable></Baseline>`,
    ),
  );
  near(t, nested.apply({ color: 'red', size: 'S' }).score, score as number, 'counted on from a table');
});

t.test('scalar product of the counts of window and baseline', async (t) => {
  const score = (scheme: string): unknown => {
    const model = modelOf(baseline('scalarProduct', scheme, TABLE));
    model.apply({ color: 'red' });
    return model.apply({ color: 'blue' }).score;
  };
  const squares = 100 + 36 + 16;
  near(t, score(''), 16 / Math.sqrt(2 * squares), 'by both lengths');
  near(t, score('normalizationScheme="SizeWeighted"'), 16 / ((2 + squares) / 2), 'by the mean of the squares');
  near(t, score('normalizationScheme="none"'), 16, 'as it is');
});

t.test('CUSUM begins anew with a series', async (t) => {
  const normal = (mean: number): string => `<GaussianDistribution mean="${mean}" variance="1"/>`;
  const model = modelOf(baseline('CUSUM', '', `<Baseline>${normal(0)}</Baseline><Alternate>${normal(1)}</Alternate>`));
  // log f1/f0 = x - 1/2
  near(t, model.apply({ x: 2 }).score, 1.5, 'first');
  near(t, model.apply({ x: 1 }).score, 2, 'second');
  model.begin();
  near(t, model.apply({ x: 1 }).score, 0.5, 'anew');
});

t.test('records before that the parts of a file need', async (t) => {
  t.equal(modelOf(baseline('chiSquareDistribution', 'windowSize="3"', TABLE)).lookBack, 2);
  t.equal(modelOf(baseline('scalarProduct', '', TABLE)).lookBack, 9_999);
  t.equal(
    modelOf(
      baseline('zValue', '', TABLE.replace(/<Count.*Table>/, '<AnyDistribution mean="0" variance="1"/>')).replace(
        'field="color" test',
        'field="x" test',
      ),
    ).lookBack,
    0,
  );
});

t.test('what is refused', async (t) => {
  t.match(refusalsOf(baseline('dDist', '', TABLE)).join(), /'testStatistic' is 'dDist'; it may be zValue/);
  t.match(refusalsOf(baseline('chiSquareIndependence', '', TABLE)).join(), /two or more fields/);
  t.match(refusalsOf(baseline('chiSquareDistribution', 'windowSize="-1"', TABLE)).join(), /'windowSize' is '-1'/);
});
