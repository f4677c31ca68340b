import { type Element, PmmlError } from '../../document/element.ts';
import { categoryIndex } from '../../fields/category.ts';
import { numericField } from '../../fields/numeric-fields.ts';
import type { Row } from '../../fields/row.ts';
import type { ModelContext } from '../model.ts';

/** Cumulative hazard by time, in rising order. */
interface Baseline {
  readonly times: Float64Array;
  readonly hazards: Float64Array;
  readonly maxTime: number;
}

/** Hazard of a record at the baseline and how many bytes its tables take. */
export interface BaselineHazard {
  readonly bytes: number;
  /** 0 before the first time of the table; NaN after the last one, and where time or stratum are missing. */
  at(row: Row): number;
}

/** The `BaseCumHazardTables` of a Cox regression. */
export function readBaseline(context: ModelContext): BaselineHazard {
  const { element, scope } = context;
  const tables = element.child('BaseCumHazardTables');
  if (tables === undefined) throw new PmmlError(element, 'has no BaseCumHazardTables');
  const endTime = numericField(scope, element.required('endTimeVariable'), element);
  const strataName = element.attribute('baselineStrataVariable');
  if (strataName === undefined) {
    const baseline = readTable(tables);
    return { bytes: baseline.times.length * 16, at: (row) => hazardAt(baseline, endTime.number(row)) };
  }
  const strata = tables.childrenOf('BaselineStratum');
  const baselines = strata.map(readTable);
  const values = strata.map((stratum) => stratum.required('value'));
  const index = categoryIndex(scope.field(strataName, element), values, tables, context.problems);
  return {
    bytes: baselines.reduce((sum, { times }) => sum + times.length * 16, 0),
    at: (row) => {
      const found = index(row);
      return found < 0 ? Number.NaN : hazardAt(baselines[found] as Baseline, endTime.number(row));
    },
  };
}

function readTable(element: Element): Baseline {
  const cells = element
    .childrenOf('BaselineCell')
    .map((cell) => ({ time: cell.requiredNumber('time'), hazard: cell.requiredNumber('cumHazard') }))
    .sort((a, b) => a.time - b.time);
  const last = cells.at(-1);
  if (last === undefined) throw new PmmlError(element, 'has no BaselineCell');
  return {
    times: Float64Array.from(cells, ({ time }) => time),
    hazards: Float64Array.from(cells, ({ hazard }) => hazard),
    maxTime: element.number('maxTime', last.time),
  };
}

function hazardAt({ times, hazards, maxTime }: Baseline, time: number): number {
  if (Number.isNaN(time) || time > maxTime) return Number.NaN;
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) <= time) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : (hazards[low - 1] as number);
}
