/** Configuration of a device: its text, and files that are fetched from it, compared and sent back. */
import { CloudUpload, Download, Send } from 'lucide';
import { useState } from 'preact/hooks';
import type { ScreenProps } from '../../../core/route.ts';
import { supportedOperations } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { textParameter, useUrlState } from '../../../core/url-state.ts';
import { Button } from '../../../parts/button.tsx';
import { FormDialog } from '../../../parts/dialog.tsx';
import { Difference } from '../../../parts/difference/difference.tsx';
import { words as differenceWords } from '../../../parts/difference/text.ts';
import { FileField, SelectField, TextArea } from '../../../parts/fields.tsx';
import { Section } from '../../../parts/page.tsx';
import { FormFault } from '../../../parts/states.tsx';
import { useAction } from '../../../core/api/request.ts';
import { CONTROL, createOperation, memberText } from '../operation.ts';
import { History } from './history.tsx';
import { storeFile } from './own-file.tsx';
import { downloadOperation, notifySent, useSend } from './send.ts';
import { Snapshots } from './snapshots.tsx';
import { TabPage } from './tab-page.tsx';
import { words as tabWords } from './text.ts';

const SHAPE = { type: textParameter() };

/** The configuration as one text in the device's object. */
function ConfigurationText({ device }: { readonly device: ManagedObject }) {
  const words = tabWords();
  const stored = memberText(device, 'c8y_Configuration', 'config');
  const [edited, setEdited] = useState<string>();
  const send = useSend(device);
  const known = supportedOperations(device);
  const text = edited ?? stored;
  return (
    <Section
      title={words.configText}
      actions={
        known.includes('c8y_SendConfiguration') && (
          <Button
            icon={Download}
            roles={CONTROL}
            isBusy={send.isRunning}
            onClick={() => void send.run({ c8y_SendConfiguration: {} })}
          >
            {words.configAsk}
          </Button>
        )
      }
    >
      <div class="stack">
        {known.includes('c8y_Configuration') ? (
          <>
            <TextArea
              label={words.configText}
              hint={stored === '' ? words.configNoText : words.configTextHint}
              isMono
              value={text}
              onInput={setEdited}
            />
            {text !== stored && (
              <>
                <h3>{words.configChanges}</h3>
                <Difference before={stored} after={text} />
              </>
            )}
            <div class="row">
              <Button
                kind="main"
                icon={Send}
                roles={CONTROL}
                isBusy={send.isRunning}
                blocked={text === stored ? differenceWords().same : undefined}
                onClick={() =>
                  void send
                    .run({ c8y_Configuration: { config: text } })
                    .then((isSent) => isSent && setEdited(undefined))
                }
              >
                {words.configSend}
              </Button>
              {text !== stored && <Button onClick={() => setEdited(undefined)}>{common().cancel}</Button>}
            </div>
          </>
        ) : (
          <pre>{stored}</pre>
        )}
        <FormFault error={send.error} />
      </div>
    </Section>
  );
}

interface UploadProps {
  readonly device: ManagedObject;
  readonly type: string;
  readonly onClose: () => void;
}

function Upload({ device, type, onClose }: UploadProps) {
  const words = tabWords();
  const [file, setFile] = useState<File>();
  const send = useAction(async () => {
    if (file === undefined) return;
    await createOperation(device.id, downloadOperation(await storeFile(file, file.name), type));
    notifySent(device);
    onClose();
  });
  return (
    <FormDialog
      title={words.configUpload}
      onClose={onClose}
      onSubmit={() => void send.run()}
      action={words.configFileSend}
      isBusy={send.isRunning}
      error={send.error}
    >
      <FileField label={words.configFile} onFile={setFile} isRequired />
    </FormDialog>
  );
}

function Files({ device }: { readonly device: ManagedObject }) {
  const words = tabWords();
  const told = device['c8y_SupportedConfigurations'];
  const types = Array.isArray(told) ? told.map(String) : [];
  const [{ type: asked }, set] = useUrlState(SHAPE);
  const type = types.includes(asked) ? asked : (types[0] ?? '');
  const [isUploading, setUploading] = useState(false);
  const send = useSend(device);
  const known = supportedOperations(device);
  return (
    <Section title={words.configFiles}>
      <div class="stack">
        <div class="filters">
          <SelectField
            label={words.configType}
            value={type}
            options={
              types.length === 0
                ? [{ value: '', text: words.configAnyType }]
                : types.map((value) => ({ value, text: value }))
            }
            onChange={(value) => set({ type: value }, { isStep: true })}
          />
          {known.includes('c8y_UploadConfigFile') && (
            <Button
              icon={Download}
              roles={CONTROL}
              isBusy={send.isRunning}
              onClick={() => void send.run({ c8y_UploadConfigFile: type === '' ? {} : { type } })}
            >
              {words.configFetch}
            </Button>
          )}
          {known.includes('c8y_DownloadConfigFile') && (
            <Button icon={CloudUpload} roles={CONTROL} onClick={() => setUploading(true)}>
              {words.configUpload}
            </Button>
          )}
        </div>
        {types.length === 0 && <p class="muted">{words.configFilesHint}</p>}
        <FormFault error={send.error} />
        <Snapshots device={device} type={type} />
      </div>
      {isUploading && <Upload device={device} type={type} onClose={() => setUploading(false)} />}
    </Section>
  );
}

function Configuration({ device }: { readonly device: ManagedObject }) {
  const known = supportedOperations(device);
  const hasText = known.includes('c8y_Configuration') || known.includes('c8y_SendConfiguration');
  const hasFiles = known.includes('c8y_UploadConfigFile') || known.includes('c8y_DownloadConfigFile');
  return (
    <>
      {hasFiles && <Files device={device} />}
      {hasText && <ConfigurationText device={device} />}
      {hasFiles && <History deviceId={device.id} fragment="c8y_DownloadConfigFile" />}
    </>
  );
}

export default function DeviceConfiguration({ params }: ScreenProps) {
  return (
    <TabPage id={params['id']} capability="configuration">
      {({ device }) => <Configuration device={device} />}
    </TabPage>
  );
}
