import { type Element, PmmlError } from '../../document/element.ts';
import { Arma } from './arma.ts';
import { type Algorithm, type Forecaster, numbersIn, storedValues } from './forecaster.ts';
import { moving, regressive } from './polynomial.ts';

/** GARCH: an ARMA model of the mean; its deviation from a variance that follows the squares of the last shocks. */
export function readGarch({ element, model }: Algorithm): Forecaster {
  const part = element.child('ARMAPart');
  if (part === undefined) throw new PmmlError(element, 'the ARMAPart is missing');
  const average = part.child('MA');
  const residuals = average?.child('Residuals');
  const mean = new Arma({
    constant: part.number('constant', 0),
    regression: regressive(numbersIn(part.child('AR')), 1),
    average: moving(numbersIn(average?.child('MACoefficients')), 1),
    history: storedValues(model),
    shocks: residuals === undefined ? undefined : numbersIn(residuals),
    sigma: Number.NaN,
    element: part,
  });
  const variance = varianceOf(element.child('GARCHPart'));
  return {
    bytes: mean.bytes + 200,
    forecast: (step) => [{ value: mean.forecast(step).value, deviation: Math.sqrt(variance(step)) }],
  };
}

/** Variance of a step: of squares of shocks that are still to come, the variance itself is expected. */
function varianceOf(part: Element | undefined): (step: number) => number {
  if (part === undefined) return () => Number.NaN;
  const constant = part.number('constant', 0);
  const squares = part.child('ResidualSquareCoefficients');
  const variances = part.child('VarianceCoefficients');
  const ofSquares = numbersIn(squares?.child('MACoefficients'));
  const ofVariances = numbersIn(variances?.child('MACoefficients'));
  const shocks = [...numbersIn(squares?.child('Residuals'))].map((shock) => shock * shock);
  const past = [...numbersIn(variances?.child('PastVariances'))];
  const known = [past.length, shocks.length] as const;
  const next = (): void => {
    let variance = constant;
    ofSquares.forEach((factor, i) => {
      variance += factor * (shocks[shocks.length - 1 - i] ?? 0);
    });
    ofVariances.forEach((factor, i) => {
      variance += factor * (past[past.length - 1 - i] ?? 0);
    });
    shocks.push(variance);
    past.push(variance);
  };
  return (step) => {
    while (past.length < known[0] + step) next();
    return past[known[0] + step - 1] as number;
  };
}
