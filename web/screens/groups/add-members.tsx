/** Adding objects as children, found by a part of their name or by a query: some of them, or all that match. */
import { useState } from 'preact/hooks';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { sendRaw } from '../../core/api/send.ts';
import { queryText } from '../../core/route.ts';
import { addChildren } from '../../core/server/children.ts';
import type { ChildKind } from '../../core/server/children.ts';
import { countObjects, listObjects, nameOf, quoted } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { common } from '../../core/text/common.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { QueryField } from '../../parts/query-field.tsx';
import { FormFault, With } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import { offerUndoOfMembers } from './group-object.ts';
import { words as groupWords } from './text.ts';

/** References of one request. */
const ADD_MAX = 2_000;
const NAMES = ['name', 'type', 'owner', 'c8y_Hardware.serialNumber'];

/** Ids of all that match, at most ADD_MAX. */
async function idsOf(query: string): Promise<readonly string[]> {
  const path = `/inventory/managedObjects${queryText({ query, pageSize: ADD_MAX, withChildren: 'false' })}`;
  const { managedObjects } = (await (await sendRaw(path)).json()) as { managedObjects: readonly ManagedObject[] };
  return managedObjects.map(({ id }) => id);
}

export interface AddMembersProps {
  readonly parent: string;
  readonly kind: ChildKind;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function AddMembers({ parent, kind, onDone, onClose }: AddMembersProps) {
  const words = groupWords();
  const [name, setName] = useState('');
  const [query, setQuery] = useState('');
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const conditions = [
    ...(name === '' ? [] : [`name eq ${quoted(`*${name}*`)}`]),
    ...(query === '' ? [] : [`(${query})`]),
  ];
  // Without members, so that undoing takes none of them away.
  const base = [
    `not(bygroupid(${parent}))`,
    ...(kind === 'childAdditions' ? [] : ['(has(c8y_IsDevice) or has(c8y_IsDeviceGroup))']),
  ];
  const filter = `$filter=${[...base, ...conditions].join(' and ')}`;
  const found = useLoaded((signal) => listObjects({ query: filter }, 1, signal), [filter]);
  const counted = useLoaded((signal) => countObjects({ query: filter }, signal), [filter]);
  const add = useAction(async (chosen: readonly string[] | undefined) => {
    const wanted = (chosen ?? (await idsOf(filter))).filter((id) => id !== parent);
    await addChildren(parent, kind, wanted);
    onDone();
    onClose();
    offerUndoOfMembers(words.added(wanted.length), { parent, kind, ids: wanted }, true, onDone);
  });
  const total = counted.data ?? 0;
  return (
    <Dialog
      title={words.addTitle}
      isWide
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{common().cancel}</Button>
          {conditions.length > 0 && total > 0 && (
            <Button
              isBusy={add.isRunning}
              blocked={total > ADD_MAX ? words.addTooMany(ADD_MAX) : undefined}
              onClick={() => void add.run(undefined)}
            >
              {words.addAll(total)}
            </Button>
          )}
          <Button
            kind="main"
            isBusy={add.isRunning}
            blocked={selected.size === 0 ? common().selected(0) : undefined}
            onClick={() => void add.run([...selected])}
          >
            {words.addCount(selected.size)}
          </Button>
        </>
      }
    >
      <FilterBar>
        <SlowTextField label={words.search} value={name} onChange={setName} hasFocus />
        <QueryField
          class="field-wide"
          label={words.searchQuery}
          value={query}
          names={NAMES}
          placeholder={words.queryHint}
          onChange={setQuery}
        />
      </FilterBar>
      <With loaded={found}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="muted">{words.noneFound}</p>
          ) : (
            <Table
              hasFile={false}
              label={words.addTitle}
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { id: 'name', title: words.name, isHeading: true, cell: nameOf },
                { id: 'type', title: words.type, cell: ({ type }) => type ?? '' },
              ]}
              selection={{ keys: selected, onChange: setSelected, nameOf }}
            />
          )
        }
      </With>
      <FormFault error={add.error} />
    </Dialog>
  );
}
