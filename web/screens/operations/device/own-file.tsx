/** Files that devices have brought to the server, and those that are sent to them. */
import { Download } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { useLoaded } from '../../../core/api/request.ts';
import { sendRaw } from '../../../core/api/send.ts';
import { saveFile } from '../../../core/clipboard.ts';
import { SERVER_URL } from '../../../core/places.ts';
import { textOfMember } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { Button } from '../../../parts/button.tsx';
import { CopyButton } from '../../../parts/copy.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { TextField } from '../../../parts/fields.tsx';
import { With } from '../../../parts/states.tsx';
import { words as tabWords } from './text.ts';

/** Bytes of a file that are shown on the page. */
const SHOWN_BYTES_MAX = 2_000_000;

/**
 * The path of the API behind the URL of a file, when this server has it. It knows itself by the address of the page and by
 * that in its answers.
 */
export function ownPath(url: string, device: ManagedObject): string | undefined {
  const self = textOfMember(device['self']);
  const bases = [SERVER_URL, self.replace(/\/inventory\/managedObjects\/.*$/, '')];
  const base = bases.find((one) => one !== '' && url.startsWith(`${one}/`));
  const path = base === undefined ? url : url.slice(base.length);
  return /^\/(?:inventory\/binaries|event\/events)\/[^?#]+$/.test(path) ? path : undefined;
}

/** The content as text. `bytes` alone of one that is too large. @throws ApiError. */
export async function readFile(
  path: string,
  signal?: AbortSignal,
): Promise<{ readonly blob: Blob; readonly text: string | undefined }> {
  const headers = { Accept: '*/*' };
  const blob = await (await sendRaw(path, { headers, ...(signal ? { signal } : {}) })).blob();
  return { blob, text: blob.size <= SHOWN_BYTES_MAX ? await blob.text() : undefined };
}

/** Stores a file in the inventory. @returns its URL, from which devices fetch it. @throws ApiError. */
export async function storeFile(file: Blob, name: string): Promise<string> {
  const form = new FormData();
  form.set('object', JSON.stringify({ name, type: file.type || 'application/octet-stream' }));
  form.set('file', file, name);
  const answer = await (await sendRaw('/inventory/binaries', { method: 'POST', body: form })).json();
  return (answer as { self: string }).self;
}

function Lines({ text, label }: { readonly text: string; readonly label: string }) {
  const words = tabWords();
  const [search, setSearch] = useState('');
  const lines = useMemo(() => text.split('\n'), [text]);
  const wanted = search.toLowerCase();
  const found = wanted === '' ? lines : lines.filter((line) => line.toLowerCase().includes(wanted));
  return (
    <>
      <TextField type="search" label={words.logFind} value={search} onInput={setSearch} />
      <p class="muted small" role="status">
        {search === '' ? '' : words.logFound(found.length)}
      </p>
      <div class="code">
        <pre tabIndex={0} role="region" aria-label={label}>
          {found.join('\n')}
        </pre>
        <div class="code-copy">
          <CopyButton text={found.join('\n')} />
        </div>
      </div>
    </>
  );
}

export interface FileDialogProps {
  readonly name: string;
  readonly url: string;
  readonly device: ManagedObject;
  readonly onClose: () => void;
}

/** A file that can be read, searched and downloaded. Nothing is fetched from other servers. */
export function FileDialog({ name, url, device, onClose }: FileDialogProps) {
  const words = tabWords();
  const path = ownPath(url, device);
  const loaded = useLoaded(path === undefined ? undefined : (signal) => readFile(path, signal), [path]);
  return (
    <Dialog
      title={name}
      isWide
      onClose={onClose}
      foot={
        loaded.data && (
          <Button icon={Download} onClick={() => loaded.data && saveFile(name, loaded.data.blob)}>
            {common().download}
          </Button>
        )
      }
    >
      {path === undefined ? (
        <p>
          {words.elsewhere} <span class="mono">{url}</span> <CopyButton text={url} />
        </p>
      ) : (
        <With loaded={loaded}>
          {({ blob, text }) =>
            text === undefined ? <p>{words.tooLarge(blob.size)}</p> : <Lines text={text} label={name} />
          }
        </With>
      )}
    </Dialog>
  );
}
