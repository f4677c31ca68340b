/** Operations of a device: restart it, send any JSON, and what became of all that was sent. */
import { RotateCw, Send } from 'lucide';
import { useState } from 'preact/hooks';
import type { ScreenProps } from '../../../core/route.ts';
import { nameOf, supportedOperations } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { Button } from '../../../parts/button.tsx';
import { DevicePage } from '../../../parts/device-page.tsx';
import { Confirm, Dialog } from '../../../parts/dialog.tsx';
import { Form, SelectField, TextField } from '../../../parts/fields.tsx';
import { Code, JsonField } from '../../../parts/json.tsx';
import { FormFault } from '../../../parts/states.tsx';
import { CONTROL, createOperation } from '../operation.ts';
import { EXAMPLES, operationFault } from '../json.ts';
import { words as operationWords } from '../text.ts';
import { CAPABILITIES, isCapable, supportRow } from './capability.ts';
import { History } from './history.tsx';
import { notifySent, useSend } from './send.ts';
import { OfflineNote } from './tab-page.tsx';

function AnyOperation({ device, onClose }: { readonly device: ManagedObject; readonly onClose: () => void }) {
  const words = operationWords();
  const [text, setText] = useState('{\n  "c8y_Restart": {}\n}');
  const [description, setDescription] = useState('');
  const send = useSend(device);
  const fault = operationFault(text, words);
  const submit = async (): Promise<void> => {
    if (fault !== undefined) return;
    const body = JSON.parse(text) as Record<string, unknown>;
    if (await send.run({ ...(description === '' ? {} : { description }), ...body })) onClose();
  };
  const known = [...new Set([...supportedOperations(device), ...Object.keys(EXAMPLES)])];
  return (
    <Dialog
      title={words.send}
      isWide
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{common().cancel}</Button>
          <Button kind="main" type="submit" form="any-operation" icon={Send} blocked={fault} isBusy={send.isRunning}>
            {words.sendButton}
          </Button>
        </>
      }
    >
      <Form id="any-operation" onSubmit={() => void submit()}>
        <SelectField
          label={words.examples}
          value=""
          options={[{ value: '', text: words.example }, ...known.map((name) => ({ value: name, text: name }))]}
          onChange={(name) => name !== '' && setText(JSON.stringify({ [name]: EXAMPLES[name] ?? {} }, null, 2))}
        />
        <TextField label={words.description} value={description} onInput={setDescription} />
        <JsonField label={words.json} value={text} onInput={setText} rows={10} hint={words.jsonHint} />
        <FormFault error={send.error} />
      </Form>
    </Dialog>
  );
}

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
  const [open, setOpen] = useState<'restart' | 'any'>();
  const close = (): void => setOpen(undefined);
  return (
    <div class="stack">
      <OfflineNote device={device} />
      <div class="row">
        {supportedOperations(device).includes('c8y_Restart') && (
          <Button icon={RotateCw} roles={CONTROL} onClick={() => setOpen('restart')}>
            {words.restart}
          </Button>
        )}
        <Button icon={Send} roles={CONTROL} onClick={() => setOpen('any')}>
          {words.send}
        </Button>
      </div>
      <History deviceId={device.id} />
      <Capabilities device={device} />
      {open === 'restart' && (
        <Confirm
          title={words.restartTitle(nameOf(device))}
          action={words.restart}
          onClose={close}
          run={async () => {
            await createOperation(device.id, { description: 'Restart', c8y_Restart: {} });
            notifySent(device);
          }}
        >
          <p>{words.restartText}</p>
        </Confirm>
      )}
      {open === 'any' && <AnyOperation device={device} onClose={close} />}
    </div>
  );
}

export default function DeviceOperations({ params }: ScreenProps) {
  return <DevicePage id={params['id']}>{({ device }) => <Content device={device} />}</DevicePage>;
}
