/** Software of a device: what is installed; installing, updating and removing it. */
import { PackagePlus, Trash2 } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { useLoaded } from '../../../core/api/request.ts';
import { sendRaw } from '../../../core/api/send.ts';
import { queryText } from '../../../core/route.ts';
import type { ScreenProps } from '../../../core/route.ts';
import { textOfMember } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { numberParameter, textParameter, useUrlState } from '../../../core/url-state.ts';
import { Button } from '../../../parts/button.tsx';
import { Confirm, FormDialog } from '../../../parts/dialog.tsx';
import { FilterBar, SlowTextField } from '../../../parts/filter-bar.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { PAGE_SIZE } from '../../../parts/list/list.ts';
import { Section } from '../../../parts/page.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { CONTROL, createOperation } from '../operation.ts';
import { History } from './history.tsx';
import { PackageFields } from './repository.tsx';
import type { Package } from './repository.tsx';
import { notifySent, useSend } from './send.ts';
import { TabPage } from './tab-page.tsx';
import { words as tabWords } from './text.ts';
import type { TabTexts } from './text.ts';

const UPDATE = 'c8y_SoftwareUpdate';
const SHAPE = { name: textParameter(), installed: numberParameter(1, { minimum: 1 }) };
const NOTHING: Package = { name: '', version: '', url: '', softwareType: '' };

const packageOf = (value: unknown): Package => {
  const told = (value ?? {}) as Partial<Record<keyof Package, unknown>>;
  const text = (name: keyof Package): string => textOfMember(told[name]);
  return { name: text('name'), version: text('version'), url: text('url'), softwareType: text('softwareType') };
};

export const packageKey = ({ name, version, softwareType }: Package): string =>
  JSON.stringify([name, version, softwareType]);

const kindsOf = (device: ManagedObject): readonly string[] => {
  const told = device['c8y_SupportedSoftwareTypes'];
  return Array.isArray(told) ? told.map(String) : [];
};

interface Installed {
  readonly packages: readonly Package[];
  readonly total: number;
}

/** One page of what is installed: of a device with kinds from the list beside it, else from the device itself. */
async function installedOf(device: ManagedObject, name: string, page: number, signal: AbortSignal): Promise<Installed> {
  if (kindsOf(device).length > 0) {
    const query = {
      deviceId: device.id,
      ...(name === '' ? {} : { name }),
      pageSize: PAGE_SIZE,
      currentPage: page,
      withTotalPages: 'true',
    };
    const path = `/service/advanced-software-mgmt/software${queryText(query)}`;
    const answer = (await (await sendRaw(path, { signal })).json()) as {
      softwareList: readonly unknown[];
      statistics?: { totalElements?: number; totalPages?: number };
    };
    const packages = answer.softwareList.map(packageOf);
    return { packages, total: answer.statistics?.totalElements ?? packages.length };
  }
  const told = device['c8y_SoftwareList'];
  const all = (Array.isArray(told) ? told : []).map(packageOf).filter((one) => one.name.includes(name));
  return { packages: all.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE), total: all.length };
}

const actionsOf = (packages: readonly Package[], action: 'install' | 'delete'): Record<string, unknown> => ({
  description: packages
    .map(({ name, version }) => `${action} ${name} ${version}`)
    .join(', ')
    .slice(0, 200),
  [UPDATE]: packages.map(({ name, version, url, softwareType }) => ({
    name,
    version,
    url,
    ...(softwareType === '' ? {} : { softwareType }),
    action,
  })),
});

interface InstallProps {
  readonly device: ManagedObject;
  /** That which is updated. */
  readonly first: Package;
  readonly onClose: () => void;
}

function Install({ device, first, onClose }: InstallProps) {
  const words = tabWords();
  const [chosen, setChosen] = useState(first);
  const send = useSend(device);
  const submit = async (): Promise<void> => {
    if (await send.run(actionsOf([chosen], 'install'))) onClose();
  };
  const isChosen = chosen.name !== '' && chosen.version !== '';
  return (
    <FormDialog
      title={first.name === '' ? words.installTitle : words.updateOf(first.name)}
      onClose={onClose}
      onSubmit={() => void submit()}
      action={words.installButton}
      isBusy={send.isRunning}
      blocked={isChosen ? undefined : `${words.packageName}, ${words.version}: ${common().required}`}
      error={send.error}
    >
      <PackageFields
        repository="c8y_Software"
        kinds={kindsOf(device)}
        isFromUrl={first.name !== ''}
        value={chosen}
        onChange={setChosen}
      />
    </FormDialog>
  );
}

