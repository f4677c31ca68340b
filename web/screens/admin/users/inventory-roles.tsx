/** Inventory roles: sets of permissions that users get for groups of devices. */
import { Pencil, Plus, Trash2, X } from 'lucide';
import { useState } from 'preact/hooks';
import { changeJson, getJson } from '../../../core/api/json.ts';
import { useAction } from '../../../core/api/request.ts';
import { notify } from '../../../core/notices.ts';
import { collectionAt, pagePath } from '../../../core/server/collection.ts';
import { common } from '../../../core/text/common.ts';
import { numberParameter, useUrlState } from '../../../core/url-state.ts';
import { offerUndo } from '../../../core/api/undo.ts';
import { Button, IconButton } from '../../../parts/button.tsx';
import { Confirm, FormDialog } from '../../../parts/dialog.tsx';
import { SelectField, TextField, optionalLabel } from '../../../parts/fields.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { useList } from '../../../parts/list/list.ts';
import { Page } from '../../../parts/page.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { words as adminWords } from '../titles/text.ts';
import { INVENTORY_ROLES_PATH, PERMISSIONS, SCOPES, USER_ADMIN } from './access.ts';
import type { InventoryRole, Permission } from './access.ts';
import { words as userWords } from './text.ts';
import type { UserTexts } from './text.ts';

const SHAPE = { page: numberParameter(1, { minimum: 1 }) };
const FIRST: Permission = { scope: '*', permission: 'READ', type: '*' };

const permissionText = (words: UserTexts, { scope, permission, type = '*' }: Permission): string =>
  `${words.scopes[scope]}: ${words.permissionNames[permission]}${type === '*' ? '' : ` (${type})`}`;

/** The permissions alone, without the ids that the server gives them. */
const plain = (permissions: readonly Permission[]): readonly Permission[] =>
  permissions.map(({ scope, permission, type }) => ({ scope, permission, type: type || '*' }));

function PermissionFields({
  value,
  onChange,
}: {
  readonly value: readonly Permission[];
  readonly onChange: (value: readonly Permission[]) => void;
}) {
  const words = userWords();
  const set = (index: number, changes: Partial<Permission>): void =>
    onChange(value.map((one, at) => (at === index ? { ...one, ...changes } : one)));
  return (
    <fieldset class="stack">
      <legend class="field-label">{words.permissions}</legend>
      {value.map((permission, index) => (
        <div key={index} class="filters">
          <SelectField
            label={words.scope}
            value={permission.scope}
            options={SCOPES.map((scope) => ({ value: scope, text: words.scopes[scope] }))}
            onChange={(scope) => set(index, { scope })}
          />
          <SelectField
            label={words.permission}
            value={permission.permission}
            options={PERMISSIONS.map((one) => ({ value: one, text: words.permissionNames[one] }))}
            onChange={(one) => set(index, { permission: one })}
          />
          <TextField
            label={words.type}
            value={permission.type === '*' ? '' : (permission.type ?? '')}
            placeholder={words.anyType}
            onInput={(type) => set(index, { type })}
          />
          <IconButton
            icon={X}
            label={words.removePermission}
            onClick={() => onChange(value.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <div>
        <Button icon={Plus} onClick={() => onChange([...value, FIRST])}>
          {words.addPermission}
        </Button>
      </div>
    </fieldset>
  );
}

interface EditProps {
  /** undefined makes a new one. */
  readonly role: InventoryRole | undefined;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function Edit({ role, onClose, onChanged }: EditProps) {
  const words = userWords();
  const [name, setName] = useState(role?.name ?? '');
  const [description, setDescription] = useState(role?.description ?? '');
  const [permissions, setPermissions] = useState(role?.permissions ?? [FIRST]);
  const save = useAction(async () => {
    const body = { name, description, permissions: plain(permissions) };
    if (role === undefined) {
      await changeJson('POST', INVENTORY_ROLES_PATH, body);
      notify(words.groupCreated(name));
    } else {
      const path = `${INVENTORY_ROLES_PATH}/${role.id}`;
      const changed = await changeJson<InventoryRole>('PUT', path, body);
      offerUndo(words.changed(name), {
        isAsLeft: async () => JSON.stringify(await getJson<InventoryRole>(path)) === JSON.stringify(changed),
        run: async () => {
          const { name: before, description: text, permissions: had } = role;
          await changeJson('PUT', path, { name: before, description: text ?? '', permissions: plain(had) });
          onChanged();
        },
      });
    }
    onChanged();
    onClose();
  });
  return (
    <FormDialog
      title={role === undefined ? words.addInventoryRole : words.editTitle(role.name)}
      onClose={onClose}
      isWide
      onSubmit={() => void save.run()}
      isBusy={save.isRunning}
      error={save.error}
    >
      <TextField label={words.groupName} value={name} onInput={setName} isRequired hasFocus />
      <TextField label={optionalLabel(words.description)} value={description} onInput={setDescription} />
      <PermissionFields value={permissions} onChange={setPermissions} />
      <p class="field-hint">{words.grantRule}</p>
    </FormDialog>
  );
}

export default function InventoryRoles() {
  const words = userWords();
  const [{ page }, set] = useUrlState(SHAPE);
  const [edited, setEdited] = useState<InventoryRole | 'new'>();
  const [removed, setRemoved] = useState<InventoryRole>();
  const keyOf = ({ id }: InventoryRole): string => String(id);
  const list = useList({ ...collectionAt<InventoryRole>(INVENTORY_ROLES_PATH, 'roles'), keyOf, page, inputs: [] });
  const columns: readonly Column<InventoryRole>[] = [
    { id: 'name', title: words.groupName, isHeading: true, cell: ({ name }) => name },
    { id: 'description', title: words.description, cell: ({ description }) => description ?? '' },
    {
      id: 'permissions',
      title: words.permissions,
      cell: ({ permissions }) => permissions.map((one) => permissionText(words, one)).join(' · '),
    },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (role) => (
        <span class="row">
          <Button
            icon={Pencil}
            kind="quiet"
            label={words.editTitle(role.name)}
            roles={USER_ADMIN}
            onClick={() => setEdited(role)}
          >
            {words.edit}
          </Button>
          <Button
            icon={Trash2}
            kind="quiet"
            label={words.removeTitle(role.name)}
            roles={USER_ADMIN}
            onClick={() => setRemoved(role)}
          >
            {words.remove}
          </Button>
        </span>
      ),
    },
  ];
  const remove = async (): Promise<void> => {
    if (removed === undefined) return;
    await changeJson('DELETE', `${INVENTORY_ROLES_PATH}/${removed.id}`);
    notify(words.removed(removed.name));
    list.reload();
  };
  return (
    <Page
      copy={{ path: pagePath(INVENTORY_ROLES_PATH, page) }}
      title={adminWords().inventoryRoles}
      actions={
        <Button kind="main" icon={Plus} roles={USER_ADMIN} onClick={() => setEdited('new')}>
          {words.addInventoryRole}
        </Button>
      }
    >
      <p class="section muted">{words.inventoryRoleText}</p>
      <ListPage
        label={adminWords().inventoryRoles}
        list={list}
        columns={columns}
        keyOf={keyOf}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        empty={<p>{words.inventoryRoleText}</p>}
      />
      {edited && (
        <Edit
          role={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onChanged={list.reload}
        />
      )}
      {removed && (
        <Confirm
          title={words.removeTitle(removed.name)}
          action={words.remove}
          isDangerous
          run={remove}
          onClose={() => setRemoved(undefined)}
        >
          <p>{words.removeInventoryRoleText}</p>
        </Confirm>
      )}
    </Page>
  );
}
