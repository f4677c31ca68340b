/** Everything that happened to a device, in one order, from now or from a time on. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useLoaded } from '../../core/api/request.ts';
import { hasRole } from '../../core/api/rights.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { href } from '../../core/route.ts';
import type { ScreenProps } from '../../core/route.ts';
import { TIMELINE_KINDS, readTimeline, timelinePaths } from '../../core/server/timeline.ts';
import type { TimelineEntry, TimelineKind } from '../../core/server/timeline.ts';
import { common } from '../../core/text/common.ts';
import { resolveTime } from '../../core/time/range.ts';
import { fieldTime, instantOf } from '../../core/time/time.ts';
import { listParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import { SEVERITIES } from '../../core/server/alarm.ts';
import { Badge, SeverityBadge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { DevicePage } from '../../parts/device/page.tsx';
import { CheckField, TextField } from '../../parts/fields.tsx';
import { FilterBar } from '../../parts/filter-bar.tsx';
import { Empty, With } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import { Time, zoneText } from '../../parts/time.tsx';
import { words as alarmWords } from '../alarms/text.ts';
import { words as operationWords } from '../operations/text.ts';
import { words as eventWords } from './text.ts';

const SHAPE = { before: textParameter(), kinds: listParameter };
const AUDIT_READ = 'ROLE_AUDIT_READ';

const allowedKinds = (): readonly TimelineKind[] =>
  TIMELINE_KINDS.filter((kind) => kind !== 'audit' || hasRole(AUDIT_READ));

/** @param named by the address; none stands for all. */
const chosenKinds = (named: readonly string[]): readonly TimelineKind[] =>
  allowedKinds().filter((kind) => named.length === 0 || named.includes(kind));

const targetOf = ({ kind, id }: TimelineEntry): string | undefined => {
  if (kind === 'alarm') return href('/alarms/:id', { id });
  return kind === 'event' ? href('/events/:id', { id }) : undefined;
};

function stateText({ kind, state }: TimelineEntry): string {
  const known: Readonly<Record<string, string>> = (kind === 'alarm' ? alarmWords() : operationWords()).statuses;
  return known[state] ?? state;
}

function Entries({ entries }: { readonly entries: readonly TimelineEntry[] }) {
  const words = eventWords();
  return (
    <Table
      label={words.timeline}
      columns={[
        { id: 'time', title: words.time, isNarrow: true, cell: ({ ms }) => <Time value={ms} hasAge /> },
        {
          id: 'kind',
          title: words.kindColumn,
          isNarrow: true,
          cell: ({ kind, severity }) => {
            const known = SEVERITIES.find((one) => one === severity);
            return known ? <SeverityBadge severity={known} /> : <Badge>{words.kind[kind]}</Badge>;
          },
        },
        {
          id: 'what',
          title: words.what,
          isHeading: true,
          cell: (entry) => {
            const target = targetOf(entry);
            const text = entry.text || entry.type || entry.id;
            return target === undefined ? text : <a href={target}>{text}</a>;
          },
        },
        { id: 'type', title: words.type, cell: ({ type }) => <span class="mono">{type}</span> },
        { id: 'state', title: words.state, isNarrow: true, cell: stateText },
        { id: 'user', title: words.user, isNarrow: true, cell: ({ user }) => user },
      ]}
      rows={entries}
      keyOf={({ kind, id }) => `${kind} ${id}`}
    />
  );
}

/** A time to go to; it is used when it is one and Enter is pressed. */
function Jump({ value, onJump }: { readonly value: string; readonly onJump: (ms: number) => void }) {
  const ms = resolveTime(value);
  const shown = ms === undefined ? '' : fieldTime(ms);
  const [typed, setTyped] = useState(shown);
  useEffect(() => setTyped(shown), [shown]);
  const found = typed === '' ? undefined : instantOf(typed);
  return (
    <form
      class="filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (found !== undefined) onJump(found);
      }}
    >
      <TextField
        label={eventWords().jump}
        value={typed}
        onInput={setTyped}
        placeholder="2026-11-21 14:03"
        error={typed !== '' && found === undefined ? common().badTime : undefined}
      />
    </form>
  );
}

function Timeline({ id }: { readonly id: string }) {
  const words = eventWords();
  const [state, set] = useUrlState(SHAPE);
  const allowed = allowedKinds();
  const kinds = chosenKinds(state.kinds);
  const beforeMs = resolveTime(state.before);
  const loaded = useLoaded((signal) => readTimeline(id, kinds, { beforeMs, signal }), [id, state.before, kinds.join()]);
  const [fresh, setFresh] = useState(0);
  const channels = useMemo(
    () => (state.before === '' ? [`/alarms/${id}`, `/events/${id}`, `/operations/${id}`] : []),
    [id, state.before],
  );
  useEffect(() => setFresh(0), [loaded.data]);
  useLive(channels, {
    onMessages: (messages) => {
      const count = messages.filter((message) => {
        const kind = message.channel.slice(1, message.channel.indexOf('/', 1) - 1);
        return kinds.some((one) => one === kind) && changeOf(message)?.realtimeAction === 'CREATE';
      }).length;
      if (count > 0) setFresh((before) => before + count);
    },
    onGap: loaded.reload,
  });
  const go = (before: string): void => set({ before }, { isStep: true });
  const toggle = (kind: TimelineKind, isOn: boolean): void => {
    const next = allowed.filter((one) => (one === kind ? isOn : kinds.includes(one)));
    set({ kinds: next.length === allowed.length ? [] : next }, { isStep: true });
  };
  return (
    <>
      <FilterBar>
        <Jump value={state.before} onJump={(ms) => go(new Date(ms).toISOString())} />
        <fieldset class="series-choice">
          <legend class="visually-hidden">{words.kindsLabel}</legend>
          {allowed.map((kind) => (
            <CheckField
              key={kind}
              label={words.kinds[kind]}
              isChecked={kinds.includes(kind)}
              onChange={(isOn) => toggle(kind, isOn)}
            />
          ))}
          {!hasRole(AUDIT_READ) && (
            <span class="muted small">
              {words.kinds.audit}: {common().missingRole(AUDIT_READ)}
            </span>
          )}
        </fieldset>
        <span class="muted chart-zone">{zoneText()}</span>
      </FilterBar>
      <div aria-live="polite">
        {fresh > 0 && (
          <button type="button" class="button new-rows" onClick={loaded.reload}>
            {words.newEntries(fresh)}
          </button>
        )}
      </div>
      <With loaded={loaded}>
        {({ entries, olderMs }) => (
          <>
            {entries.length === 0 ? <Empty title={words.nothingBefore} /> : <Entries entries={entries} />}
            <div class="table-foot">
              <span class="table-foot-end">
                {state.before !== '' && <Button onClick={() => go('')}>{words.latest}</Button>}
                {olderMs !== undefined && (
                  <Button onClick={() => go(new Date(olderMs).toISOString())}>{words.older}</Button>
                )}
              </span>
            </div>
          </>
        )}
      </With>
    </>
  );
}

export default function DeviceTimeline({ params: { id } }: ScreenProps) {
  const [{ kinds, before }] = useUrlState(SHAPE);
  const paths = timelinePaths(id, chosenKinds(kinds), resolveTime(before));
  return (
    <DevicePage id={id} copy={paths.map((path) => ({ path }))}>
      {({ device }) => <Timeline id={device.id} />}
    </DevicePage>
  );
}
