/** A line as large as a word: how a number moved. The number itself stands beside it. */

const WIDTH = 160;
const HEIGHT = 32;

/** Points of a polyline over the whole width, the largest value at the top; fewer than two values have none. */
export function sparkPoints(values: readonly number[], width = WIDTH, height = HEIGHT): string {
  if (values.length < 2) return '';
  const top = Math.max(...values, Number.MIN_VALUE);
  return values
    .map((value, index) => {
      const x = (index / (values.length - 1)) * width;
      return `${x.toFixed(1)},${(height - 1 - (value / top) * (height - 2)).toFixed(1)}`;
    })
    .join(' ');
}

export function Sparkline({ values }: { readonly values: readonly number[] }) {
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <polyline points={sparkPoints(values)} fill="none" stroke="currentColor" stroke-width="1.5" />
    </svg>
  );
}
