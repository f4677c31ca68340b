/** The list of devices: name, type or a query, chosen columns; rows change in place while it is open. */
import { Columns3, Plus } from 'lucide';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiError } from '../../core/api/error.ts';
import { getJson } from '../../core/api/json.ts';
import { usePoll } from '../../core/api/poll.ts';
import { useLoaded, useShown } from '../../core/api/request.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { preferences } from '../../core/preferences.ts';
import { href, queryText } from '../../core/route.ts';
import { countObjects, listObjects, nameOf, objectsPath, quoted } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { hasRole } from '../../core/api/rights.ts';
import { common } from '../../core/text/common.ts';
import { choiceParameter, listParameter, numberParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import type { StateOf } from '../../core/url-state.ts';
import { Button, LinkButton } from '../../parts/button.tsx';
import { SelectField } from '../../parts/fields.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { GroupField } from '../../parts/group-field.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { LOOK_MS, useList, without } from '../../parts/list/list.ts';
import { Page } from '../../parts/page.tsx';
import { QueryField } from '../../parts/query-field.tsx';
import { sortOf, sortText } from '../../parts/list/table.tsx';
import { ColumnChoice } from './column-choice.tsx';
import { chosenColumns, columnsOf, isPath, pathText } from './columns.tsx';
import { ListActions } from './list-actions.tsx';
import { ADD_ROLES } from './roles.ts';
import { words as deviceWords } from './text.ts';

const AVAILABILITIES = ['AVAILABLE', 'UNAVAILABLE', 'MAINTENANCE'] as const;
const STATUS_PATH = 'c8y_Availability.status';
const SHAPE = {
  name: textParameter(),
  type: textParameter(),
  q: textParameter(),
  /** `c8y_Availability.status`. */
  status: choiceParameter(['', ...AVAILABILITIES]),
  /** Id of a group that they are in. */
  group: textParameter(),
  sort: textParameter(),
  page: numberParameter(1, { minimum: 1 }),
  /** Columns beside the name, in their order; none stands for those of the person. */
  cols: listParameter,
};
/** Members of every device, for completion. */
const NAMES = ['name', 'type', 'owner', 'id', 'creationTime.date', 'lastUpdated.date', 'c8y_Hardware.serialNumber'];

type State = StateOf<typeof SHAPE>;

/** The server counts positions in the whole query: here in the typed text, which begins at `at`. */
export const inOwnText = (message: string, at: number): string =>
  message.replace(/at position (\d+)/, (told, position: string) =>
    Number(position) > at ? `at position ${Number(position) - at}` : told,
  );

/** The query of the state; the server finds devices alone by `q`. */
export function deviceQuery({ name, type, q, status, group, sort }: Omit<State, 'page' | 'cols'>): string {
  const parts = [
    ...(name === '' ? [] : [`name eq ${quoted(`${name}*`)}`]),
    ...(type === '' ? [] : [`type eq ${quoted(type)}`]),
    ...(status === '' ? [] : [`${STATUS_PATH} eq ${quoted(status)}`]),
    ...(/^\d+$/.test(group) ? [`bygroupid(${group})`] : []),
    ...(q === '' ? [] : [/\s(?:or)\s/i.test(q) ? `(${q})` : q]),
  ];
  const order = sortOf(sort);
  const orderBy =
    order === undefined || !isPath(order.id) ? '' : ` $orderby=${order.id} ${order.isDescending ? 'desc' : 'asc'}`;
  return `$filter=${parts.length === 0 ? 'has(c8y_IsDevice)' : parts.join(' and ')}${orderBy}`;
}

/** The query as other lists take it, which do not find devices alone. */
const ofDevices = (query: string): string => query.replace(/^\$filter=/, '$filter=has(c8y_IsDevice) and ');

const LONG_AGO = '1970-01-01T00:00:00.000Z';

/** When the newest device was made that matches. */
async function newestTime(filter: string, signal: AbortSignal): Promise<string> {
  const query = queryText({ q: `${filter} $orderby=creationTime desc`, pageSize: 1, withChildren: 'false' });
  const path = `/inventory/managedObjects${query}`;
  const { managedObjects } = await getJson<{ managedObjects: readonly ManagedObject[] }>(path, signal);
  return managedObjects[0]?.creationTime ?? LONG_AGO;
}

/**
 * How many devices that match came since the list was read: the server has no channel for them.
 * @param round another one for each reading; undefined until rows are there, which do not wait for this.
 */
function useNewCount(filter: string, round: number | undefined): number {
  const [tick, setTick] = useState(0);
  const since = useLoaded(round === undefined ? undefined : (signal) => newestTime(filter, signal), [filter, round]);
  usePoll(LOOK_MS, since.data === undefined ? undefined : () => setTick((before) => before + 1));
  const key = `${filter} ${since.data}`;
  const counted = useLoaded(
    tick === 0 || since.data === undefined
      ? undefined
      : async (signal) => ({
          key,
          count: await countObjects({ q: `${filter} and creationTime.date gt ${quoted(since.data ?? '')}` }, signal),
        }),
    [key, tick],
  );
  // An answer for an earlier list tells nothing of this one.
  return counted.data?.key === key ? counted.data.count : 0;
}

/** A shown row may have left its place: what it is ordered or filtered by is another. */
function hasMoved(before: ManagedObject, after: ManagedObject, { name, type, q, status, sort }: State): boolean {
  const order = sortOf(sort)?.id;
  const paths = [
    ...(name === '' ? [] : ['name']),
    ...(type === '' ? [] : ['type']),
    ...(status === '' ? [] : [STATUS_PATH]),
    ...(order ? [order] : []),
  ];
  return q !== '' || paths.some((path) => pathText(before, path) !== pathText(after, path));
}

export default function Devices() {
  const words = deviceWords();
  const [state, set] = useUrlState(SHAPE);
  const { name, type, q, status, group, sort, page } = state;
  const query = deviceQuery(state);
  const filter = query.replace(/ \$orderby=.*$/, '');
  const [round, setRound] = useState(0);
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isChoosing, setChoosing] = useState(false);
  const list = useList({
    load: (number, signal, size) => listObjects({ q: query }, number, signal, size),
    count: (signal) => countObjects({ q: filter }, signal),
    keyOf: ({ id }) => id,
    page,
    inputs: [query],
  });
  const areRowsThere = useShown(list.data !== undefined || list.error !== undefined);
  const newCount = useNewCount(filter, areRowsThere ? round : undefined);
  useEffect(() => setChanged(new Set()), [query, page, round]);
  // What is not shown any more is not changed either.
  useEffect(() => setSelected(new Set()), [filter]);
  const reload = (): void => {
    setRound((before) => before + 1);
    list.reload();
  };
  const isDenied = useLive(
    (list.data ?? []).map(({ id }) => `/managedobjects/${id}`),
    {
      onMessages: (messages) => {
        for (const message of messages) {
          const change = changeOf(message);
          if (change === undefined) continue;
          const id = message.channel.slice(message.channel.lastIndexOf('/') + 1);
          const before = list.data?.find((device) => device.id === id);
          const after = change.realtimeAction === 'DELETE' ? undefined : (change.data as ManagedObject);
          list.take(id, after, false);
          if (after === undefined) {
            setChanged((known) => without(known, id));
            setSelected((known) => without(known, id));
          } else if (before !== undefined && hasMoved(before, after, state))
            setChanged((known) => new Set(known).add(id));
        }
      },
      onGap: reload,
    },
  );
  usePoll(LOOK_MS, isDenied ? list.look : undefined);
  const chosen = chosenColumns(state.cols, preferences.value.deviceColumns);
  const columns = useMemo(() => columnsOf(chosen, words), [chosen.join(), words]);
  const hasFilters = [name, type, q, status, group].some((value) => value !== '');
  const clear = (): void => set({ name: '', type: '', q: '', status: '', group: '', page: 1 }, { isStep: true });
  const isQueryWrong = list.error?.status === 422 && q !== '';
  const error =
    isQueryWrong && list.error !== undefined
      ? new ApiError({ ...list.error.refusal, message: inOwnText(list.error.message, filter.lastIndexOf(q)) })
      : list.error;
  const order = sortOf(sort);
  return (
    <Page
      copy={{ path: objectsPath({ q: query }, page) }}
      title={words.title}
      actions={
        <>
          <Button icon={Columns3} onClick={() => setChoosing(true)}>
            {common().columns}
          </Button>
          <LinkButton kind="main" icon={Plus} roles={ADD_ROLES} href={href('/devices/new')}>
            {words.add}
          </LinkButton>
        </>
      }
    >
      <FilterBar onClear={hasFilters ? clear : undefined}>
        <SlowTextField label={words.nameFilter} value={name} onChange={(value) => set({ name: value, page: 1 })} />
        <SlowTextField label={words.typeFilter} value={type} onChange={(value) => set({ type: value, page: 1 })} />
        <SelectField
          label={words.availability}
          value={status}
          options={[
            { value: '', text: words.any },
            ...AVAILABILITIES.map((value) => ({ value, text: words.availabilities[value] })),
          ]}
          onChange={(value) => set({ status: value, page: 1 }, { isStep: true })}
        />
        <GroupField
          condition="has(c8y_IsDeviceGroup)"
          value={group}
          none={words.any}
          isWaiting={!areRowsThere}
          onChange={(value) => set({ group: value, page: 1 }, { isStep: true })}
        />
        <QueryField
          class="field-wide"
          label={words.query}
          value={q}
          names={NAMES}
          placeholder={words.queryHint}
          error={isQueryWrong ? error?.message : undefined}
          onChange={(value) => set({ q: value, page: 1 })}
        />
      </FilterBar>
      <ListPage
        label={words.title}
        list={{
          ...list,
          // Rows that are there stay; the field tells what is wrong.
          error: isQueryWrong && list.data !== undefined ? undefined : error,
          newCount,
          changedCount: changed.size,
          showNew: reload,
        }}
        columns={columns}
        keyOf={({ id }) => id}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        sort={order}
        onSort={(value) => set({ sort: sortText(value), page: 1 }, { isStep: true })}
        selection={{ keys: selected, onChange: setSelected, nameOf }}
        bulk={
          <ListActions ids={selected} query={filter} total={list.total} onSelect={setSelected} onChanged={reload} />
        }
        hasFilters={hasFilters}
        onClearFilters={clear}
        whole={
          <a href={href('/data/export', undefined, { kind: 'objects', q: ofDevices(query) })}>{words.exportAll}</a>
        }
        empty={
          <>
            {hasRole(...ADD_ROLES) && <p>{words.emptyText}</p>}
            <LinkButton kind="main" icon={Plus} roles={ADD_ROLES} href={href('/devices/new')}>
              {words.add}
            </LinkButton>
          </>
        }
      />
      {isChoosing && (
        <ColumnChoice
          chosen={chosen}
          devices={list.data ?? []}
          onChange={(cols) => set({ cols }, { isStep: true })}
          onClose={() => setChoosing(false)}
        />
      )}
    </Page>
  );
}
