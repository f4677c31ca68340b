/** A user: profile, groups, inventory roles, password and one-time codes, and what it may do with the origin of each right. */
import { KeyRound, Pencil, ShieldOff, Trash2, UserMinus, UserRoundCheck, UserRoundX } from 'lucide';
import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { changeJson } from '../../../core/api/json.ts';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import type { Loaded } from '../../../core/api/request.ts';
import { user as you } from '../../../core/api/session.ts';
import { notify } from '../../../core/notices.ts';
import { href } from '../../../core/route.ts';
import type { ScreenProps } from '../../../core/route.ts';
import { offerUndo } from '../../../core/api/undo.ts';
import { Button } from '../../../parts/button.tsx';
import { Confirm, FormDialog } from '../../../parts/dialog.tsx';
import { SelectField, TextField } from '../../../parts/fields.tsx';
import { Page, Section } from '../../../parts/page.tsx';
import { FormFault, With } from '../../../parts/states.tsx';
import { Time } from '../../../parts/time.tsx';
import { words as adminWords } from '../titles/text.ts';
import {
  USER_ADMIN,
  USER_CREATE,
  isMember,
  join,
  lackedRole,
  leave,
  readGroups,
  readGroupsOf,
  readUser,
  rolesOf,
  userPath,
} from './access.ts';
import type { Group, User } from './access.ts';
import { Inventory } from './inventory.tsx';
import { Rights } from './rights.tsx';
import { words as userWords } from './text.ts';

type Opened = 'edit' | 'remove' | 'password' | 'totp';

interface Changing {
  readonly user: User;
  readonly onChanged: () => void;
}

function Edit({ user, onChanged, onClose }: Changing & { readonly onClose: () => void }) {
  const words = userWords();
  const [email, setEmail] = useState(user.email ?? '');
  const [firstName, setFirstName] = useState(user.firstName ?? '');
  const [lastName, setLastName] = useState(user.lastName ?? '');
  const [phone, setPhone] = useState(user.phone ?? '');
  const save = useAction(async () => {
    // Each member alone: an empty one is taken away, and those that stay ask for no further rights.
    const told = { email, firstName, lastName, phone };
    const names = (Object.keys(told) as (keyof typeof told)[]).filter((name) => told[name] !== (user[name] ?? ''));
    const bodyOf = (values: Partial<Record<keyof typeof told, string | null | undefined>>): object =>
      Object.fromEntries(names.map((name) => [name, values[name] || null]));
    if (names.length > 0) {
      await changeJson('PUT', userPath(user.userName), bodyOf(told));
      offerUndo(words.changed(user.userName), {
        isAsLeft: async () => {
          const now = await readUser(user.userName);
          return names.every((name) => (now[name] ?? '') === told[name]);
        },
        run: async () => {
          await changeJson('PUT', userPath(user.userName), bodyOf(user));
          onChanged();
        },
      });
      onChanged();
    }
    onClose();
  });
  return (
    <FormDialog
      title={words.editTitle(user.userName)}
      onClose={onClose}
      onSubmit={() => void save.run()}
      isBusy={save.isRunning}
      error={save.error}
    >
      <TextField label={words.email} type="email" value={email} onInput={setEmail} hasFocus />
      <TextField label={words.firstName} value={firstName} onInput={setFirstName} />
      <TextField label={words.lastName} value={lastName} onInput={setLastName} />
      <TextField label={words.phone} value={phone} onInput={setPhone} />
    </FormDialog>
  );
}

