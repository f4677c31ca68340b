/** Making, renaming and deleting a group. */
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, got } from '../../core/api/api.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { notify } from '../../core/notices.ts';
import { href } from '../../core/route.ts';
import { countChildren } from '../../core/server/children.ts';
import { nameOf } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { Confirm, FormDialog } from '../../parts/dialog.tsx';
import { SelectField, TextField } from '../../parts/fields.tsx';
import { changeGroup, createGroup, isDynamic, queryOf } from './group-object.ts';
import { words as groupWords } from './text.ts';

export function CreateGroup({ parent, onClose }: { readonly parent?: string; readonly onClose: () => void }) {
  const words = groupWords();
  const { route } = useLocation();
  const [name, setName] = useState('');
  const [kind, setKind] = useState<'static' | 'dynamic'>('static');
  const [query, setQuery] = useState('');
  const create = useAction(async () => {
    const group = await createGroup({
      name,
      ...(parent === undefined ? {} : { parent }),
      ...(kind === 'dynamic' ? { query } : {}),
    });
    notify(words.created(name));
    onClose();
    route(href('/groups/:id', { id: group.id }));
  });
  return (
    <FormDialog
      title={words.createTitle}
      onClose={onClose}
      onSubmit={() => void create.run()}
      isBusy={create.isRunning}
      error={create.error}
    >
      <TextField label={words.name} value={name} onInput={setName} isRequired hasFocus />
      {parent === undefined && (
        <SelectField
          label={words.kind}
          value={kind}
          options={[
            { value: 'static', text: words.kinds.static },
            { value: 'dynamic', text: words.kinds.dynamic },
          ]}
          onChange={setKind}
        />
      )}
      {kind === 'dynamic' && (
        <TextField label={words.query} value={query} onInput={setQuery} isMono isRequired hint={words.queryHint} />
      )}
    </FormDialog>
  );
}

interface ChangeProps {
  readonly group: ManagedObject;
  readonly onChanged: (group: ManagedObject) => void;
  readonly onClose: () => void;
}

export function RenameGroup({ group, onChanged, onClose }: ChangeProps) {
  const words = groupWords();
  const [name, setName] = useState(nameOf(group));
  const [query, setQuery] = useState(queryOf(group));
  const save = useAction(async () => {
    const body = isDynamic(group) ? { name, c8y_DeviceQueryString: query } : { name };
    await changeGroup(group, body, words.renamed(name), onChanged);
    onClose();
  });
  return (
    <FormDialog
      title={words.renameTitle}
      onClose={onClose}
      onSubmit={() => void save.run()}
      isBusy={save.isRunning}
      error={save.error}
    >
      <TextField label={words.name} value={name} onInput={setName} isRequired hasFocus />
      {isDynamic(group) && <TextField label={words.query} value={query} onInput={setQuery} isMono isRequired />}
    </FormDialog>
  );
}

export function DeleteGroup({ group, onClose }: Omit<ChangeProps, 'onChanged'>) {
  const words = groupWords();
  const { route } = useLocation();
  const counted = useLoaded((signal) => countChildren(group.id, 'childAssets', '', signal), [group.id]);
  return (
    <Confirm
      title={words.removeTitle(nameOf(group))}
      action={words.remove}
      isDangerous
      onClose={onClose}
      run={async () => {
        await got(api.DELETE('/inventory/managedObjects/{id}', { params: { path: { id: group.id } } }));
        notify(words.removed(nameOf(group)));
        route(href('/groups'));
      }}
    >
      <p>{isDynamic(group) ? words.removeDynamic : words.removeText(counted.data)}</p>
    </Confirm>
  );
}
