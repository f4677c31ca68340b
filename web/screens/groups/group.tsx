/** A group: its members, and the groups around it as a tree. */
import { FolderPlus, Pencil, Trash2 } from 'lucide';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../core/api/request.ts';
import { useLive } from '../../core/live/live.ts';
import { useSoon } from '../../core/live/pace.ts';
import { href } from '../../core/route.ts';
import type { ScreenProps } from '../../core/route.ts';
import { devicePath, nameOf, readObject } from '../../core/server/managed-object.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { ObjectTree } from '../../parts/object-tree.tsx';
import { Page } from '../../parts/page.tsx';
import { With } from '../../parts/states.tsx';
import { CreateGroup, DeleteGroup, RenameGroup } from './dialogs.tsx';
import {
  INVENTORY_ADMIN,
  INVENTORY_CREATE_BELOW,
  belowGroup,
  isDynamic,
  memberQuery,
  nodeOf,
  queryOf,
  rootGroups,
} from './group-object.ts';
import { Members, useMembersPath } from './members.tsx';
import { words as groupWords } from './text.ts';

export default function Group({ params }: ScreenProps) {
  const words = groupWords();
  const id = params['id'];
  const [open, setOpen] = useState<'rename' | 'create' | 'remove'>();
  const close = (): void => setOpen(undefined);
  const loaded = useLoaded((signal) => readObject(id, signal), [id]);
  const [round, setRound] = useState(0);
  const roots = useLoaded(rootGroups, [round]);
  const reload = useSoon(loaded.reload);
  useLive([`/managedobjects/${id}`], { onMessages: reload, onGap: reload });
  const group = loaded.data?.id === id ? loaded.data : undefined;
  const query =
    group !== undefined && isDynamic(group) ? (name: string) => memberQuery(queryOf(group), name) : undefined;
  const members = useMembersPath(id, 'childAssets', query);
  const changed = (): void => setRound((before) => before + 1);
  return (
    <Page
      copy={[{ path: devicePath(id) }, { path: members }]}
      title={group === undefined ? words.group : nameOf(group)}
      crumbs={[{ text: words.title, href: href('/groups') }]}
      beside={group && isDynamic(group) && <Badge>{words.kinds.dynamic}</Badge>}
      actions={
        group && (
          <>
            {!isDynamic(group) && (
              <Button icon={FolderPlus} roles={INVENTORY_CREATE_BELOW} onClick={() => setOpen('create')}>
                {words.createBelow}
              </Button>
            )}
            <Button icon={Pencil} keys="e" roles={INVENTORY_ADMIN} onClick={() => setOpen('rename')}>
              {words.rename}
            </Button>
            <Button icon={Trash2} kind="danger" roles={INVENTORY_ADMIN} onClick={() => setOpen('remove')}>
              {words.remove}
            </Button>
          </>
        )
      }
    >
      <div class="split">
        <With loaded={roots}>
          {(found) => (
            <ObjectTree label={words.tree} roots={found.map(nodeOf)} load={belowGroup} current={id} version={round} />
          )}
        </With>
        <div class="grow">
          <With loaded={loaded}>
            {(shown) => (
              <>
                {isDynamic(shown) && <p class="mono">{queryOf(shown)}</p>}
                <Members
                  key={shown.id}
                  title={words.members}
                  parent={shown.id}
                  kind="childAssets"
                  {...(isDynamic(shown) ? { query: (name: string) => memberQuery(queryOf(shown), name) } : {})}
                  unlink={words.takeOut}
                  unlinked={words.takenOut}
                  empty={<p>{isDynamic(shown) ? words.noMembersDynamic : words.noMembers}</p>}
                  onChanged={changed}
                />
              </>
            )}
          </With>
        </div>
      </div>
      {open === 'create' && <CreateGroup parent={id} onClose={close} />}
      {open === 'rename' && group && (
        <RenameGroup
          group={group}
          onClose={close}
          onChanged={() => {
            loaded.reload();
            changed();
          }}
        />
      )}
      {open === 'remove' && group && <DeleteGroup group={group} onClose={close} />}
    </Page>
  );
}
