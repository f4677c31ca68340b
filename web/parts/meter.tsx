/** How much of a bound is used: a bar, with the same in words beside it. */

/** Of the bound. */
const NEARLY_FULL = 0.8;

export interface MeterProps {
  readonly label: string;
  readonly value: number;
  readonly max: number;
  readonly text: string;
}

export function Meter({ label, value, max, text }: MeterProps) {
  return (
    <span class="meter">
      <meter min={0} max={max} high={max * NEARLY_FULL} optimum={0} value={value} aria-label={label} />
      <span>{text}</span>
    </span>
  );
}
