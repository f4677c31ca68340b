/** The list of alarms with its filters, counts and changes: of all devices, or of one. */
import { Check, CheckCheck, RotateCcw } from 'lucide';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { usePoll } from '../../core/api/poll.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { useShortcuts } from '../../core/keys.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { useSoon } from '../../core/live/pace.ts';
import { href } from '../../core/route.ts';
import {
  ALARM_STATUSES,
  SEVERITIES,
  alarmsPath,
  countAlarms,
  countBySeverity,
  listAlarms,
} from '../../core/server/alarm.ts';
import type { Alarm, AlarmFilter, AlarmStatus } from '../../core/server/alarm.ts';
import { common } from '../../core/text/common.ts';
import { numberText } from '../../core/text/language.ts';
import { absoluteRange, rangeQuery } from '../../core/time/range.ts';
import { listParameter, numberParameter, textParameter, urlWith, useUrlState } from '../../core/url-state.ts';
import type { StateOf } from '../../core/url-state.ts';
import { SeverityBadge, SeverityShape } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { ExportLink } from '../../parts/export-link.tsx';
import { SelectField } from '../../parts/fields.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { LOOK_MS, useList } from '../../parts/list/list.ts';
import type { ViewCopy } from '../../parts/page.tsx';
import { FormFault } from '../../parts/states.tsx';
import type { Column } from '../../parts/list/column.ts';
import { TimeRangeField } from '../../parts/time-range.tsx';
import { Time } from '../../parts/time.tsx';
import { ALARM_ADMIN, changeAlarms, changeAllThatMatch, countOfChange, oldStatuses } from './change.ts';
import { words as alarmWords } from './text.ts';
import type { AlarmTexts } from './text.ts';

const OPEN = 'ACTIVE,ACKNOWLEDGED';
const ANY = 'ALL';
const SHAPE = {
  severity: listParameter,
  status: textParameter(OPEN),
  type: textParameter(),
  source: textParameter(),
  from: textParameter(),
  to: textParameter(),
  page: numberParameter(1, { minimum: 1 }),
};
const ICONS = { ACTIVE: RotateCcw, ACKNOWLEDGED: Check, CLEARED: CheckCheck };

/** The filter of the state. @param source of the page of a device. */
function filterOf(state: StateOf<typeof SHAPE>, source: string | undefined): AlarmFilter {
  return {
    severity: state.severity.join(','),
    status: state.status === ANY ? '' : state.status,
    type: state.type,
    source: source ?? state.source,
    ...rangeQuery(state),
  };
}

/** Whether an alarm that came live belongs to the list. */
function matches(alarm: Alarm, filter: AlarmFilter): boolean {
  const isIn = (name: string, value: string): boolean =>
    (filter[name] ?? '') === '' || filter[name].split(',').includes(value);
  return (
    isIn('severity', alarm.severity) &&
    isIn('status', alarm.status) &&
    isIn('type', alarm.type) &&
    isIn('source', alarm.source.id) &&
    (filter['dateTo'] === undefined || Date.parse(alarm.time) < Date.parse(filter['dateTo']))
  );
}

const columnsOf = (words: AlarmTexts, hasSource: boolean): readonly Column<Alarm>[] => [
  {
    id: 'severity',
    title: words.severity,
    isNarrow: true,
    cell: ({ severity }) => <SeverityBadge severity={severity} />,
  },
  {
    id: 'text',
    title: words.text,
    isHeading: true,
    cell: ({ id, text }) => <a href={href('/alarms/:id', { id })}>{text === '' ? id : text}</a>,
  },
  { id: 'status', title: words.status, isNarrow: true, cell: ({ status }) => words.statuses[status] },
  ...(hasSource
    ? [
        {
          id: 'source',
          title: words.source,
          cell: ({ source }: Alarm) => (
            <a href={href('/devices/:id/alarms', { id: source.id })}>{source.name ?? source.id}</a>
          ),
        },
      ]
    : []),
  { id: 'type', title: words.type, cell: ({ type }) => <span class="mono">{type}</span> },
  {
    id: 'count',
    title: words.count,
    isEnd: true,
    isNarrow: true,
    cell: ({ count = 1 }) => (count > 1 ? numberText(count) : ''),
  },
  { id: 'time', title: words.time, isNarrow: true, cell: ({ time }) => <Time value={time} hasAge /> },
];