const columnsOf = (words: TabTexts, onUpdate: (one: Package) => void): Column<Package>[] => [
  { id: 'name', title: words.packageName, isHeading: true, cell: ({ name }) => name },
  { id: 'version', title: words.version, cell: ({ version }) => version },
  { id: 'kind', title: words.kind, cell: ({ softwareType }) => softwareType },
  { id: 'url', title: words.url, cell: ({ url }) => (url.trim() === '' ? '' : <span class="mono">{url}</span>) },
  {
    id: 'actions',
    title: words.update,
    isNarrow: true,
    cell: (one) => (
      <Button label={words.updateOf(one.name)} roles={CONTROL} onClick={() => onUpdate(one)}>
        {words.update}
      </Button>
    ),
  },
];

function Software({ device }: { readonly device: ManagedObject }) {
  const words = tabWords();
  const [{ name, installed: page }, set] = useUrlState(SHAPE);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [installing, setInstalling] = useState<Package>();
  const [isRemoving, setRemoving] = useState(false);
  // The list of a device with kinds is an object of its own: it is asked for again when an operation ends.
  const loaded = useLoaded(
    (signal) => installedOf(device, name, page, signal),
    [device.id, device.lastUpdated, name, page],
  );
  const packages = loaded.data?.packages;
  const columns = useMemo(() => columnsOf(words, setInstalling), [words]);
  const chosen = (packages ?? []).filter((one) => selected.has(packageKey(one)));
  return (
    <>
      <Section
        title={words.installed}
        actions={
          <Button kind="main" icon={PackagePlus} roles={CONTROL} onClick={() => setInstalling(NOTHING)}>
            {words.install}
          </Button>
        }
      >
        <FilterBar onClear={name === '' ? undefined : () => set({ name: '', installed: 1 })}>
          <SlowTextField
            label={words.softwareFilter}
            value={name}
            onChange={(value) => set({ name: value, installed: 1 })}
          />
        </FilterBar>
        <ListPage
          label={words.installed}
          list={{
            ...loaded,
            load: async (number, signal) => (await installedOf(device, name, number, signal)).packages,
            data: packages,
            patch: () => undefined,
            total: loaded.data?.total,
            isCounting: false,
            newCount: 0,
            changedCount: 0,
            showNew: loaded.reload,
            take: () => undefined,
            look: () => undefined,
          }}
          columns={columns}
          keyOf={packageKey}
          page={page}
          onPage={(value) => set({ installed: value }, { isStep: true })}
          selection={{ keys: selected, onChange: setSelected, nameOf: (one) => `${one.name} ${one.version}` }}
          bulk={
            <Button kind="danger" icon={Trash2} roles={CONTROL} onClick={() => setRemoving(true)}>
              {words.removeSoftware(chosen.length)}
            </Button>
          }
          hasFilters={name !== ''}
          onClearFilters={() => set({ name: '', installed: 1 })}
          empty={<p>{words.noSoftware}</p>}
        />
      </Section>
      <History deviceId={device.id} fragment={UPDATE} />
      {installing && <Install device={device} first={installing} onClose={() => setInstalling(undefined)} />}
      {isRemoving && (
        <Confirm
          title={words.removeSoftware(chosen.length)}
          action={words.removeSoftware(chosen.length)}
          isDangerous
          onClose={() => setRemoving(false)}
          run={async () => {
            await createOperation(device.id, actionsOf(chosen, 'delete'));
            notifySent(device);
            setSelected(new Set());
          }}
        >
          <p>{words.removeSoftwareText}</p>
          <ul>
            {chosen.map((one) => (
              <li key={packageKey(one)}>
                {one.name} {one.version}
              </li>
            ))}
          </ul>
        </Confirm>
      )}
    </>
  );
}

export default function DeviceSoftware({ params }: ScreenProps) {
  return (
    <TabPage id={params['id']} capability="software">
      {({ device }) => <Software device={device} />}
    </TabPage>
  );
}
