/** TimeSeriesModel (docs/spec/pmml-clusters.md#time-series). Expected values follow from the formulas beside them. */
import t, { type Test } from 'tap';
import { modelOf, pmmlOf, refusalsOf } from '../../helpers/pmml/document.ts';
import { doubles } from '../../helpers/pmml/family.ts';

const near = (t: Test, found: unknown, wanted: number, what: string): void => {
  t.ok(
    typeof found === 'number' && Math.abs(found - wanted) <= 1e-10 * Math.max(1, Math.abs(wanted)),
    `${what}: ${String(found)}, wanted ${wanted}`,
  );
};

const array = (...numbers: number[]): string => `<Array n="${numbers.length}" type="real">${numbers.join(' ')}</Array>`;

const series = (...values: number[]): string =>
  `<TimeSeries usage="original">${values.map((value, i) => `<TimeValue index="${i + 1}" value="${value}"/>`).join('')}</TimeSeries>`;

const OUTPUT = `<Output><OutputField name="y" feature="predictedValue"/><OutputField name="sd" feature="standardDeviation"/>
  <OutputField name="low" feature="confidenceIntervalLower" value="95"/></Output>`;

function document(bestFit: string, content: string, fields = ''): string {
  const mining = fields === '' ? '' : `<MiningField name="${fields}"/>`;
  return pmmlOf(
    doubles('ts', 'x'),
    `<TimeSeriesModel functionName="timeSeries" bestFit="${bestFit}"><MiningSchema><MiningField name="ts" usageType="target"/>${mining}</MiningSchema>${OUTPUT}${content}</TimeSeriesModel>`,
  );
}

const arima = (attributes: string, values: string, content: string, fields = ''): string =>
  document('ARIMA', `${values}<ARIMA ${attributes}>${content}</ARIMA>`, fields);

const plain = (attributes: string, ar: string, ma: string): string =>
  `<NonseasonalComponent ${attributes}>${ar === '' ? '' : `<AR>${ar}</AR>`}${ma === '' ? '' : `<MA><MACoefficients>${ma}</MACoefficients>`}`;

t.test('ARIMA: differences about a mean, moving averages with a plus, and the spread of the forecasts', async (t) => {
  const model = modelOf(
    arima(
      'constantTerm="0.5" RMSE="2"',
      series(10, 12, 13),
      `${plain('p="1" d="1" q="1"', array(0.6), array(0.4))}<Residuals>${array(0.3)}</Residuals></MA></NonseasonalComponent>`,
    ),
  );
  // w = y' - y; w' - 0.5 = 0.6 (w - 0.5) + 0.4 e
  const first = 0.5 + 0.6 * (1 - 0.5) + 0.4 * 0.3;
  const second = 0.5 + 0.6 * (first - 0.5);
  near(t, model.apply({ h: 1 }).y, 13 + first, 'first step');
  near(t, model.apply({ h: 2 }).y, 13 + first + second, 'second step');
  // ψ of (1 - 0.6 B)(1 - B) and 1 + 0.4 B: 1, 1.6 + 0.4, …
  near(t, model.apply({ h: 1 }).sd, 2, 'deviation of the first step');
  near(t, model.apply({ h: 2 }).sd, 2 * Math.sqrt(1 + 2 ** 2), 'of the second');
  near(t, model.apply({ h: 1 }).low, 13 + first - 1.959963984540054 * 2, 'interval');
});

t.test('ARIMA with a season: the shocks of the seasonal component reach further back', async (t) => {
  const model = modelOf(
    arima(
      '',
      series(1, 2, 3, 4, 5, 6),
      `${plain('p="0" d="0" q="1"', '', array(0.5))}<Residuals>${array(0.4)}</Residuals></MA></NonseasonalComponent>
      <SeasonalComponent P="0" D="1" Q="1" period="4"><MA><MACoefficients>${array(0.2)}</MACoefficients><Residuals>${array(0.9, 0.1, 0.2, 0.3, 0.4)}</Residuals></MA></SeasonalComponent>`,
    ),
  );
  // y(7) = y(3) + 0.5 e(6) + 0.2 e(3) + 0.1 e(2)
  near(t, model.apply({ h: 1 }).y, 3 + 0.5 * 0.4 + 0.2 * 0.1 + 0.1 * 0.9, 'first step');
});

const AR = `${plain('p="1" d="0" q="0"', array(0.5), '')}</NonseasonalComponent>`;

