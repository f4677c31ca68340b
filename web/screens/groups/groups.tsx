/** All groups that are below none: as a list, and as a tree beside it. */
import { FolderPlus } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { href } from '../../core/route.ts';
import { countObjects, listObjects, nameOf, objectsPath, quoted } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { numberParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import { Button } from '../../parts/button.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { useList } from '../../parts/list/list.ts';
import { ObjectTree } from '../../parts/object-tree.tsx';
import { Page } from '../../parts/page.tsx';
import type { Column } from '../../parts/list/column.ts';
import { CreateGroup } from './dialogs.tsx';
import { INVENTORY_CREATE, ROOT_GROUPS, belowGroup, isDynamic, nodeOf, queryOf } from './group-object.ts';
import { words as groupWords } from './text.ts';

const SHAPE = { name: textParameter(), page: numberParameter(1, { minimum: 1 }) };

export default function Groups() {
  const words = groupWords();
  const [{ name, page }, set] = useUrlState(SHAPE);
  const [isCreating, setCreating] = useState(false);
  const filter = `$filter=${ROOT_GROUPS}${name === '' ? '' : ` and name eq ${quoted(`${name}*`)}`}`;
  const query = { query: `${filter} $orderby=name asc` };
  const list = useList({
    load: (number, signal, size) => listObjects(query, number, signal, size),
    count: (signal) => countObjects({ query: filter }, signal),
    keyOf: ({ id }) => id,
    page,
    inputs: [filter],
  });
  const columns = useMemo<Column<ManagedObject>[]>(
    () => [
      {
        id: 'name',
        title: words.name,
        isHeading: true,
        cell: (group) => <a href={href('/groups/:id', { id: group.id })}>{nameOf(group)}</a>,
      },
      {
        id: 'kind',
        title: words.kind,
        cell: (group) => (isDynamic(group) ? words.kinds.dynamic : words.kinds.static),
      },
      { id: 'query', title: words.query, cell: (group) => <span class="mono">{queryOf(group)}</span> },
    ],
    [words],
  );
  const clear = (): void => set({ name: '', page: 1 }, { isStep: true });
  const create = (
    <Button kind="main" icon={FolderPlus} roles={INVENTORY_CREATE} onClick={() => setCreating(true)}>
      {words.create}
    </Button>
  );
  const rows = list.data ?? [];
  return (
    <Page copy={{ path: objectsPath(query, page) }} title={words.title} actions={create}>
      <div class={rows.length > 0 ? 'split' : ''}>
        {rows.length > 0 && <ObjectTree label={words.tree} roots={rows.map(nodeOf)} load={belowGroup} />}
        <div class="grow">
          <FilterBar onClear={name === '' ? undefined : clear}>
            <SlowTextField label={words.nameFilter} value={name} onChange={(value) => set({ name: value, page: 1 })} />
          </FilterBar>
          <ListPage
            label={words.title}
            list={list}
            columns={columns}
            keyOf={({ id }) => id}
            page={page}
            onPage={(value) => set({ page: value }, { isStep: true })}
            hasFilters={name !== ''}
            onClearFilters={clear}
            empty={<p>{words.emptyText}</p>}
          />
        </div>
      </div>
      {isCreating && <CreateGroup onClose={() => setCreating(false)} />}
    </Page>
  );
}
