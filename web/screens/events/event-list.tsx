/** Events with their filters: past ones in pages, or the stream. */
import { useMemo } from 'preact/hooks';
import { usePoll } from '../../core/api/poll.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { countEvents, eventsPath, listEvents } from '../../core/server/event.ts';
import type { DeviceEvent, EventFilter } from '../../core/server/event.ts';
import { absoluteRange, rangeQuery } from '../../core/time/range.ts';
import { choiceParameter, numberParameter, textParameter, urlWith, useUrlState } from '../../core/url-state.ts';
import type { StateOf } from '../../core/url-state.ts';
import { ExportLink } from '../../parts/export-link.tsx';
import { SelectField } from '../../parts/fields.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { LOOK_MS, useList } from '../../parts/list/list.ts';
import type { ViewCopy } from '../../parts/page.tsx';
import { TimeRangeField } from '../../parts/time-range.tsx';
import { eventColumns } from './columns.tsx';
import { EventStream, matches } from './stream.tsx';
import { words as eventWords } from './text.ts';

const SHAPE = {
  view: choiceParameter(['past', 'stream']),
  type: textParameter(),
  source: textParameter(),
  from: textParameter(),
  to: textParameter(),
  page: numberParameter(1, { minimum: 1 }),
};

interface PastProps {
  readonly filter: EventFilter;
  readonly hasSource: boolean;
  readonly page: number;
  readonly onPage: (page: number) => void;
  readonly hasFilters: boolean;
  readonly onClear: () => void;
}

function Past({ filter, hasSource, page, onPage, hasFilters, onClear }: PastProps) {
  const words = eventWords();
  const source = filter['source'] ?? '';
  const list = useList<DeviceEvent>({
    load: (number, signal) => listEvents(filter, number, signal),
    count: (signal) => countEvents(filter, signal),
    keyOf: ({ id }) => id,
    page,
    inputs: [JSON.stringify(filter)],
  });
  const isDenied = useLive([source === '' ? '/events/*' : `/events/${source}`], {
    onMessages: (messages) => {
      for (const message of messages) {
        const change = changeOf(message);
        if (change === undefined) continue;
        const event = change.data as DeviceEvent;
        if (change.realtimeAction === 'DELETE') list.take(event.id ?? String(change.data), undefined, false);
        else list.take(event.id, event, change.realtimeAction === 'CREATE' && matches(event, filter));
      }
    },
    onGap: list.reload,
  });
  usePoll(LOOK_MS, isDenied ? list.look : undefined);
  const columns = useMemo(() => eventColumns(words, hasSource), [words, hasSource]);
  return (
    <ListPage
      hasFile={false}
      label={words.title}
      list={list}
      columns={columns}
      keyOf={({ id }) => id}
      page={page}
      onPage={onPage}
      hasFilters={hasFilters}
      onClearFilters={onClear}
      empty={<p>{words.empty}</p>}
    />
  );
}

type State = StateOf<typeof SHAPE>;

const filterOf = (state: State, source: string | undefined): EventFilter => ({
  type: state.type,
  source: source ?? state.source,
  ...rangeQuery(state),
});

/** What "Copy as" gives of the list. @param source of the page of a device. */
export function useEventCopy(source?: string): ViewCopy {
  const [state] = useUrlState(SHAPE);
  return {
    copy: { path: eventsPath(filterOf(state, source), state.page) },
    absoluteUrl: () => urlWith(SHAPE, absoluteRange(state)),
  };
}

/** @param source of the page of a device; absent for all devices. */
export function EventList({ source }: { readonly source?: string }) {
  const words = eventWords();
  const [state, set] = useUrlState(SHAPE);
  const { view, type, from, to, page } = state;
  const filter = useMemo(() => filterOf(state, source), [state, source]);
  const hasFilters = type !== '' || state.source !== '' || from !== '' || to !== '';
  const clear = (): void => set({ type: '', source: '', from: '', to: '', page: 1 }, { isStep: true });
  return (
    <>
      <FilterBar onClear={hasFilters ? clear : undefined}>
        <SelectField
          label={words.view}
          value={view}
          onChange={(next) => set({ view: next }, { isStep: true })}
          options={[
            { value: 'past', text: words.past },
            { value: 'stream', text: words.stream },
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
        {view === 'past' && (
          <TimeRangeField value={state} onChange={(next) => set({ ...next, page: 1 }, { isStep: true })} hasAny />
        )}
        <ExportLink kind="events" source={source ?? state.source} type={type} from={from} to={to} />
      </FilterBar>
      {view === 'stream' ? (
        <EventStream filter={filter} hasSource={source === undefined} />
      ) : (
        <Past
          filter={filter}
          hasSource={source === undefined}
          page={page}
          onPage={(next) => set({ page: next }, { isStep: true })}
          hasFilters={hasFilters}
          onClear={clear}
        />
      )}
    </>
  );
}