t.test(
  'a regressor through a transfer function, its values to come supplied, stored, constant or of a trend',
  async (t) => {
    const regressor = (attributes: string, values: string): string =>
      `${AR}<DynamicRegressor field="x" delay="1" ${attributes}><Numerator><NonseasonalFactor maximumOrder="1">${array(2, 1)}</NonseasonalFactor></Numerator>
    <Denominator><NonseasonalFactor maximumOrder="1">${array(0.5)}</NonseasonalFactor></Denominator><RegressorValues>${values}</RegressorValues></DynamicRegressor>`;
    const xs = series(1, 3, 2).replace(' usage="original"', '');
    // v(t) = 0.5 v(t-1) + 2 x(t-1) + x(t-2): v(1) = 0, v(2) = 2, v(3) = 1 + 6 + 1
    const [v3, v4] = [8, 0.5 * 8 + 2 * 2 + 3];
    const noise = 20 - v3;
    const wanted = (x4: number): number => 0.25 * noise + 0.5 * v4 + 2 * x4 + 2;
    const forecast = (attributes: string, values: string, record: Record<string, unknown>, fields = ''): unknown =>
      modelOf(arima('', series(10, 15, 20), regressor(attributes, values), fields)).apply(record).y;
    const supplied = 'futureValuesMethod="userSupplied"';
    near(t, forecast(supplied, xs, { h: 1, x: [7, 7] }, 'x'), 0.5 * noise + v4, 'the first step knows all');
    near(t, forecast(supplied, xs, { h: 2, x: [7, 9] }, 'x'), wanted(7), 'a list');
    near(t, forecast(supplied, xs, { h: 2, x: 6 }, 'x'), wanted(6), 'one value for all steps');
    t.equal(forecast(supplied, xs, { h: 2 }, 'x'), null, 'without them there is no forecast');
    near(t, forecast('', xs, { h: 2 }), wanted(2), 'constant');
    const stored = xs.replace('</TimeSeries>', '<TimeValue index="4" value="5"/></TimeSeries>');
    near(t, forecast('futureValuesMethod="stored"', stored, { h: 2 }), wanted(5), 'stored');
    const trend = `${xs}<TrendCoefficients>${array(1, 0.5)}</TrendCoefficients>`;
    near(t, forecast('futureValuesMethod="trend"', trend, { h: 2 }), wanted(1 + 0.5 * 4), 'trend');
    const known = `${xs}<TransferFunctionValues>${array(8)}</TransferFunctionValues>`;
    near(t, forecast('', known, { h: 2 }), wanted(2), 'what it added last is in the document');
  },
);

t.test('outliers are taken out of the past and go on', async (t) => {
  const forecast = (type: string, start: number, step: number, others = ''): unknown =>
    modelOf(
      arima(
        '',
        series(10, 15, 20),
        `${AR}<OutlierEffect type="${type}" startTime="${start}" magnitude="4" ${others}/>`,
      ),
    ).apply({ h: step }).y;
  near(t, forecast('additive', 3, 1), 0.5 * 16, 'additive');
  near(t, forecast('levelShift', 2, 1), 0.5 * 16 + 4, 'level shift');
  near(t, forecast('transient', 2, 2, 'dampingCoefficient="0.5"'), 0.25 * 18 + 4 * 0.5 ** 3, 'transient');
  near(t, forecast('localTrend', 3, 2), 0.25 * 16 + 12, 'local trend');
  near(t, forecast('innovational', 3, 1), 10, 'innovational: the forecasts follow it');
});

t.test('trends of exponential smoothing', async (t) => {
  const forecast = (trend: string, step: number): unknown =>
    modelOf(
      document(
        'ExponentialSmoothing',
        `<ExponentialSmoothing><Level alpha="0.1" smoothedValue="100"/><Trend_ExpoSmooth trend="${trend}" phi="0.5" smoothedValue="1.5"/></ExponentialSmoothing>`,
      ),
    ).apply({ h: step }).y;
  near(t, forecast('additive', 2), 103, 'additive');
  near(t, forecast('damped_additive', 3), 100 + 1.5 * (0.5 + 0.25 + 0.125), 'damped_additive');
  near(t, forecast('damped_trend', 3), 100 + 1.5 * 0.875, 'the same in PMML 4.0');
  near(t, forecast('multiplicative', 2), 225, 'multiplicative');
  near(t, forecast('damped_multiplicative', 2), 100 * 1.5 ** 0.75, 'damped_multiplicative');
});

