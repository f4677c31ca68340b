/** The error function and the normal distribution, against figures of the C library. */
import t from 'tap';
import { erf, erfc, normalCdf, normalPdf, normalQuantile } from '../../../src/scoring-workers/pmml/math/normal.ts';

const isNear = (found: number, wanted: number, precision: number): boolean =>
  found === wanted || Math.abs(found - wanted) <= precision * Math.abs(wanted);

t.test('erf and erfc', async (t) => {
  const rows: [x: number, erf: number, erfc: number][] = [
    [-6, -1.0, 2.0],
    [-2.5, -0.999593047982555, 1.999593047982555],
    [-0.3, -0.3286267594591274, 1.3286267594591274],
    [0.1, 0.1124629160182849, 0.8875370839817152],
    [0.46875, 0.49261347321793797, 0.507386526782062],
    [0.47, 0.4937450508860821, 0.5062549491139179],
    [1, 0.8427007929497149, 0.15729920705028513],
    [2.2, 0.9981371537020182, 0.0018628462979818894],
    [3.9, 0.9999999652077514, 3.479224859723177e-8],
    [4.1, 0.9999999932999724, 6.700027654084918e-9],
    [10, 1.0, 2.088487583762545e-45],
    [26, 1.0, 5.663192408856143e-296],
    [Number.POSITIVE_INFINITY, 1, 0],
    [Number.NEGATIVE_INFINITY, -1, 2],
  ];
  for (const [x, first, second] of rows) {
    t.ok(isNear(erf(x), first, 1e-15), `erf(${x}) is ${erf(x)}`);
    t.ok(isNear(erfc(x), second, 4e-15), `erfc(${x}) is ${erfc(x)}`);
  }
  t.ok(Number.isNaN(erf(Number.NaN)) && Number.isNaN(erfc(Number.NaN)));
});

t.test('the quantile is the inverse of the distribution function', async (t) => {
  const rows: [probability: number, quantile: number][] = [
    [1e-300, -37.0470962993612],
    [1e-10, -6.361340902404056],
    [0.02, -2.0537489106318225],
    [0.3, -0.5244005127080407],
    [0.8, 0.8416212335729144],
    [0.999999, 4.753424308817089],
  ];
  for (const [probability, quantile] of rows) {
    t.ok(isNear(normalQuantile(probability), quantile, 1e-13), `${normalQuantile(probability)}, wanted ${quantile}`);
    t.ok(isNear(normalCdf(10 + 2 * quantile, 10, 2), probability, 1e-12), 'mean and deviation');
  }
  t.equal(normalQuantile(0), Number.NEGATIVE_INFINITY);
  t.equal(normalQuantile(1), Number.POSITIVE_INFINITY);
  t.ok(Number.isNaN(normalQuantile(1.1)));
  t.ok(isNear(normalPdf(1, 1, 2), 0.19947114020071635, 1e-15));
});
