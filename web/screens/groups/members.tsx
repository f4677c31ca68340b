/** A list of children that are added and removed: of a group, of a device. */
import { Plus, Unlink } from 'lucide';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { usePoll } from '../../core/api/poll.ts';
import { useAction } from '../../core/api/request.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { countChildren, childrenPath, listChildren, removeChildren } from '../../core/server/children.ts';
import type { ChildKind } from '../../core/server/children.ts';
import { countObjects, listObjects, objectsPath, nameOf, quoted } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { numberParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import { ConnectionState, connectionOf } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { LOOK_MS, useList } from '../../parts/list/list.ts';
import { Section } from '../../parts/page.tsx';
import { FormFault } from '../../parts/states.tsx';
import type { Column } from '../../parts/list/column.ts';
import { AddMembers } from './add-members.tsx';
import { INVENTORY_ADMIN, isGroup, nodeOf, offerUndoOfMembers } from './group-object.ts';
import { words as groupWords } from './text.ts';
import type { GroupTexts } from './text.ts';

const SHAPE = { name: textParameter(), page: numberParameter(1, { minimum: 1 }) };

export interface MembersProps {
  readonly title: string;
  readonly parent: string;
  readonly kind: ChildKind;
  /** Of a dynamic group: finds its members, which are not added or removed. */
  readonly query?: (name: string) => string;
  readonly unlink: (count: number) => string;
  readonly unlinked: (count: number) => string;
  readonly empty: ComponentChildren;
  readonly onChanged: () => void;
}

const columnsOf = (words: GroupTexts): Column<ManagedObject>[] => [
  {
    id: 'name',
    title: words.name,
    isHeading: true,
    cell: (object) => <a href={nodeOf(object).href}>{nameOf(object)}</a>,
  },
  {
    id: 'state',
    title: words.state,
    cell: (object) => (isGroup(object) ? words.kinds.static : <ConnectionState state={connectionOf(object)} />),
  },
  { id: 'type', title: words.type, cell: ({ type }) => type ?? '' },
];

const filterOf = (name: string): string => (name === '' ? '' : `$filter=name eq ${quoted(`${name}*`)}`);
const orderedBy = (filter: string): string => `${filter} $orderby=name asc`.trim();

/** The request of the shown page, for "Copy as". */
export function useMembersPath(parent: string, kind: ChildKind, query?: MembersProps['query']): string {
  const [{ name, page }] = useUrlState(SHAPE);
  return query === undefined
    ? childrenPath(parent, kind, { query: orderedBy(filterOf(name)), page })
    : objectsPath({ q: query(name) }, page);
}

export function Members(props: MembersProps) {
  const { title, parent, kind, query, unlink, unlinked, empty, onChanged } = props;
  const words = groupWords();
  const [{ name, page }, set] = useUrlState(SHAPE);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isAdding, setAdding] = useState(false);
  const filter = filterOf(name);
  const found = query?.(name);
  // What is not shown is not removed.
  useEffect(() => setSelected(new Set()), [parent, kind, filter]);
  const list = useList({
    load: (number, signal, size) =>
      found === undefined
        ? listChildren(parent, kind, { query: orderedBy(filter), page: number, size }, signal)
        : listObjects({ q: found }, number, signal, size),
    count: (signal) =>
      found === undefined ? countChildren(parent, kind, filter, signal) : countObjects({ q: found }, signal),
    keyOf: ({ id }) => id,
    page,
    inputs: [parent, kind, filter, found],
  });
  const isDenied = useLive(
    (list.data ?? []).map(({ id }) => `/managedobjects/${id}`),
    {
      onMessages: (messages) => {
        for (const message of messages) {
          const change = changeOf(message);
          const id = message.channel.slice(message.channel.lastIndexOf('/') + 1);
          if (change !== undefined)
            list.take(id, change.realtimeAction === 'DELETE' ? undefined : (change.data as ManagedObject), false);
        }
      },
      onGap: list.reload,
    },
  );
  usePoll(LOOK_MS, isDenied ? list.look : undefined);
  const reload = (): void => {
    list.reload();
    onChanged();
  };
  const remove = useAction(async () => {
    const ids = [...selected];
    await removeChildren(parent, kind, ids);
    setSelected(new Set());
    reload();
    offerUndoOfMembers(unlinked(ids.length), { parent, kind, ids }, false, reload);
  });
  const columns = useMemo(() => columnsOf(words), [words]);
  const clear = (): void => set({ name: '', page: 1 }, { isStep: true });
  const isStatic = query === undefined;
  return (
    <Section
      title={title}
      actions={
        isStatic && (
          <Button icon={Plus} roles={INVENTORY_ADMIN} onClick={() => setAdding(true)}>
            {words.add}
          </Button>
        )
      }
    >
      <FilterBar onClear={name === '' ? undefined : clear}>
        <SlowTextField label={words.nameFilter} value={name} onChange={(value) => set({ name: value, page: 1 })} />
      </FilterBar>
      <FormFault error={remove.error} />
      <ListPage
        label={title}
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        {...(isStatic ? { selection: { keys: selected, onChange: setSelected, nameOf } } : {})}
        bulk={
          <Button icon={Unlink} roles={INVENTORY_ADMIN} isBusy={remove.isRunning} onClick={() => void remove.run()}>
            {unlink(selected.size)}
          </Button>
        }
        hasFilters={name !== ''}
        onClearFilters={clear}
        empty={empty}
      />
      {isAdding && <AddMembers parent={parent} kind={kind} onDone={reload} onClose={() => setAdding(false)} />}
    </Section>
  );
}