const matrix = (...rows: number[][]): string => `<Matrix>${rows.map((row) => array(...row)).join('')}</Matrix>`;

t.test('state space: the state of the last stored value, or of the first step to come', async (t) => {
  const system = `<StateVector>${array(10, 2)}</StateVector><TransitionMatrix>${matrix([1, 1], [0, 0.5])}</TransitionMatrix><MeasurementMatrix>${matrix([1, 0])}</MeasurementMatrix>`;
  const of = (attributes: string, content: string) =>
    modelOf(document('StateSpaceModel', `<StateSpaceModel ${attributes}>${system}${content}</StateSpaceModel>`));
  near(t, of('intercept="3"', '').apply({ h: 1 }).y, 12 + 3, 'PMML 4.4');
  const psi = of('', `<PsiVector variance="4">${array(1, 0.5)}</PsiVector>`);
  near(t, psi.apply({ h: 2 }).sd, Math.sqrt(4 * 1.25), 'by weights of shocks');
  const intercept = `<InterceptVector type="observation">${array(3)}</InterceptVector>`;
  const covariances = `<PredictedStateCovarianceMatrix>${matrix([0, 0], [0, 0])}</PredictedStateCovarianceMatrix><SelectedStateCovarianceMatrix>${matrix([1, 0], [0, 0.25])}</SelectedStateCovarianceMatrix><ObservationVarianceMatrix>${matrix([0.5])}</ObservationVarianceMatrix>`;
  const next = of('', intercept + covariances);
  near(t, next.apply({ h: 1 }).y, 13, 'PMML 4.4.1');
  near(t, next.apply({ h: 2 }).y, 15, 'second step');
  near(t, next.apply({ h: 1 }).sd, Math.sqrt(0.5), 'the covariance of the first step is given');
  near(t, next.apply({ h: 3 }).sd, Math.sqrt(0.5 + 1 + (1 + 0.25)), 'T P Tᵀ + V');
  const scaled = of('variance="9"', intercept + covariances);
  near(t, scaled.apply({ h: 1 }).sd, 3 * Math.sqrt(0.5 + 1), 'by the variance, from the last stored value');
  const drift = of('', `<InterceptVector type="state">${array(1, 0)}</InterceptVector>`);
  near(t, drift.apply({ h: 2 }).y, 13, 'an intercept of the state');
});

t.test('GARCH: the mean with its shocks, the deviation by the variance', async (t) => {
  const model = modelOf(
    document(
      'GARCH',
      `${series(10)}<GARCH><ARMAPart p="1" q="1" constant="1"><AR>${array(0.5)}</AR><MA><MACoefficients>${array(0.2)}</MACoefficients><Residuals>${array(1)}</Residuals></MA></ARMAPart>
      <GARCHPart gp="1" gq="1" constant="0.2"><ResidualSquareCoefficients><MACoefficients>${array(0.3)}</MACoefficients><Residuals>${array(1)}</Residuals></ResidualSquareCoefficients>
      <VarianceCoefficients><MACoefficients>${array(0.5)}</MACoefficients><PastVariances>${array(2)}</PastVariances></VarianceCoefficients></GARCHPart></GARCH>`,
    ),
  );
  near(t, model.apply({ h: 1 }).y, 1 + 5 + 0.2, 'mean');
  near(t, model.apply({ h: 2 }).sd, Math.sqrt(0.2 + 0.8 * (0.2 + 0.3 + 1)), 'deviation');
});

t.test('what is refused', async (t) => {
  t.match(refusalsOf(document('SeasonalTrendDecomposition', '')).join(), /names and does not define/);
  t.match(refusalsOf(document('SpectralAnalysis', '')).join(), /names and does not define/);
  const other = `${AR}<DynamicRegressor field="x" futureValuesMethod="otherModel"/>`;
  t.match(refusalsOf(arima('', series(1, 2), other)).join(), /'otherModel', which is not supported/);
  const outlier = `${AR}<OutlierEffect type="odd" startTime="1" magnitude="1"/>`;
  t.match(refusalsOf(arima('', series(1, 2), outlier)).join(), /'type' is 'odd'; it may be additive/);
  t.match(refusalsOf(document('ARIMA', `<ARIMA>${AR}</ARIMA>`)).join(), /needs 1 stored values; there are 0/);
});
