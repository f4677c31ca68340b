import { type Element, PmmlError } from '../../document/element.ts';
import type { Series } from './forecaster.ts';

/** What an outlier adds to the value at a step after the last stored value, which is step 0. */
export type OutlierEffect = (step: number) => number;

const TYPES = ['additive', 'levelShift', 'innovational', 'transient', 'seasonalAdditive', 'localTrend'] as const;
/** Other spellings of tools, without `Outlier` and `Change` at their ends. */
const ALIASES: Readonly<Record<string, (typeof TYPES)[number]>> = {
  level: 'levelShift',
  temporary: 'transient',
  trend: 'localTrend',
};

/** The OutlierEffects of an ARIMA (docs/spec/pmml-clusters.md#time-series). */
export function readOutliers(element: Element, { indexes }: Series, period: number): readonly OutlierEffect[] {
  const last = indexes.at(-1) ?? 0;
  return element.childrenOf('OutlierEffect').flatMap((child) => {
    const start = child.requiredNumber('startTime') - last;
    const effect = shapeOf(child, child.requiredNumber('magnitude'), period);
    return effect === undefined ? [] : [(step: number): number => (step < start ? 0 : effect(step - start))];
  });
}

/** By the steps since the outlier; undefined for one that the forecasts follow by themselves. */
function shapeOf(element: Element, magnitude: number, period: number): ((since: number) => number) | undefined {
  switch (typeOf(element)) {
    case 'additive':
      return (since) => (since === 0 ? magnitude : 0);
    case 'levelShift':
      return () => magnitude;
    case 'transient': {
      const damping = element.number('dampingCoefficient', 0);
      return (since) => magnitude * damping ** since;
    }
    case 'seasonalAdditive':
      return (since) => (since % period === 0 ? magnitude : 0);
    case 'localTrend':
      return (since) => magnitude * (since + 1);
    default:
      return undefined;
  }
}

function typeOf(element: Element): (typeof TYPES)[number] {
  const given = element.required('type');
  const bare = given.replaceAll(/[\s_-]/g, '').replace(/(?:Outlier|Change)$/i, '');
  const found = TYPES.find((type) => type.toLowerCase() === bare.toLowerCase());
  const type = found ?? (Object.hasOwn(ALIASES, bare.toLowerCase()) ? ALIASES[bare.toLowerCase()] : undefined);
  if (type === undefined) throw new PmmlError(element, `'type' is '${given}'; it may be ${TYPES.join(', ')}`);
  return type;
}