function SetPassword({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const words = userWords();
  const [yours, setYours] = useState('');
  const [password, setPassword] = useState('');
  const save = useAction(async () => {
    const body = { currentUserPassword: yours, newPassword: password };
    await changeJson('PUT', `${userPath(user.userName)}/password`, body);
    notify(words.passwordSet);
    onClose();
  });
  return (
    <FormDialog
      title={words.setPassword}
      onClose={onClose}
      onSubmit={() => void save.run()}
      action={words.setPassword}
      isBusy={save.isRunning}
      error={save.error}
    >
      <TextField
        label={words.yourPassword}
        type="password"
        autocomplete="current-password"
        value={yours}
        onInput={setYours}
        hint={words.yourPasswordHint}
        isRequired
        hasFocus
      />
      <TextField
        label={words.newPassword}
        type="password"
        autocomplete="new-password"
        value={password}
        onInput={setPassword}
        isRequired
      />
    </FormDialog>
  );
}

function Groups({ user, groups }: { readonly user: User; readonly groups: Loaded<readonly Group[]> }) {
  const words = userWords();
  const all = useLoaded(readGroups, []);
  const [chosen, setChosen] = useState('');
  const move = useAction(async (group: Group, isIn: boolean) => {
    const change = (into: boolean): Promise<void> => (into ? join : leave)(group.id, user.userName);
    await change(isIn);
    groups.reload();
    setChosen('');
    offerUndo((isIn ? words.joined : words.left)(user.userName, group.name), {
      isAsLeft: async () => (await isMember(group.id, user.userName)) === isIn,
      run: async () => {
        await change(!isIn);
        groups.reload();
      },
    });
  });
  const blockedFor = (group: Group | undefined): string | undefined => {
    const lacked = group && lackedRole(rolesOf(group));
    return lacked && words.lacks(lacked);
  };
  const others = (all.data ?? []).filter(({ id }) => !(groups.data ?? []).some((group) => group.id === id));
  const picked = others.find(({ id }) => String(id) === chosen);
  return (
    <Section title={words.groups}>
      <With loaded={groups}>
        {(found) => (
          <ul class="stack">
            {found.length === 0 && <li class="muted">{words.noGroups}</li>}
            {found.map((group) => (
              <li key={group.id} class="row row-apart">
                <a href={href('/admin/groups/:id', { id: String(group.id) })}>{group.name}</a>
                <Button
                  kind="quiet"
                  icon={UserMinus}
                  roles={USER_ADMIN}
                  blocked={blockedFor(group)}
                  label={`${words.takeOut}: ${group.name}`}
                  onClick={() => void move.run(group, false)}
                >
                  {words.takeOut}
                </Button>
              </li>
            ))}
          </ul>
        )}
      </With>
      <div class="filters">
        <SelectField
          label={words.addToGroup}
          value={chosen}
          options={[
            { value: '', text: words.choose },
            ...others.map(({ id, name }) => ({ value: String(id), text: name })),
          ]}
          onChange={setChosen}
        />
        <Button
          roles={USER_CREATE}
          blocked={picked === undefined ? words.choose : blockedFor(picked)}
          isBusy={move.isRunning}
          onClick={() => picked && void move.run(picked, true)}
        >
          {words.addToGroup}
        </Button>
      </div>
      <p class="field-hint">{words.grantRule}</p>
      <FormFault error={move.error} />
    </Section>
  );
}

function Profile({ user, onChanged, onOpen }: Changing & { readonly onOpen: (what: Opened) => void }) {
  const words = userWords();
  const blocked = user.userName === you.value?.userName ? words.notYourself : undefined;
  const enable = useAction(async () => {
    const set = (enabled: boolean): Promise<unknown> => changeJson('PUT', userPath(user.userName), { enabled });
    await set(!user.enabled);
    onChanged();
    offerUndo((user.enabled ? words.disabledDone : words.enabledDone)(user.userName), {
      isAsLeft: async () => (await readUser(user.userName)).enabled !== user.enabled,
      run: async () => {
        await set(user.enabled);
        onChanged();
      },
    });
  });
  return (
    <Section
      title={words.profile}
      actions={
        <>
          <Button icon={Pencil} keys="e" roles={USER_CREATE} onClick={() => onOpen('edit')}>
            {words.edit}
          </Button>
          <Button
            icon={user.enabled ? UserRoundX : UserRoundCheck}
            roles={USER_CREATE}
            blocked={blocked}
            isBusy={enable.isRunning}
            onClick={() => void enable.run()}
          >
            {user.enabled ? words.disable : words.enable}
          </Button>
          <Button icon={Trash2} kind="danger" roles={USER_CREATE} blocked={blocked} onClick={() => onOpen('remove')}>
            {words.remove}
          </Button>
        </>
      }
    >
      <FormFault error={enable.error} />
      <dl class="facts">
        <dt>{words.enabled}</dt>
        <dd>{user.enabled ? words.isEnabled : words.isDisabled}</dd>
        <dt>{words.name}</dt>
        <dd>{[user.firstName, user.lastName].filter(Boolean).join(' ') || '–'}</dd>
        <dt>{words.email}</dt>
        <dd>{user.email || '–'}</dd>
        <dt>{words.phone}</dt>
        <dd>{user.phone || '–'}</dd>
        <dt>{words.password}</dt>
        <dd class="row">
          <Time value={user.lastPasswordChange} hasAge />
          <Button icon={KeyRound} roles={USER_ADMIN} onClick={() => onOpen('password')}>
            {words.setPassword}
          </Button>
        </dd>
        <dt>{words.totp}</dt>
        <dd class="row">
          {user.twoFactorAuthenticationEnabled ? words.totpOn : words.totpOff}
          <Button icon={ShieldOff} roles={USER_ADMIN} onClick={() => onOpen('totp')}>
            {words.totpReset}
          </Button>
        </dd>
      </dl>
    </Section>
  );
}

export default function UserScreen({ params: { name } }: ScreenProps) {
  const words = userWords();
  const { route } = useLocation();
  const [open, setOpen] = useState<Opened>();
  /** Counts changes of inventory roles, which give rights. */
  const [round, setRound] = useState(0);
  const loaded = useLoaded((signal) => readUser(name, signal), [name]);
  const groups = useLoaded((signal) => readGroupsOf(name, signal), [name]);
  const close = (): void => setOpen(undefined);
  const remove = async (): Promise<void> => {
    await changeJson('DELETE', userPath(name));
    notify(words.removed(name));
    route(href('/admin/users'));
  };
  const resetCodes = async (): Promise<void> => {
    await changeJson('DELETE', `${userPath(name)}/totpSecret/revoke`);
    notify(words.totpDone);
    loaded.reload();
  };
  return (
    <Page
      copy={[{ path: userPath(name) }, { path: `${userPath(name)}/groups` }]}
      title={name}
      crumbs={[{ text: adminWords().users, href: href('/admin/users') }]}
    >
      <With loaded={loaded}>
        {(user) => (
          <>
            <div class="columns columns-even">
              <Profile user={user} onChanged={loaded.reload} onOpen={setOpen} />
              <Groups user={user} groups={groups} />
            </div>
            <Inventory key={name} name={name} onChanged={() => setRound((last) => last + 1)} />
            <Rights name={name} inputs={groups.data} round={round} />
            {open === 'edit' && <Edit user={user} onChanged={loaded.reload} onClose={close} />}
            {open === 'password' && <SetPassword user={user} onClose={close} />}
            {open === 'totp' && (
              <Confirm title={words.totpResetTitle} action={words.totpReset} run={resetCodes} onClose={close}>
                <p>{words.totpResetText}</p>
              </Confirm>
            )}
            {open === 'remove' && (
              <Confirm
                title={words.removeTitle(name)}
                action={words.remove}
                isDangerous
                phrase={name}
                run={remove}
                onClose={close}
              >
                <p>{words.removeText}</p>
              </Confirm>
            )}
          </>
        )}
      </With>
    </Page>
  );
}
