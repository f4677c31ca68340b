/** The users of the tenant, and how to add one. */
import { Plus } from 'lucide';
import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { changeJson } from '../../../core/api/json.ts';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import { randomText } from '../../../core/clipboard.ts';
import { notify } from '../../../core/notices.ts';
import { href } from '../../../core/route.ts';
import { collectionAt, pagePath } from '../../../core/server/collection.ts';
import { numberParameter, textParameter, useUrlState } from '../../../core/url-state.ts';
import { Button } from '../../../parts/button.tsx';
import { CopyButton } from '../../../parts/copy.tsx';
import { Dialog, FormDialog } from '../../../parts/dialog.tsx';
import { CheckField, TextField, optionalLabel } from '../../../parts/fields.tsx';
import { FilterBar, SlowTextField } from '../../../parts/filter-bar.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { useList } from '../../../parts/list/list.ts';
import { Page } from '../../../parts/page.tsx';
import { With } from '../../../parts/states.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { Time } from '../../../parts/time.tsx';
import { words as adminWords } from '../titles/text.ts';
import { USER_CREATE, join, lackedRole, readGroups, rolesOf, usersPath } from './access.ts';
import type { User } from './access.ts';
import { words as userWords } from './text.ts';
import type { UserTexts } from './text.ts';

const SHAPE = { name: textParameter(), page: numberParameter(1, { minimum: 1 }) };
const PASSWORD_LENGTH = 20;
/** Every rule of a tenant wants these four kinds of characters at most. */
const KINDS = 'aA1-';

const columnsOf = (words: UserTexts): readonly Column<User>[] => [
  {
    id: 'userName',
    title: words.userName,
    isHeading: true,
    cell: ({ userName }) => <a href={href('/admin/users/:name', { name: userName })}>{userName}</a>,
  },
  { id: 'name', title: words.name, cell: ({ firstName, lastName }) => [firstName, lastName].filter(Boolean).join(' ') },
  { id: 'email', title: words.email, cell: ({ email }) => email ?? '' },
  { id: 'enabled', title: words.enabled, cell: ({ enabled }) => (enabled ? words.isEnabled : words.isDisabled) },
  {
    id: 'groups',
    title: words.groups,
    cell: ({ groups }) => (groups?.references ?? []).map(({ group }) => group.name).join(', '),
  },
  {
    id: 'passwordChanged',
    title: words.passwordChanged,
    cell: ({ lastPasswordChange }) => lastPasswordChange && <Time value={lastPasswordChange} />,
  },
];

interface Made {
  readonly userName: string;
  readonly password: string;
}

function GroupChoice({ chosen, onChange }: { chosen: ReadonlySet<number>; onChange: (chosen: Set<number>) => void }) {
  const words = userWords();
  const groups = useLoaded(readGroups, []);
  return (
    <fieldset class="stack">
      <legend class="field-label">{words.groups}</legend>
      <With loaded={groups}>
        {(found) =>
          found.map((group) => {
            const lacked = lackedRole(rolesOf(group));
            const toggle = (isOn: boolean): void => {
              if (lacked !== undefined) return notify(words.lacks(lacked));
              const next = new Set(chosen);
              isOn ? next.add(group.id) : next.delete(group.id);
              onChange(next);
            };
            return (
              <CheckField
                key={group.id}
                label={lacked === undefined ? group.name : `${group.name} (${words.lacks(lacked)})`}
                isChecked={chosen.has(group.id)}
                onChange={toggle}
              />
            );
          })
        }
      </With>
      <p class="field-hint">{words.grantRule}</p>
    </fieldset>
  );
}

function Add({ onClose, onMade }: { readonly onClose: () => void; readonly onMade: (made: Made) => void }) {
  const words = userWords();
  const [userName, setUserName] = useState('');
  const [email, setEmail] = useState('');
  const [firstName, setFirstName] = useState('');
  const [lastName, setLastName] = useState('');
  const [password, setPassword] = useState(() => randomText(PASSWORD_LENGTH) + KINDS);
  const [mustChange, setMustChange] = useState(true);
  const [groups, setGroups] = useState<ReadonlySet<number>>(new Set());
  const add = useAction(async () => {
    const given = Object.entries({ email, firstName, lastName }).filter(([, value]) => value !== '');
    await changeJson('POST', usersPath(), {
      userName,
      password,
      shouldResetPassword: mustChange,
      ...Object.fromEntries(given),
    });
    for (const group of groups)
      await join(group, userName).catch((error: unknown) => {
        // The user exists: its page shows the groups that it got.
        notify(String(error), { kind: 'fault' });
      });
    onMade({ userName, password });
  });
  return (
    <FormDialog
      title={words.add}
      onClose={onClose}
      onSubmit={() => void add.run()}
      action={words.add}
      isBusy={add.isRunning}
      error={add.error}
    >
      <TextField
        label={words.userName}
        value={userName}
        onInput={setUserName}
        hint={words.userNameHint}
        isRequired
        hasFocus
      />
      <TextField label={optionalLabel(words.email)} type="email" value={email} onInput={setEmail} />
      <TextField label={optionalLabel(words.firstName)} value={firstName} onInput={setFirstName} />
      <TextField label={optionalLabel(words.lastName)} value={lastName} onInput={setLastName} />
      <TextField label={words.password} value={password} onInput={setPassword} isMono isRequired />
      <CheckField label={words.mustChange} isChecked={mustChange} onChange={setMustChange} />
      <GroupChoice chosen={groups} onChange={setGroups} />
    </FormDialog>
  );
}

function Once({ made, onClose }: { readonly made: Made; readonly onClose: () => void }) {
  const words = userWords();
  return (
    <Dialog
      title={words.created(made.userName)}
      onClose={onClose}
      foot={
        <Button kind="main" onClick={onClose}>
          {words.open}
        </Button>
      }
    >
      <p>{words.shownOnce}</p>
      <p class="row">
        <span class="mono">{made.password}</span>
        <CopyButton text={made.password} />
      </p>
    </Dialog>
  );
}

export default function Users() {
  const words = userWords();
  const { route } = useLocation();
  const [{ name, page }, set] = useUrlState(SHAPE);
  const [isAdding, setAdding] = useState(false);
  const [made, setMade] = useState<Made>();
  const query = name === '' ? {} : { username: name };
  const users = collectionAt<User>(usersPath(), 'users', query);
  const list = useList({ ...users, keyOf: ({ userName }) => userName, page, inputs: [name] });
  const clear = (): void => set({ name: '', page: 1 }, { isStep: true });
  return (
    <Page
      copy={{ path: pagePath(usersPath(), page, query) }}
      title={adminWords().users}
      actions={
        <Button kind="main" icon={Plus} roles={USER_CREATE} onClick={() => setAdding(true)}>
          {words.add}
        </Button>
      }
    >
      <FilterBar onClear={name === '' ? undefined : clear}>
        <SlowTextField label={words.nameFilter} value={name} onChange={(value) => set({ name: value, page: 1 })} />
      </FilterBar>
      <ListPage
        label={adminWords().users}
        list={list}
        columns={columnsOf(words)}
        keyOf={({ userName }) => userName}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        hasFilters={name !== ''}
        onClearFilters={clear}
      />
      {isAdding && (
        <Add
          onClose={() => setAdding(false)}
          onMade={(done) => {
            setAdding(false);
            setMade(done);
          }}
        />
      )}
      {made && <Once made={made} onClose={() => route(href('/admin/users/:name', { name: made.userName }))} />}
    </Page>
  );
}
