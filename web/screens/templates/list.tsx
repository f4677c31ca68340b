/** Template collections of SmartREST 2.0: what there is, new ones, import. */
import { Plus, Upload } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { changeJson } from '../../core/api/json.ts';
import { useAction } from '../../core/api/request.ts';
import { notify } from '../../core/notices.ts';
import { href } from '../../core/route.ts';
import { countObjects, listObjects, nameOf, objectsPath, quoted } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { numberText } from '../../core/text/language.ts';
import { bytesText } from '../../core/text/units.ts';
import { numberParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import { Button, LinkButton } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { FileField, TextField } from '../../parts/fields.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { useList } from '../../parts/list/list.ts';
import { Page } from '../../parts/page.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import { OBJECT_TYPE, bodyOf, collectionOf, readFile } from './template-data.ts';
import type { Collection } from './template-data.ts';
import { words as templateWords } from './text.ts';
import type { TemplateTexts } from './text.ts';

/** The server takes 256 Ki characters of templates. */
const FILE_BYTES_MAX = 2 * 1_048_576;

const SHAPE = { name: textParameter(), page: numberParameter(1, { minimum: 1 }) };
export const CREATE = [
  'ROLE_INVENTORY_ADMIN',
  'ROLE_INVENTORY_CREATE',
  'ROLE_MANAGED_OBJECT_ADMIN',
  'ROLE_MANAGED_OBJECT_CREATE',
];

const columnsOf = (words: TemplateTexts): readonly Column<ManagedObject>[] => [
  {
    id: 'name',
    title: words.name,
    isHeading: true,
    cell: (object) => <a href={href('/templates/:id', { id: object.id })}>{nameOf(object)}</a>,
  },
  { id: 'xid', title: words.xid, cell: (object) => <span class="mono">{collectionOf(object)?.xid}</span> },
  {
    id: 'requests',
    title: words.requests,
    isEnd: true,
    text: (object) => collectionOf(object)?.requests.length ?? 0,
    cell: (object) => numberText(collectionOf(object)?.requests.length ?? 0),
  },
  {
    id: 'responses',
    title: words.responses,
    isEnd: true,
    text: (object) => collectionOf(object)?.responses.length ?? 0,
    cell: (object) => numberText(collectionOf(object)?.responses.length ?? 0),
  },
  { id: 'updated', title: words.updated, cell: ({ lastUpdated }) => <Time value={lastUpdated} hasAge /> },
];

function Import({ onClose }: { readonly onClose: () => void }) {
  const words = templateWords();
  const { route } = useLocation();
  const [found, setFound] = useState<Collection>();
  const [fault, setFault] = useState<string>();
  const read = async (file: File | undefined): Promise<void> => {
    const isTooLarge = file !== undefined && file.size > FILE_BYTES_MAX;
    const collection = file === undefined || isTooLarge ? undefined : readFile(await file.text());
    setFound(collection);
    setFault(
      isTooLarge
        ? words.fileTooLarge(bytesText(FILE_BYTES_MAX))
        : file === undefined || collection !== undefined
          ? undefined
          : words.notACollection,
    );
  };
  const save = useAction(async () => {
    if (found === undefined) return;
    const made = await changeJson<ManagedObject>('POST', '/inventory/managedObjects', bodyOf(found));
    notify(words.saved(found.name));
    onClose();
    if (made !== undefined) route(href('/templates/:id', { id: made.id }));
  });
  return (
    <FormDialog
      title={words.importTitle}
      onClose={onClose}
      onSubmit={() => void save.run()}
      isBusy={save.isRunning}
      blocked={found === undefined ? words.file : undefined}
      error={save.error}
    >
      <FileField label={words.file} accept=".json,application/json" error={fault} onFile={(file) => void read(file)} />
      {found !== undefined && (
        <>
          <p>{words.count(found.requests.length + found.responses.length)}</p>
          <TextField
            label={words.name}
            value={found.name}
            isRequired
            onInput={(name) => setFound({ ...found, name })}
          />
          <TextField
            label={words.xid}
            value={found.xid}
            isMono
            isRequired
            hint={words.xidHint}
            onInput={(xid) => setFound({ ...found, xid })}
          />
        </>
      )}
    </FormDialog>
  );
}

export default function Templates() {
  const words = templateWords();
  const [{ name, page }, set] = useUrlState(SHAPE);
  const [isImporting, setImporting] = useState(false);
  const condition = name === '' ? '' : ` and name eq ${quoted(`${name}*`)}`;
  const filter = `$filter=type eq ${quoted(OBJECT_TYPE)}${condition}`;
  const query = { query: `${filter} $orderby=name asc` };
  const list = useList({
    load: (number, signal, size) => listObjects(query, number, signal, size),
    count: (signal) => countObjects({ query: filter }, signal),
    keyOf: ({ id }) => id,
    page,
    inputs: [filter],
  });
  const columns = useMemo(() => columnsOf(words), [words]);
  const clear = (): void => set({ name: '', page: 1 }, { isStep: true });
  return (
    <Page
      copy={{ path: objectsPath(query, page) }}
      title={words.title}
      actions={
        <>
          <Button icon={Upload} roles={CREATE} onClick={() => setImporting(true)}>
            {words.importFile}
          </Button>
          <LinkButton kind="main" icon={Plus} href={href('/templates/:id', { id: 'new' })}>
            {words.create}
          </LinkButton>
        </>
      }
    >
      <p class="muted">{words.intro}</p>
      <FilterBar onClear={name === '' ? undefined : clear}>
        <SlowTextField label={words.nameFilter} value={name} onChange={(value) => set({ name: value, page: 1 })} />
      </FilterBar>
      <ListPage
        label={words.title}
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        hasFilters={name !== ''}
        onClearFilters={clear}
        empty={<p>{words.empty}</p>}
      />
      {isImporting && <Import onClose={() => setImporting(false)} />}
    </Page>
  );
}
