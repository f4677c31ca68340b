/** Files that the device has brought: reading one, sending it back, comparing two. */
import { Columns2, Eye, Send } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { api, got } from '../../../core/api/api.ts';
import { useLoaded } from '../../../core/api/request.ts';
import { useLive } from '../../../core/live/live.ts';
import { useSoon } from '../../../core/live/pace.ts';
import { SERVER_URL } from '../../../core/places.ts';
import { listObjects, nameOf, quoted, textOfMember } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { Button } from '../../../parts/button.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { Difference } from '../../../parts/difference/difference.tsx';
import { words as differenceWords } from '../../../parts/difference/text.ts';
import { With } from '../../../parts/states.tsx';
import { Table } from '../../../parts/list/table.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { Time } from '../../../parts/time.tsx';
import { CONTROL } from '../operation.ts';
import { FileDialog, ownPath, readFile } from './own-file.tsx';
import { downloadOperation, useSend } from './send.ts';
import { words as tabWords } from './text.ts';

/** Of the newest files. */
const SHOWN = 50;

interface Snapshot {
  readonly id: string;
  readonly name: string;
  readonly time: string | undefined;
  readonly url: string;
}

/** Files of a kind are contents of events of that type; files without a kind are dumps in the inventory. */
async function snapshotsOf(device: ManagedObject, type: string, signal: AbortSignal): Promise<readonly Snapshot[]> {
  if (type === '') {
    const query = `$filter=type eq 'c8y_ConfigurationDump' and owner eq ${quoted(device.owner ?? '')} $orderby=creationTime desc`;
    return (await listObjects({ query }, 1, signal)).slice(0, SHOWN).map((dump) => ({
      id: dump.id,
      name: nameOf(dump),
      time: dump.creationTime,
      url: textOfMember(dump['url']),
    }));
  }
  const query = { source: device.id, type, fragmentType: 'c8y_IsBinary', pageSize: SHOWN };
  const answer = await got(api.GET('/event/events', { params: { query: query as never }, signal }));
  const { events } = answer as unknown as { events: { id: string; time: string; text?: string }[] };
  return events.map(({ id, time, text = type }) => ({
    id,
    name: text,
    time,
    url: `${SERVER_URL}/event/events/${id}/binaries`,
  }));
}

function Comparison({ device, files }: { readonly device: ManagedObject; readonly files: readonly Snapshot[] }) {
  const words = tabWords();
  const loaded = useLoaded(
    (signal) =>
      Promise.all(
        files.map(async ({ url }) => {
          const path = ownPath(url, device);
          if (path === undefined) throw new Error(`${words.elsewhere} ${url}`);
          const { blob, text } = await readFile(path, signal);
          if (text === undefined) throw new Error(words.tooLarge(blob.size));
          return text;
        }),
      ),
    [files],
  );
  return <With loaded={loaded}>{([before, after]) => <Difference before={before} after={after} />}</With>;
}

export function Snapshots({ device, type }: { readonly device: ManagedObject; readonly type: string }) {
  const words = tabWords();
  const loaded = useLoaded((signal) => snapshotsOf(device, type, signal), [device.id, type]);
  // The file comes after its event; the operation that asked for it ends last.
  const reload = useSoon(loaded.reload);
  useLive([`/events/${device.id}`, `/operations/${device.id}`], { onMessages: reload, onGap: reload });
  const [open, setOpen] = useState<Snapshot>();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isComparing, setComparing] = useState(false);
  const send = useSend(device);
  const columns = useMemo<Column<Snapshot>[]>(
    () => [
      { id: 'time', title: words.snapshotTime, isHeading: true, cell: ({ time }) => <Time value={time} hasAge /> },
      { id: 'name', title: words.snapshotName, cell: ({ name }) => name },
      {
        id: 'actions',
        title: common().more,
        isNarrow: true,
        cell: (one) => (
          <span class="cell-actions">
            <Button icon={Eye} label={words.snapshotView(one.name)} onClick={() => setOpen(one)}>
              {words.view}
            </Button>
            <Button icon={Send} roles={CONTROL} onClick={() => void send.run(downloadOperation(one.url, type))}>
              {words.sendBack}
            </Button>
          </span>
        ),
      },
    ],
    [words, type],
  );
  const chosen = (loaded.data ?? []).filter(({ id }) => selected.has(id));
  return (
    <With loaded={loaded}>
      {(rows) =>
        rows.length === 0 ? (
          <p class="muted">{words.noSnapshots}</p>
        ) : (
          <>
            <Table
              label={words.snapshots}
              columns={columns}
              rows={rows}
              keyOf={({ id }) => id}
              selection={{ keys: selected, onChange: setSelected, nameOf: ({ name, time }) => `${name} ${time}` }}
            />
            <div class="row">
              <Button
                icon={Columns2}
                blocked={chosen.length === 2 ? undefined : words.compareTwo}
                onClick={() => setComparing(true)}
              >
                {words.compare}
              </Button>
            </div>
            {open && <FileDialog name={open.name} url={open.url} device={device} onClose={() => setOpen(undefined)} />}
            {isComparing && (
              <Dialog title={differenceWords().difference} isWide onClose={() => setComparing(false)}>
                {/* The older one first. */}
                <Comparison device={device} files={[...chosen].reverse()} />
              </Dialog>
            )}
          </>
        )
      }
    </With>
  );
}
