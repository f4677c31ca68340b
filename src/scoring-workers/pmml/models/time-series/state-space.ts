import { readMatrix, readNumbers } from '../../document/arrays.ts';
import { type Element, numberOf, PmmlError } from '../../document/element.ts';
import { type Forecaster, refuse } from './forecaster.ts';

/** StateSpaceModel: the state at the end of the series, how it goes on, and what is measured of it. */
export function readStateSpace(element: Element): Forecaster {
  refuse(element, 'DynamicRegressor');
  const state = numbersOf(required(element, 'StateVector'));
  const transition = numbersOf(required(element, 'TransitionMatrix'));
  const measurement = numbersOf(required(element, 'MeasurementMatrix'));
  const size = state.length;
  if (transition.length !== size * size)
    throw new PmmlError(element, `the TransitionMatrix holds ${transition.length} numbers; the state has ${size}`);
  if (measurement.length !== size)
    throw new PmmlError(element, `the MeasurementMatrix holds ${measurement.length} numbers; the state has ${size}`);
  const intercept = element.number('intercept', 0);
  const states: Float64Array[] = [state];
  return {
    bytes: (size * size + 2 * size) * 8,
    forecast: (step) => {
      while (states.length <= step) states.push(times(transition, states.at(-1) as Float64Array));
      const at = states[step] as Float64Array;
      return {
        value: at.reduce((sum, value, i) => sum + value * (measurement[i] as number), intercept),
        deviation: Number.NaN,
      };
    },
  };
}

function required(element: Element, name: string): Element {
  const child = element.child(name);
  if (child === undefined) throw new PmmlError(element, `the ${name} is missing`);
  return child;
}

/** An Array or a Matrix inside, or numbers as plain text, as some tools write them. */
function numbersOf(element: Element): Float64Array {
  const matrix = element.child('Matrix');
  if (matrix !== undefined) return readMatrix(matrix).values;
  const array = element.children.find(({ name }) => name.endsWith('Array'));
  if (array !== undefined) return readNumbers(array);
  return Float64Array.from(element.text.trim().split(/\s+/), (text) => {
    const number = numberOf(text);
    if (number === undefined) throw new PmmlError(element, `'${text}' is not a number`);
    return number;
  });
}

function times(matrix: Float64Array, vector: Float64Array): Float64Array {
  return vector.map((_, row) =>
    vector.reduce((sum, value, column) => sum + value * (matrix[row * vector.length + column] as number), 0),
  );
}
