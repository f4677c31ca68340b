/** The inventory roles of a user: for which group of devices or object it has which. */
import { X } from 'lucide';
import { useState } from 'preact/hooks';
import { changeJson, getJson } from '../../../core/api/json.ts';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import { notify } from '../../../core/notices.ts';
import { href } from '../../../core/route.ts';
import { listObjects, nameOf } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { offerUndo } from '../../../core/api/undo.ts';
import { Button } from '../../../parts/button.tsx';
import { Combobox } from '../../../parts/combobox.tsx';
import { SelectField } from '../../../parts/fields.tsx';
import { Section } from '../../../parts/page.tsx';
import { FormFault, With } from '../../../parts/states.tsx';
import { Table } from '../../../parts/list/table.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { USER_ADMIN, readInventoryRoles, userPath } from './access.ts';
import type { Assignment } from './access.ts';
import { words as userWords } from './text.ts';

interface Row {
  readonly assignment: Assignment;
  readonly object: string;
}

interface Assignments {
  readonly rows: readonly Row[];
  readonly groups: readonly ManagedObject[];
}

const GROUPS = "(type eq 'c8y_DeviceGroup') or (type eq 'c8y_DeviceSubGroup') or (type eq 'c8y_DynamicGroup')";

const listAssignments = async (name: string, signal?: AbortSignal): Promise<readonly Assignment[]> =>
  (await getJson<{ inventoryAssignments: readonly Assignment[] }>(`${userPath(name)}/roles/inventory`, signal))
    .inventoryAssignments;

async function readAssignments(name: string, signal: AbortSignal): Promise<Assignments> {
  const inventoryAssignments = await listAssignments(name, signal);
  const ids = inventoryAssignments.map(({ managedObject }) => managedObject).slice(0, 100);
  const [named, groups] = await Promise.all([
    ids.length === 0 ? [] : listObjects({ ids: ids.join(',') }, 1, signal),
    listObjects({ query: `$filter=(${GROUPS}) $orderby=name asc` }, 1, signal),
  ]);
  const names = new Map(named.map((object) => [object.id, nameOf(object)]));
  const rows = inventoryAssignments.map((assignment) => ({
    assignment,
    object: names.get(assignment.managedObject) ?? assignment.managedObject,
  }));
  return { rows, groups };
}

export function Inventory({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const words = userWords();
  const path = `${userPath(name)}/roles/inventory`;
  const loaded = useLoaded((signal) => readAssignments(name, signal), [name]);
  const roles = useLoaded(readInventoryRoles, []);
  const [object, setObject] = useState('');
  const [role, setRole] = useState('');
  const give = async (managedObject: string, ids: readonly number[]): Promise<void> => {
    await changeJson('POST', path, { managedObject, roles: ids.map((id) => ({ id })) });
    loaded.reload();
    onChanged();
  };
  const groups = loaded.data?.groups ?? [];
  const picked = groups.find((group) => nameOf(group) === object)?.id ?? object.trim();
  const chosenRole = (roles.data ?? []).find(({ id }) => String(id) === role);
  const add = useAction(async () => {
    if (chosenRole === undefined) return;
    await give(picked, [chosenRole.id]);
    notify(words.given(chosenRole.name, object));
    setObject('');
  });
  const take = useAction(async ({ assignment, object: of }: Row) => {
    await changeJson('DELETE', `${path}/${assignment.id}`);
    loaded.reload();
    onChanged();
    const names = assignment.roles.map((one) => one.name).join(', ');
    offerUndo(words.taken(names, of), {
      isAsLeft: async () =>
        (await listAssignments(name)).every(({ managedObject }) => managedObject !== assignment.managedObject),
      run: () =>
        give(
          assignment.managedObject,
          assignment.roles.map(({ id }) => id),
        ),
    });
  });
  const columns: readonly Column<Row>[] = [
    {
      id: 'object',
      title: words.object,
      isHeading: true,
      cell: ({ assignment, object: shown }) => (
        <a href={href('/devices/:id', { id: assignment.managedObject })}>{shown}</a>
      ),
    },
    { id: 'roles', title: words.roles, cell: ({ assignment }) => assignment.roles.map((one) => one.name).join(', ') },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (row) => (
        <Button
          kind="quiet"
          icon={X}
          roles={USER_ADMIN}
          label={`${words.take}: ${row.object}`}
          onClick={() => void take.run(row)}
        >
          {words.take}
        </Button>
      ),
    },
  ];
  const wanted = object.toLowerCase();
  const blocked = picked === '' ? words.object : chosenRole === undefined ? words.role : undefined;
  return (
    <Section title={words.inventory}>
      <p class="field-hint">{words.inventoryHint}</p>
      <With loaded={loaded}>
        {({ rows }) =>
          rows.length === 0 ? (
            <p class="muted">{words.noInventory}</p>
          ) : (
            <Table
              label={words.inventory}
              columns={columns}
              rows={rows}
              keyOf={({ assignment }) => String(assignment.id)}
            />
          )
        }
      </With>
      <div class="filters">
        <Combobox
          class="field-wide"
          label={words.object}
          placeholder={words.objectHint}
          value={object}
          onInput={setObject}
          suggestions={groups
            .filter((group) => nameOf(group).toLowerCase().includes(wanted))
            .slice(0, 8)
            .map((group) => ({ key: group.id, text: nameOf(group), value: nameOf(group) }))}
          onChoose={(suggestion) => suggestion && setObject(suggestion.value)}
        />
        <SelectField
          label={words.role}
          value={role}
          options={[
            { value: '', text: words.choose },
            ...(roles.data ?? []).map((one) => ({ value: String(one.id), text: one.name })),
          ]}
          onChange={setRole}
        />
        <Button roles={USER_ADMIN} blocked={blocked} isBusy={add.isRunning} onClick={() => void add.run()}>
          {words.give}
        </Button>
      </div>
      <FormFault error={add.error ?? take.error} />
    </Section>
  );
}
