/** A device as the server stores it, digit for digit, to read and to edit. */
import { Pencil } from 'lucide';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../../core/api/request.ts';
import type { ScreenProps } from '../../../core/route.ts';
import { devicePath } from '../../../core/server/managed-object.ts';
import { Button } from '../../../parts/button.tsx';
import { DevicePage } from '../../../parts/device/page.tsx';
import type { DeviceContent } from '../../../parts/device/page.tsx';
import { JsonView } from '../../../parts/json.tsx';
import { With } from '../../../parts/states.tsx';
import { INVENTORY_ADMIN } from '../../groups/group-object.ts';
import { words as deviceWords } from '../text.ts';
import { RawEditor, readText } from './raw-editor.tsx';

function Raw({ device, onChanged }: DeviceContent) {
  const words = deviceWords();
  const { id, lastUpdated } = device;
  const loaded = useLoaded((signal) => readText(id, signal), [id, lastUpdated]);
  /** The object as it was when the editing began. */
  const [edited, setEdited] = useState<string>();
  if (edited !== undefined)
    return <RawEditor id={id} text={edited} onSaved={onChanged} onClose={() => setEdited(undefined)} />;
  return (
    <>
      <div class="row row-apart">
        <p class="muted">{words.rawHint}</p>
        <Button
          icon={Pencil}
          keys="e"
          roles={INVENTORY_ADMIN}
          blocked={loaded.data === undefined ? words.rawHint : undefined}
          onClick={() => setEdited(loaded.data)}
        >
          {words.edit}
        </Button>
      </div>
      <With loaded={loaded}>{(text) => <JsonView text={text} label={words.raw} />}</With>
    </>
  );
}

export default function DeviceRaw({ params: { id } }: ScreenProps) {
  return (
    <DevicePage id={id} copy={{ path: devicePath(id) }}>
      {(content) => <Raw {...content} />}
    </DevicePage>
  );
}
