/** Groups of users: their global roles count for every member. */
import { Plus } from 'lucide';
import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { changeJson } from '../../../core/api/json.ts';
import { useAction } from '../../../core/api/request.ts';
import { notify } from '../../../core/notices.ts';
import { href } from '../../../core/route.ts';
import { collectionAt, pagePath } from '../../../core/server/collection.ts';
import { numberParameter, useUrlState } from '../../../core/url-state.ts';
import { Button } from '../../../parts/button.tsx';
import { FormDialog } from '../../../parts/dialog.tsx';
import { TextField, optionalLabel } from '../../../parts/fields.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { useList } from '../../../parts/list/list.ts';
import { Page } from '../../../parts/page.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { words as adminWords } from '../titles/text.ts';
import { USER_ADMIN, groupsPath, rolesOf } from './access.ts';
import type { Group } from './access.ts';
import { words as userWords } from './text.ts';

const SHAPE = { page: numberParameter(1, { minimum: 1 }) };

function Add({ onClose }: { readonly onClose: () => void }) {
  const words = userWords();
  const { route } = useLocation();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const add = useAction(async () => {
    const body = description === '' ? { name } : { name, description };
    const made = await changeJson<Group>('POST', groupsPath(), body);
    notify(words.groupCreated(name));
    onClose();
    if (made !== undefined) route(href('/admin/groups/:id', { id: String(made.id) }));
  });
  return (
    <FormDialog
      title={words.addGroup}
      onClose={onClose}
      onSubmit={() => void add.run()}
      action={words.addGroup}
      isBusy={add.isRunning}
      error={add.error}
    >
      <TextField label={words.groupName} value={name} onInput={setName} isRequired hasFocus />
      <TextField label={optionalLabel(words.description)} value={description} onInput={setDescription} />
    </FormDialog>
  );
}

export default function Groups() {
  const words = userWords();
  const [{ page }, set] = useUrlState(SHAPE);
  const [isAdding, setAdding] = useState(false);
  const keyOf = ({ id }: Group): string => String(id);
  const list = useList({ ...collectionAt<Group>(groupsPath(), 'groups'), keyOf, page, inputs: [] });
  const columns: readonly Column<Group>[] = [
    {
      id: 'name',
      title: words.groupName,
      isHeading: true,
      cell: ({ id, name }) => <a href={href('/admin/groups/:id', { id: String(id) })}>{name}</a>,
    },
    { id: 'description', title: words.description, cell: ({ description }) => description ?? '' },
    {
      id: 'roles',
      title: words.matrix,
      text: (group) => rolesOf(group).join(' '),
      cell: (group) => <span title={rolesOf(group).join('\n')}>{words.roleCount(rolesOf(group).length)}</span>,
    },
  ];
  return (
    <Page
      copy={{ path: pagePath(groupsPath(), page) }}
      title={adminWords().groups}
      actions={
        <Button kind="main" icon={Plus} roles={USER_ADMIN} onClick={() => setAdding(true)}>
          {words.addGroup}
        </Button>
      }
    >
      <ListPage
        label={adminWords().groups}
        list={list}
        columns={columns}
        keyOf={keyOf}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
      />
      {isAdding && <Add onClose={() => setAdding(false)} />}
    </Page>
  );
}
