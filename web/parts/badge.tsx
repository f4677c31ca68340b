/** States as shape, word and colour, in this order of weight: a person who sees no colours loses nothing. */
import type { ComponentChildren } from 'preact';
import { SEVERITIES } from '../core/server/alarm.ts';
import type { Severity } from '../core/server/alarm.ts';
import { common } from '../core/text/common.ts';

/** Paths in a square of 16. */
const SHAPES: Readonly<Record<Severity, string>> = {
  CRITICAL: 'M5 1h6l4 4v6l-4 4H5l-4-4V5z',
  MAJOR: 'M8 1l7.5 14H.5z',
  MINOR: 'M8 .5L15.5 8 8 15.5.5 8z',
  WARNING: 'M8 1a7 7 0 1 0 .01 0zM7 7h2v5H7zm0-3h2v2H7z',
};

export function SeverityShape({ severity }: { readonly severity: Severity }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d={SHAPES[severity]} fill="currentColor" fill-rule="evenodd" />
    </svg>
  );
}

export interface SeverityBadgeProps {
  readonly severity: Severity;
  /** In front of the word. */
  readonly count?: number;
}

export function SeverityBadge({ severity, count }: SeverityBadgeProps) {
  return (
    <span class={`badge severity-${severity}`}>
      <SeverityShape severity={severity} />
      {count !== undefined && `${count} `}
      {common().severities[severity]}
    </span>
  );
}

export interface OpenAlarms {
  readonly severity: Severity;
  readonly count: number;
}

/** Open alarms by severity, the worst first. @param counts `c8y_ActiveAlarmsStatus`, which the server keeps. */
export function openAlarms(counts: unknown): readonly OpenAlarms[] {
  const told = (typeof counts === 'object' && counts !== null ? counts : {}) as Readonly<Record<string, unknown>>;
  return SEVERITIES.map((severity) => ({ severity, count: Number(told[severity.toLowerCase()] ?? 0) })).filter(
    ({ count }) => count > 0,
  );
}

/** Shapes with numbers; the words are read, and shown on hovering. */
export function AlarmBadges({ open }: { readonly open: readonly OpenAlarms[] }) {
  return (
    <span class="row">
      {open.map(({ severity, count }) => (
        <span key={severity} class={`badge severity-${severity}`} title={common().severities[severity]}>
          <SeverityShape severity={severity} />
          {count}
          <span class="visually-hidden"> {common().severities[severity]}</span>
        </span>
      ))}
    </span>
  );
}

export type Connection = 'CONNECTED' | 'AVAILABLE' | 'DISCONNECTED' | 'UNAVAILABLE' | 'MAINTENANCE' | 'UNKNOWN';

const FILLED = <circle cx="8" cy="8" r="6" fill="currentColor" />;
const HOLLOW = <circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" stroke-width="2.5" />;

const CONNECTION_SHAPES: Readonly<Record<Connection, ComponentChildren>> = {
  CONNECTED: FILLED,
  AVAILABLE: FILLED,
  DISCONNECTED: HOLLOW,
  UNAVAILABLE: HOLLOW,
  MAINTENANCE: <path d="M3 2h4v12H3zM9 2h4v12H9z" fill="currentColor" />,
  UNKNOWN: <path d="M0 7h4v2H0zM6 7h4v2H6zM12 7h4v2h-4z" fill="currentColor" />,
};

export function ConnectionState({ state }: { readonly state: Connection }) {
  return (
    <span class={`connection connection-${state}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {CONNECTION_SHAPES[state]}
      </svg>
      {common().connections[state]}
    </span>
  );
}

/**
 * The state of an object as the server's `c8y_Connection` and `c8y_Availability` tell it. A device with a critical alarm
 * is unavailable, and may be connected. One that sends by HTTP is available, and never connected.
 */
export function connectionOf(object: Readonly<Record<string, unknown>>): Connection {
  const status = (name: string): unknown => (object[name] as { status?: unknown } | undefined)?.status;
  const [available, connected] = [status('c8y_Availability'), status('c8y_Connection')];
  if (available === 'MAINTENANCE' || connected === 'MAINTENANCE') return 'MAINTENANCE';
  if (connected === 'CONNECTED' || available === 'AVAILABLE')
    return connected === 'CONNECTED' ? connected : 'AVAILABLE';
  if (connected === 'DISCONNECTED') return connected;
  return available === 'UNAVAILABLE' ? available : 'UNKNOWN';
}

/** A short word in a frame. */
export function Badge({ children }: { readonly children: ComponentChildren }) {
  return <span class="badge">{children}</span>;
}
