/** A device as the server stores it, digit for digit. */
import { sendRaw } from '../../../core/api/send.ts';
import { useLoaded } from '../../../core/api/request.ts';
import type { ScreenProps } from '../../../core/route.ts';
import { DevicePage } from '../../../parts/device-page.tsx';
import { JsonView } from '../../../parts/json.tsx';
import { With } from '../../../parts/states.tsx';
import { words as deviceWords } from '../text.ts';

function Raw({ id, version }: { readonly id: string; readonly version: string | undefined }) {
  const words = deviceWords();
  const loaded = useLoaded(
    async (signal) => (await sendRaw(`/inventory/managedObjects/${encodeURIComponent(id)}`, { signal })).text(),
    [id, version],
  );
  return (
    <>
      <p class="muted">{words.rawHint}</p>
      <With loaded={loaded}>{(text) => <JsonView text={text} label={words.raw} />}</With>
    </>
  );
}

export default function DeviceRaw({ params }: ScreenProps) {
  return (
    <DevicePage id={params['id']}>{({ device }) => <Raw id={device.id} version={device.lastUpdated} />}</DevicePage>
  );
}
