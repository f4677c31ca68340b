/** A group: its global roles as a matrix, and its members. */
import { Trash2, UserMinus } from 'lucide';
import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { changeJson, getJson } from '../../../core/api/json.ts';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import type { Loaded } from '../../../core/api/request.ts';
import { notify } from '../../../core/notices.ts';
import { href } from '../../../core/route.ts';
import type { ScreenProps } from '../../../core/route.ts';
import { collectionAt, pagePath, unwrapped } from '../../../core/server/collection.ts';
import { missingRole } from '../../../core/api/rights.ts';
import { common } from '../../../core/text/common.ts';
import { numberParameter, useUrlState } from '../../../core/url-state.ts';
import { offerUndo } from '../../../core/api/undo.ts';
import { Button } from '../../../parts/button.tsx';
import { Confirm } from '../../../parts/dialog.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { useList } from '../../../parts/list/list.ts';
import type { List } from '../../../parts/list/list.ts';
import { Page, Section } from '../../../parts/page.tsx';
import { FormFault, With } from '../../../parts/states.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { words as adminWords } from '../titles/text.ts';
import {
  LEVELS,
  USER_ADMIN,
  areaText,
  giveRole,
  groupPath,
  isMember,
  join,
  lackedRole,
  leave,
  readRoles,
  roleMatrix,
  rolesOf,
  takeRole,
} from './access.ts';
import type { Group, User } from './access.ts';
import { words as userWords } from './text.ts';
import { UserField } from './user-field.tsx';

const SHAPE = { page: numberParameter(1, { minimum: 1 }) };

interface RoleCheckProps {
  readonly role: string;
  readonly isHeld: boolean;
  readonly onChange: (role: string, isHeld: boolean) => void;
}

function RoleCheck({ role, isHeld, onChange }: RoleCheckProps) {
  const words = userWords();
  const missing = missingRole(...USER_ADMIN);
  const reason =
    missing !== undefined
      ? common().missingRole(missing)
      : lackedRole([role]) === undefined
        ? undefined
        : words.lacks(role);
  return (
    <span class="check">
      <input
        type="checkbox"
        aria-label={role}
        title={reason ?? role}
        aria-disabled={reason !== undefined}
        checked={isHeld}
        onClick={(event) => {
          if (reason === undefined) return;
          event.preventDefault();
          notify(reason);
        }}
        onChange={(event) => onChange(role, event.currentTarget.checked)}
      />
    </span>
  );
}

