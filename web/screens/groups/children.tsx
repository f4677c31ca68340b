/** Children of a device: devices behind it, assets, additions; and the tree below it. */
import { useMemo } from 'preact/hooks';
import { href } from '../../core/route.ts';
import type { ScreenProps } from '../../core/route.ts';
import { CHILD_KINDS, listChildren } from '../../core/server/children.ts';
import { nameOf } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { choiceParameter, numberParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import { DevicePage } from '../../parts/device/page.tsx';
import { ObjectTree } from '../../parts/object-tree.tsx';
import type { TreeNode } from '../../parts/object-tree.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Members, useMembersPath } from './members.tsx';
import { words as groupWords } from './text.ts';

const SHAPE = { kind: choiceParameter(CHILD_KINDS), page: numberParameter(1, { minimum: 1 }), name: textParameter() };

const nodeOf = (object: ManagedObject): TreeNode => ({
  id: object.id,
  name: nameOf(object),
  href: href('/devices/:id/children', { id: object.id }),
  canOpen: true,
});

const belowDevice = async ({ id }: TreeNode, page: number, signal: AbortSignal): Promise<readonly TreeNode[]> =>
  (await listChildren(id, 'childDevices', { page }, signal)).map(nodeOf);

function Children({ device }: { readonly device: ManagedObject }) {
  const words = groupWords();
  const [{ kind }, set] = useUrlState(SHAPE);
  const roots = useMemo(() => [nodeOf(device)], [device]);
  return (
    <div class="split">
      <ObjectTree
        label={words.childTree}
        roots={roots}
        load={belowDevice}
        current={device.id}
        version={device.lastUpdated}
      />
      <div class="grow">
        <Tabs
          label={words.children}
          tabs={CHILD_KINDS.map((value) => ({ value, text: words.childKinds[value] }))}
          value={kind}
          onChange={(value) => set({ kind: value, page: 1, name: '' }, { isStep: true })}
        >
          <Members
            key={`${device.id} ${kind}`}
            title={words.childKinds[kind]}
            parent={device.id}
            kind={kind}
            unlink={words.unlink}
            unlinked={words.unlinked}
            empty={<p>{kind === 'childDevices' ? words.childrenText : words.noChildren}</p>}
            onChanged={() => undefined}
          />
        </Tabs>
      </div>
    </div>
  );
}

export default function DeviceChildren({ params: { id } }: ScreenProps) {
  const [{ kind }] = useUrlState(SHAPE);
  return (
    <DevicePage id={id} copy={{ path: useMembersPath(id, kind) }}>
      {({ device }) => <Children device={device} />}
    </DevicePage>
  );
}
