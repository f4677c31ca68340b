/** The button that restarts a device, where it supports that: it asks first. */
import { RotateCw } from 'lucide';
import { useState } from 'preact/hooks';
import { nameOf, supportedOperations } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { Button } from '../../../parts/button.tsx';
import { Confirm } from '../../../parts/dialog.tsx';
import { CONTROL, createOperation } from '../operation.ts';
import { words as operationWords } from '../text.ts';
import { notifySent } from './send.ts';

export function RestartButton({ device }: { readonly device: ManagedObject }) {
  const words = operationWords();
  const [isAsked, setAsked] = useState(false);
  if (!supportedOperations(device).includes('c8y_Restart')) return null;
  return (
    <>
      <Button icon={RotateCw} roles={CONTROL} onClick={() => setAsked(true)}>
        {words.restart}
      </Button>
      {isAsked && (
        <Confirm
          title={words.restartTitle(nameOf(device))}
          action={words.restart}
          onClose={() => setAsked(false)}
          run={async () => {
            await createOperation(device.id, { description: 'Restart', c8y_Restart: {} });
            notifySent(device);
          }}
        >
          <p>{words.restartText}</p>
        </Confirm>
      )}
    </>
  );
}