function Matrix({ group, onChanged }: { readonly group: Group; readonly onChanged: () => void }) {
  const words = userWords();
  const roles = useLoaded(readRoles, []);
  const held = new Set(rolesOf(group));
  const change = useAction(async (role: string, isHeld: boolean) => {
    const set = (isOn: boolean): Promise<void> => (isOn ? giveRole : takeRole)(group.id, role);
    try {
      await set(isHeld);
      offerUndo((isHeld ? words.roleGiven : words.roleTaken)(role, group.name), {
        isAsLeft: async () => rolesOf(await getJson<Group>(groupPath(group.id))).includes(role) === isHeld,
        run: async () => {
          await set(!isHeld);
          onChanged();
        },
      });
    } finally {
      onChanged();
    }
  });
  const onChange = (role: string, isHeld: boolean): void => void change.run(role, isHeld);
  return (
    <Section title={words.matrix}>
      <p class="field-hint">{group.name === 'admins' ? words.keepsRoles : words.grantRule}</p>
      <FormFault error={change.error} />
      <With loaded={roles}>
        {(all) => {
          const { rows, others } = roleMatrix([...new Set([...all.map(({ id }) => id), ...held])]);
          return (
            <>
              <div class="table-box" role="region" aria-label={words.matrix} tabIndex={0}>
                <table class="table">
                  <thead>
                    <tr>
                      <th scope="col">{words.area}</th>
                      {LEVELS.map((level) => (
                        <th key={level} scope="col">
                          {words.levels[level]}
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map(({ area, roles: found }) => (
                      <tr key={area}>
                        <th scope="row">{areaText(area)}</th>
                        {found.map((role, index) => (
                          <td key={LEVELS[index]}>
                            {role && <RoleCheck role={role} isHeld={held.has(role)} onChange={onChange} />}
                          </td>
                        ))}
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              {others.length > 0 && (
                <>
                  <h3>{words.otherRoles}</h3>
                  <ul class="stack">
                    {others.map((role) => (
                      <li key={role} class="row">
                        <RoleCheck role={role} isHeld={held.has(role)} onChange={onChange} />
                        {role}
                      </li>
                    ))}
                  </ul>
                </>
              )}
            </>
          );
        }}
      </With>
    </Section>
  );
}

function Members({ group, list }: { readonly group: Group; readonly list: List<User> }) {
  const words = userWords();
  const [{ page }, set] = useUrlState(SHAPE);
  const lacked = lackedRole(rolesOf(group));
  const blocked = lacked === undefined ? undefined : words.lacks(lacked);
  const move = useAction(async (name: string, isIn: boolean) => {
    const change = (into: boolean): Promise<void> => (into ? join : leave)(group.id, name);
    await change(isIn);
    list.reload();
    offerUndo((isIn ? words.joined : words.left)(name, group.name), {
      isAsLeft: async () => (await isMember(group.id, name)) === isIn,
      run: async () => {
        await change(!isIn);
        list.reload();
      },
    });
  });
  const columns: readonly Column<User>[] = [
    {
      id: 'userName',
      title: words.userName,
      isHeading: true,
      cell: ({ userName }) => <a href={href('/admin/users/:name', { name: userName })}>{userName}</a>,
    },
    { id: 'email', title: words.email, cell: ({ email }) => email ?? '' },
    { id: 'enabled', title: words.enabled, cell: ({ enabled }) => (enabled ? words.isEnabled : words.isDisabled) },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: ({ userName }) => (
        <Button
          kind="quiet"
          icon={UserMinus}
          roles={USER_ADMIN}
          blocked={blocked}
          label={`${words.takeOut}: ${userName}`}
          onClick={() => void move.run(userName, false)}
        >
          {words.takeOut}
        </Button>
      ),
    },
  ];
  return (
    <Section title={words.members}>
      <UserField
        label={words.addMember}
        blocked={blocked}
        isBusy={move.isRunning}
        onChoose={(name) => void move.run(name, true)}
      />
      <FormFault error={move.error} />
      <ListPage
        label={words.members}
        list={list}
        columns={columns}
        keyOf={({ userName }) => userName}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        empty={<p>{words.noMembers}</p>}
      />
    </Section>
  );
}

function Content({ id, loaded }: { readonly id: string; readonly loaded: Loaded<Group> }) {
  const [{ page }] = useUrlState(SHAPE);
  const users = collectionAt<unknown>(`${groupPath(id)}/users`, 'references');
  const list = useList<User>({
    load: async (number, signal, size) => unwrapped<User>('user')(await users.load(number, signal, size)),
    count: users.count,
    keyOf: ({ userName }) => userName,
    page,
    inputs: [id],
  });
  const words = userWords();
  const { route } = useLocation();
  const [isRemoving, setRemoving] = useState(false);
  const group = loaded.data;
  const remove = async (): Promise<void> => {
    await changeJson('DELETE', groupPath(id));
    notify(words.removed(group?.name ?? id));
    route(href('/admin/groups'));
  };
  return (
    <Page
      copy={[{ path: groupPath(id) }, { path: pagePath(`${groupPath(id)}/users`, page) }]}
      title={group?.name ?? id}
      crumbs={[{ text: adminWords().groups, href: href('/admin/groups') }]}
      actions={
        <Button
          icon={Trash2}
          kind="danger"
          roles={USER_ADMIN}
          blocked={group?.name === 'admins' ? words.keepsRoles : undefined}
          onClick={() => setRemoving(true)}
        >
          {words.remove}
        </Button>
      }
    >
      <With loaded={loaded}>
        {(found) => (
          <>
            {found.description && <p class="section">{found.description}</p>}
            <div class="columns columns-even">
              <Matrix group={found} onChanged={loaded.reload} />
              <Members group={found} list={list} />
            </div>
            {isRemoving && (
              <Confirm
                title={words.removeTitle(found.name)}
                action={words.remove}
                isDangerous
                phrase={found.name}
                run={remove}
                onClose={() => setRemoving(false)}
              >
                <p>{words.removeGroupText(list.total ?? list.data?.length ?? 0)}</p>
              </Confirm>
            )}
          </>
        )}
      </With>
    </Page>
  );
}

export default function GroupScreen({ params: { id } }: ScreenProps) {
  const loaded = useLoaded((signal) => getJson<Group>(groupPath(id), signal), [id]);
  return <Content key={id} id={id} loaded={loaded} />;
}
