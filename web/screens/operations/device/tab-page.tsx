/** A tab of operations: its content for a device that takes them, else what the device has to send to get it. */
import type { ComponentChildren } from 'preact';
import { devicePath } from '../../../core/server/managed-object.ts';
import { useUrlState } from '../../../core/url-state.ts';
import { connectionOf } from '../../../parts/badge.tsx';
import type { ViewRequest } from '../../../parts/copy.tsx';
import { DevicePage } from '../../../parts/device/page.tsx';
import type { DeviceContent } from '../../../parts/device/page.tsx';
import { Code } from '../../../parts/json.tsx';
import { Empty } from '../../../parts/states.tsx';
import { operationsPath } from '../operation.ts';
import { words as operationWords } from '../text.ts';
import { CAPABILITIES, isCapable, supportBody, supportRow } from './capability.ts';
import type { Capability } from './capability.ts';
import { HISTORY_SHAPE } from './history.tsx';

/** What is sent to a device that is not there waits for it. */
export function OfflineNote({ device }: Pick<DeviceContent, 'device'>) {
  const words = operationWords();
  if (connectionOf(device) !== 'DISCONNECTED') return null;
  return (
    <p class="note" role="note">
      <strong>{words.offlineTitle}.</strong> {words.offlineText}
    </p>
  );
}

function Needs({ device, capability }: Pick<DeviceContent, 'device'> & { readonly capability: Capability }) {
  const words = operationWords();
  const [first] = CAPABILITIES[capability];
  return (
    <Empty title={words.needsTitle(first)}>
      <p>{words.needsText}</p>
      <Code text={supportRow(device, [first])} label="s/us" />
      <p>{words.needsRest}</p>
      <Code
        text={`PUT /inventory/managedObjects/${device.id}\n${supportBody(device, [first])}`}
        label="PUT /inventory/managedObjects"
      />
    </Empty>
  );
}

export interface TabPageProps {
  readonly id: string;
  readonly capability: Capability;
  /** Of a tab that shows something else than the operations of its capability. */
  readonly copy?: ViewRequest;
  readonly children: (content: DeviceContent) => ComponentChildren;
}

export function TabPage({ id, capability, copy, children }: TabPageProps) {
  const [{ page }] = useUrlState(HISTORY_SHAPE);
  const [fragmentType] = CAPABILITIES[capability];
  const operations = { path: operationsPath({ deviceId: id, fragmentType }, page) };
  return (
    <DevicePage id={id} copy={[{ path: devicePath(id) }, copy ?? operations]}>
      {(content) =>
        isCapable(content.device, capability) ? (
          <div class="stack">
            <OfflineNote device={content.device} />
            {children(content)}
          </div>
        ) : (
          <Needs device={content.device} capability={capability} />
        )
      }
    </DevicePage>
  );
}
