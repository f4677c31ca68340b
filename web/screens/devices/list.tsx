/** The list of devices: name, type or a query; rows change in place while it is open. */
import { Plus } from 'lucide';
import { useMemo } from 'preact/hooks';
import { changeOf, useLive } from '../../core/live/live.ts';
import { href } from '../../core/route.ts';
import { countObjects, listObjects, nameOf, quoted } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { numberParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import type { StateOf } from '../../core/url-state.ts';
import { ConnectionState, connectionOf } from '../../parts/badge.tsx';
import { LinkButton } from '../../parts/button.tsx';
import { CopyAs } from '../../parts/copy.tsx';
import { userWithTenant } from '../../parts/device-page.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { useList } from '../../parts/list.ts';
import { Page } from '../../parts/page.tsx';
import { QueryField } from '../../parts/query-field.tsx';
import { sortOf, sortText } from '../../parts/table.tsx';
import type { Column } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { words as deviceWords } from './text.ts';
import type { DeviceTexts } from './text.ts';

const SHAPE = {
  name: textParameter(),
  type: textParameter(),
  q: textParameter(),
  sort: textParameter(),
  page: numberParameter(1, { minimum: 1 }),
};
/** Members of every device, for completion. */
const NAMES = ['name', 'type', 'owner', 'id', 'creationTime.date', 'lastUpdated.date', 'c8y_Hardware.serialNumber'];

/** The query of the state; the server finds devices alone by `q`. */
export function deviceQuery({ name, type, q, sort }: StateOf<typeof SHAPE>): string {
  const parts = [
    ...(name === '' ? [] : [`name eq ${quoted(`${name}*`)}`]),
    ...(type === '' ? [] : [`type eq ${quoted(type)}`]),
    ...(q === '' ? [] : [/\s(?:or)\s/i.test(q) ? `(${q})` : q]),
  ];
  const order = sortOf(sort);
  const orderBy = order === undefined ? '' : ` $orderby=${order.id} ${order.isDescending ? 'desc' : 'asc'}`;
  return `$filter=${parts.length === 0 ? 'has(c8y_IsDevice)' : parts.join(' and ')}${orderBy}`;
}

const member = (device: ManagedObject, fragment: string, name: string): string => {
  const value = (device[fragment] as Record<string, unknown> | undefined)?.[name];
  return value === undefined || value === null ? '' : String(value);
};

const columnsOf = (words: DeviceTexts): readonly Column<ManagedObject>[] => [
  {
    id: 'name',
    title: words.name,
    isHeading: true,
    isSortable: true,
    cell: (device) => <a href={href('/devices/:id', { id: device.id })}>{nameOf(device)}</a>,
  },
  { id: 'state', title: words.state, cell: (device) => <ConnectionState state={connectionOf(device)} /> },
  { id: 'type', title: words.type, isSortable: true, cell: ({ type }) => type ?? '' },
  { id: 'serial', title: words.serial, cell: (device) => member(device, 'c8y_Hardware', 'serialNumber') },
  {
    id: 'message',
    title: words.lastMessage,
    cell: (device) => {
      const time = member(device, 'c8y_Availability', 'lastMessage');
      return time === '' ? '' : <Time value={time} hasAge />;
    },
  },
  {
    id: 'creationTime',
    title: words.created,
    isSortable: true,
    cell: ({ creationTime }) => <Time value={creationTime} />,
  },
  { id: 'id', title: words.id, isNarrow: true, isEnd: true, cell: ({ id }) => <span class="mono">{id}</span> },
];

export default function Devices() {
  const words = deviceWords();
  const [state, set] = useUrlState(SHAPE);
  const { name, type, q, sort, page } = state;
  const query = deviceQuery(state);
  const list = useList({
    load: (number, signal) => listObjects({ q: query }, number, signal),
    count: (signal) => countObjects({ q: query.replace(/ \$orderby=.*$/, '') }, signal),
    keyOf: ({ id }) => id,
    page,
    inputs: [query],
  });
  useLive(
    (list.data ?? []).map(({ id }) => `/managedobjects/${id}`),
    {
      onMessages: (messages) => {
        for (const message of messages) {
          const change = changeOf(message);
          if (change === undefined) continue;
          const id = message.channel.slice(message.channel.lastIndexOf('/') + 1);
          list.take(id, change.realtimeAction === 'DELETE' ? undefined : (change.data as ManagedObject), false);
        }
      },
      onGap: list.reload,
    },
  );
  const columns = useMemo(() => columnsOf(words), [words]);
  const hasFilters = name !== '' || type !== '' || q !== '';
  const clear = (): void => set({ name: '', type: '', q: '', page: 1 }, { isStep: true });
  const isQueryWrong = list.error?.status === 422 && q !== '';
  const order = sortOf(sort);
  return (
    <Page
      title={words.title}
      actions={
        <>
          <CopyAs
            request={{ path: `/inventory/managedObjects?${new URLSearchParams({ q: query, pageSize: '100' })}` }}
            user={userWithTenant()}
          />
          <LinkButton kind="main" icon={Plus} href={href('/devices/new')}>
            {words.add}
          </LinkButton>
        </>
      }
    >
      <FilterBar onClear={hasFilters ? clear : undefined}>
        <SlowTextField label={words.nameFilter} value={name} onChange={(value) => set({ name: value, page: 1 })} />
        <SlowTextField label={words.typeFilter} value={type} onChange={(value) => set({ type: value, page: 1 })} />
        <QueryField
          class="field-wide"
          label={words.query}
          value={q}
          names={NAMES}
          placeholder={words.queryHint}
          error={isQueryWrong ? list.error?.message : undefined}
          onChange={(value) => set({ q: value, page: 1 })}
        />
      </FilterBar>
      <ListPage
        label={words.title}
        list={isQueryWrong ? { ...list, error: undefined } : list}
        columns={columns}
        keyOf={({ id }) => id}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        sort={order}
        onSort={(value) => set({ sort: sortText(value), page: 1 }, { isStep: true })}
        hasFilters={hasFilters}
        onClearFilters={clear}
        empty={
          <>
            <p>{words.emptyText}</p>
            <LinkButton kind="main" icon={Plus} href={href('/devices/new')}>
              {words.add}
            </LinkButton>
          </>
        }
      />
    </Page>
  );
}