interface CountsProps {
  readonly filter: AlarmFilter;
  readonly chosen: readonly string[];
  readonly onChoose: (severities: readonly string[]) => void;
  /** Another number counts again. */
  readonly round: number;
}

/** How many there are of each severity; each is a switch of the filter. */
function Counts({ filter, chosen, onChoose, round }: CountsProps) {
  const words = alarmWords();
  const counts = useLoaded(
    (signal) => countBySeverity(filter, signal),
    [JSON.stringify({ ...filter, severity: '' }), round],
  );
  return (
    <div class="alarm-counts" role="group" aria-label={words.hint}>
      {SEVERITIES.map((severity) => {
        const isOn = chosen.includes(severity);
        return (
          <button
            type="button"
            key={severity}
            class="alarm-count"
            aria-pressed={isOn}
            onClick={() => onChoose(isOn ? chosen.filter((one) => one !== severity) : [...chosen, severity])}
          >
            <span class={`severity-text-${severity}`}>
              <SeverityShape severity={severity} />
            </span>
            <strong>{counts.data === undefined ? '…' : numberText(counts.data[severity])}</strong>
            {common().severities[severity]}
          </button>
        );
      })}
    </div>
  );
}

interface ChangeAllProps {
  readonly filter: AlarmFilter;
  readonly status: AlarmStatus;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function ChangeAll({ filter, status, onDone, onClose }: ChangeAllProps) {
  const words = alarmWords();
  const count = useLoaded((signal) => countOfChange(filter, status, signal), []);
  return (
    <Confirm
      title={words.verbs[status]}
      action={count.data === undefined ? words.verbs[status] : words.changeMany(count.data, status)}
      run={() => changeAllThatMatch(filter, status, onDone)}
      onClose={onClose}
    >
      <p>{count.data === undefined ? common().counting : words.confirmText(count.data)}</p>
      <FormFault error={count.error} />
    </Confirm>
  );
}

/** What "Copy as" gives of the list. @param source of the page of a device. */
export function useAlarmCopy(source?: string): ViewCopy {
  const [state] = useUrlState(SHAPE);
  return {
    copy: { path: alarmsPath(filterOf(state, source), state.page) },
    absoluteUrl: () => urlWith(SHAPE, absoluteRange(state)),
  };
}

/** @param source of the page of a device; absent for all devices. */
export function AlarmList({ source }: { readonly source?: string }) {
  const words = alarmWords();
  const [state, set] = useUrlState(SHAPE);
  const { severity, status, type, from, to, page } = state;
  // A range that ends now stays the same list while it is open.
  const filter = useMemo(() => filterOf(state, source), [state, source]);
  const key = JSON.stringify(filter);
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const [isAll, setAll] = useState(false);
  const [asked, setAsked] = useState<AlarmStatus>();
  const [round, setRound] = useState(0);
  const list = useList({
    load: (number, signal) => listAlarms(filter, { page: number, signal }),
    count: (signal) => countAlarms(filter, signal),
    keyOf: ({ id }) => id,
    page,
    inputs: [key],
  });
  useEffect(() => {
    setKeys(new Set());
    setAll(false);
  }, [key, page]);
  const recount = useSoon(() => setRound((before) => before + 1));
  const isDenied = useLive([source === undefined ? '/alarms/*' : `/alarms/${source}`], {
    onMessages: (messages) => {
      for (const message of messages) {
        const change = changeOf(message);
        if (change === undefined) continue;
        const alarm = change.data as Alarm;
        if (change.realtimeAction === 'DELETE') list.take(alarm.id ?? String(change.data), undefined, false);
        else {
          const isWanted = matches(alarm, filter);
          list.take(alarm.id, alarm, change.realtimeAction === 'CREATE' && isWanted, !isWanted);
        }
      }
      recount();
    },
    onGap: () => {
      list.reload();
      recount();
    },
  });
  usePoll(LOOK_MS, isDenied ? list.look : undefined);
  const rows = list.data ?? [];
  useEffect(() => {
    const here = new Set(rows.map(({ id }) => id));
    setKeys((before) =>
      [...before].every((id) => here.has(id)) ? before : new Set([...before].filter((id) => here.has(id))),
    );
  }, [list.data]);
  const show = (alarms: readonly Alarm[]): void => {
    for (const alarm of alarms) list.take(alarm.id, alarm, false, !matches(alarm, filter));
    recount();
  };
  const change = useAction(async (wanted: AlarmStatus, alarms: readonly Alarm[]) => {
    setKeys(new Set());
    await changeAlarms(alarms, wanted, show);
  });
  const selected = rows.filter(({ id }) => keys.has(id));
  const press = (wanted: AlarmStatus): void => {
    if (isAll) setAsked(wanted);
    else void change.run(wanted, selected);
  };
  const acknowledge = useRef<() => void>(() => {});
  acknowledge.current = () => {
    const focused = document.activeElement?.closest<HTMLElement>('tr[data-key]')?.dataset['key'];
    if (keys.size > 0) press('ACKNOWLEDGED');
    else
      void change.run(
        'ACKNOWLEDGED',
        rows.filter(({ id }) => id === focused),
      );
  };
  useShortcuts(
    useMemo(() => [{ keys: 'a', text: () => alarmWords().verbs.ACKNOWLEDGED, run: () => acknowledge.current() }], []),
  );
  const columns = useMemo(() => columnsOf(words, source === undefined), [words, source]);
  const hasFilters =
    severity.length > 0 || status !== OPEN || type !== '' || state.source !== '' || from !== '' || to !== '';
  const clear = (): void =>
    set({ severity: [], status: OPEN, type: '', source: '', from: '', to: '', page: 1 }, { isStep: true });
  const total = list.total ?? 0;
  const canSelectAll = selected.length === rows.length && total > rows.length;
  const finish = (): void => {
    setKeys(new Set());
    setAll(false);
    list.reload();
    recount();
  };
  return (
    <>
      <Counts
        filter={filter}
        chosen={severity}
        round={round}
        onChoose={(next) => set({ severity: next, page: 1 }, { isStep: true })}
      />
      <FilterBar onClear={hasFilters ? clear : undefined}>
        <SelectField
          label={words.status}
          value={status}
          onChange={(next) => set({ status: next, page: 1 }, { isStep: true })}
          options={[
            { value: OPEN, text: words.open },
            ...ALARM_STATUSES.map((one) => ({ value: one as string, text: words.statuses[one] })),
            { value: ANY, text: words.anyStatus },
          ]}
        />
        <SlowTextField label={words.type} value={type} onChange={(next) => set({ type: next, page: 1 })} />
        {source === undefined && (
          <SlowTextField
            label={words.sourceId}
            value={state.source}
            onChange={(next) => set({ source: next.trim(), page: 1 })}
          />
        )}
        <TimeRangeField value={state} onChange={(next) => set({ ...next, page: 1 }, { isStep: true })} hasAny />
        <ExportLink
          kind="alarms"
          source={source ?? state.source}
          type={type}
          status={status === ANY ? '' : status}
          severity={severity.join()}
          from={from}
          to={to}
        />
      </FilterBar>
      <FormFault error={change.error} />
      <ListPage
        hasFile={false}
        label={words.title}
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        page={page}
        onPage={(next) => set({ page: next }, { isStep: true })}
        selection={{
          keys,
          onChange: (next) => {
            setKeys(next);
            setAll(false);
          },
          nameOf: ({ text, id }) => text || id,
        }}
        bulk={
          <>
            {ALARM_STATUSES.toReversed().map((one) => {
              const count = selected.filter((alarm) => alarm.status !== one).length;
              if (isAll ? oldStatuses(filter, one).length === 0 : count === 0) return null;
              return (
                <Button
                  key={one}
                  icon={ICONS[one]}
                  roles={ALARM_ADMIN}
                  isBusy={change.isRunning}
                  onClick={() => press(one)}
                >
                  {isAll ? words.verbs[one] : words.changeMany(count, one)}
                </Button>
              );
            })}
            {isAll ? (
              <strong>{words.allSelected(total)}</strong>
            ) : (
              canSelectAll && (
                <Button kind="quiet" onClick={() => setAll(true)}>
                  {common().selectAllThatMatch(total)}
                </Button>
              )
            )}
          </>
        }
        hasFilters={hasFilters}
        onClearFilters={clear}
        empty={<p>{words.empty}</p>}
      />
      {asked && <ChangeAll filter={filter} status={asked} onDone={finish} onClose={() => setAsked(undefined)} />}
    </>
  );
}
