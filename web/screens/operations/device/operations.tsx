/** Operations of a device: restart it, send any JSON, and what became of all that was sent. */
import { Send } from 'lucide';
import { useState } from 'preact/hooks';
import type { ScreenProps } from '../../../core/route.ts';
import { supportedOperations } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { useUrlState } from '../../../core/url-state.ts';
import { Button } from '../../../parts/button.tsx';
import { DevicePage } from '../../../parts/device/page.tsx';
import { Code } from '../../../parts/json.tsx';
import { AnyOperation } from '../any-operation.tsx';
import { CONTROL, createOperation, operationsPath } from '../operation.ts';
import { words as operationWords } from '../text.ts';
import { CAPABILITIES, isCapable, supportRow } from './capability.ts';
import { HISTORY_SHAPE, History } from './history.tsx';
import { RestartButton } from './restart.tsx';
import { notifySent } from './send.ts';
import { OfflineNote } from './tab-page.tsx';

function Capabilities({ device }: { readonly device: ManagedObject }) {
  const words = operationWords();
  const missing = Object.entries(CAPABILITIES).filter(
    ([capability]) => !isCapable(device, capability as keyof typeof CAPABILITIES),
  );
  if (missing.length === 0) return null;
  return (
    <details>
      <summary>{words.capabilities}</summary>
      <div class="stack">
        <p>{words.capabilitiesText}</p>
        {missing.map(([capability, [first]]) => (
          <Code key={capability} text={supportRow(device, [first])} label={first} />
        ))}
      </div>
    </details>
  );
}

function Content({ device }: { readonly device: ManagedObject }) {
  const words = operationWords();
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="stack">
      <OfflineNote device={device} />
      <div class="row">
        <RestartButton device={device} />
        <Button icon={Send} roles={CONTROL} onClick={() => setOpen(true)}>
          {words.send}
        </Button>
      </div>
      <History deviceId={device.id} />
      <Capabilities device={device} />
      {isOpen && (
        <AnyOperation
          known={supportedOperations(device)}
          send={async (body) => {
            await createOperation(device.id, body);
            notifySent(device);
          }}
          onClose={() => setOpen(false)}
        />
      )}
    </div>
  );
}

export default function DeviceOperations({ params: { id } }: ScreenProps) {
  const [{ page }] = useUrlState(HISTORY_SHAPE);
  return (
    <DevicePage id={id} copy={{ path: operationsPath({ deviceId: id }, page) }}>
      {({ device }) => <Content device={device} />}
    </DevicePage>
  );
}
