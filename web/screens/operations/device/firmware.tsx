/** Firmware of a device: what is on it, installing another one. */
import { HardDriveDownload } from 'lucide';
import { useState } from 'preact/hooks';
import type { ScreenProps } from '../../../core/route.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { Button } from '../../../parts/button.tsx';
import { FormDialog } from '../../../parts/dialog.tsx';
import { Section } from '../../../parts/page.tsx';
import { CONTROL, memberText } from '../operation.ts';
import { History } from './history.tsx';
import { PackageFields } from './repository.tsx';
import type { Package } from './repository.tsx';
import { useSend } from './send.ts';
import { TabPage } from './tab-page.tsx';
import { words as tabWords } from './text.ts';

const FIRMWARE = 'c8y_Firmware';

function Install({ device, onClose }: { readonly device: ManagedObject; readonly onClose: () => void }) {
  const words = tabWords();
  const [chosen, setChosen] = useState<Package>({ name: '', version: '', url: '', softwareType: '' });
  const send = useSend(device);
  const { name, version, url } = chosen;
  const submit = async (): Promise<void> => {
    if (await send.run({ description: `${name} ${version}`, [FIRMWARE]: { name, version, url } })) onClose();
  };
  const isChosen = name !== '' && version !== '';
  return (
    <FormDialog
      title={words.firmwareTitle}
      onClose={onClose}
      onSubmit={() => void submit()}
      action={words.installButton}
      isBusy={send.isRunning}
      blocked={isChosen ? undefined : `${words.packageName}, ${words.version}: ${common().required}`}
      error={send.error}
    >
      <PackageFields repository={FIRMWARE} value={chosen} onChange={setChosen} />
      <p class="muted">{words.firmwareText}</p>
    </FormDialog>
  );
}

function Firmware({ device }: { readonly device: ManagedObject }) {
  const words = tabWords();
  const [isInstalling, setInstalling] = useState(false);
  const name = memberText(device, FIRMWARE, 'name');
  return (
    <>
      <Section
        title={words.firmwareNow}
        actions={
          <Button kind="main" icon={HardDriveDownload} roles={CONTROL} onClick={() => setInstalling(true)}>
            {words.firmwareInstall}
          </Button>
        }
      >
        {name === '' ? (
          <p class="muted">{words.noFirmware}</p>
        ) : (
          <dl class="facts">
            <dt>{words.packageName}</dt>
            <dd>{name}</dd>
            <dt>{words.version}</dt>
            <dd>{memberText(device, FIRMWARE, 'version')}</dd>
            <dt>{words.url}</dt>
            <dd class="mono">{memberText(device, FIRMWARE, 'url') || '–'}</dd>
          </dl>
        )}
      </Section>
      <History deviceId={device.id} fragment={FIRMWARE} />
      {isInstalling && <Install device={device} onClose={() => setInstalling(false)} />}
    </>
  );
}

export default function DeviceFirmware({ params }: ScreenProps) {
  return (
    <TabPage id={params['id']} capability="firmware">
      {({ device }) => <Firmware device={device} />}
    </TabPage>
  );
}
