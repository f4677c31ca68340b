/** Times on the page. */
import { now } from '../core/time/clock.ts';
import { ageText, fullTime, millisOf, offsetText, shortTime, shownZone } from '../core/time/time.ts';

export interface TimeProps {
  readonly value: string | number | undefined | null;
  /** With its age behind it: "3 min ago". */
  readonly hasAge?: boolean;
}

/** The time in the person's zone; the whole time with the zone is its title. */
export function Time({ value, hasAge = false }: TimeProps) {
  const ms = millisOf(value);
  if (ms === undefined) return <span class="muted">–</span>;
  return (
    <span>
      <time dateTime={new Date(ms).toISOString()} title={`${fullTime(ms)} ${offsetText(ms)}`}>
        {shortTime(ms, { now: now.value })}
      </time>
      {hasAge && ' '}
      {hasAge && <span class="age">({ageText(ms, now.value)})</span>}
    </span>
  );
}

/** The zone as it stands beside pickers and axes: `Europe/Berlin UTC+01:00`. */
export const zoneText = (): string => [...new Set([shownZone(), offsetText(now.value)])].join(' ');
