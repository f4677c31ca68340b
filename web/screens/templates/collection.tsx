/** One template collection: its requests and responses, each in a form; export and deletion. */
import { Download, Pencil, Plus, Save, Trash2, X } from 'lucide';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { changedMeanwhile } from '../../core/api/error.ts';
import { changeJson, pathOf } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { hasTime, offerUndo } from '../../core/api/undo.ts';
import { saveFile } from '../../core/clipboard.ts';
import { notify } from '../../core/notices.ts';
import { href } from '../../core/route.ts';
import type { ScreenProps } from '../../core/route.ts';
import { devicePath, readObject } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { common } from '../../core/text/common.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, FormFault, With } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import { CREATE } from './list.tsx';
import { RequestForm } from './request-form.tsx';
import { ResponseForm } from './response-form.tsx';
import {
  NEW_REQUEST,
  NEW_RESPONSE,
  bodyOf,
  collectionOf,
  fileText,
  receivedRow,
  refusedId,
  repeatedIds,
  sentRow,
} from './template-data.ts';
import type { Collection, RequestTemplate, ResponseTemplate } from './template-data.ts';
import { words as templateWords } from './text.ts';

interface Template {
  readonly msgId: string;
}

interface TemplateListProps<T extends Template> {
  readonly title: string;
  readonly none: string;
  readonly add: string;
  readonly sample: { readonly title: string; readonly of: (template: T) => string };
  /** The kind of a request. */
  readonly kindOf?: (template: T) => string;
  readonly templates: readonly T[];
  /** The message id that the server has refused. */
  readonly refused: string | undefined;
  /** @param index one behind the last for a new template. */
  readonly onEdit: (index: number) => void;
  readonly onChange: (templates: readonly T[]) => void;
}

function TemplateList<T extends Template>(props: TemplateListProps<T>) {
  const { title, none, add, sample, kindOf, templates, refused, onEdit, onChange } = props;
  const words = templateWords();
  const rows = templates.map((template, index) => ({ template, index }));
  return (
    <Section
      title={title}
      actions={
        <Button icon={Plus} onClick={() => onEdit(templates.length)}>
          {add}
        </Button>
      }
    >
      {rows.length === 0 ? (
        <p class="muted">{none}</p>
      ) : (
        <Table
          hasFile={false}
          label={title}
          rows={rows}
          keyOf={({ index }) => String(index)}
          columns={[
            {
              id: 'id',
              title: words.msgId,
              isHeading: true,
              cell: ({ template }) => (
                <>
                  <span class="mono">{template.msgId}</span>
                  {refused === template.msgId && <span class="fault-text"> {words.refusedAt(template.msgId)}</span>}
                </>
              ),
            },
            ...(kindOf === undefined
              ? []
              : [
                  {
                    id: 'kind',
                    title: words.kind,
                    cell: ({ template }: { readonly template: T }) => kindOf(template),
                  },
                ]),
            {
              id: 'sample',
              title: sample.title,
              cell: ({ template }) => <span class="mono">{sample.of(template)}</span>,
            },
            {
              id: 'actions',
              title: words.edit,
              isNarrow: true,
              cell: ({ template, index }) => (
                <span class="row">
                  <IconButton icon={Pencil} label={words.change(template.msgId)} onClick={() => onEdit(index)} />
                  <IconButton
                    icon={X}
                    label={words.takeOut(template.msgId)}
                    onClick={() => onChange(templates.filter((_, at) => at !== index))}
                  />
                </span>
              ),
            },
          ]}
        />
      )}
    </Section>
  );
}

const EMPTY: Collection = { name: '', xid: '', requests: [], responses: [] };

/** The list with the template at the index, which may be one behind the last. */
const placed = <T,>(templates: readonly T[], index: number, template: T): readonly T[] => [
  ...templates.slice(0, index),
  template,
  ...templates.slice(index + 1),
];

/** Why it cannot be saved. */
function faultOf(collection: Collection): string | undefined {
  const words = templateWords();
  const repeated = repeatedIds(collection);
  if (collection.xid === '') return words.needsXid;
  if (collection.requests.length + collection.responses.length === 0) return words.noTemplates;
  return repeated.length === 0 ? undefined : words.repeated(repeated);
}

interface EditorProps {
  /** undefined for a new collection. */
  readonly stored: ManagedObject | undefined;
  readonly onSaved: (stored: ManagedObject) => void;
}

function Editor({ stored, onSaved }: EditorProps) {
  const words = templateWords();
  const { route } = useLocation();
  const before = (stored === undefined ? undefined : collectionOf(stored)) ?? EMPTY;
  const [collection, setCollection] = useState(before);
  const [editing, setEditing] = useState<{ readonly list: 'requests' | 'responses'; readonly index: number }>();
  const [isRemoving, setRemoving] = useState(false);
  const { name, xid, requests, responses } = collection;
  const set = (changes: Partial<Collection>): void => setCollection({ ...collection, ...changes });
  const close = (): void => setEditing(undefined);
  const fault = faultOf(collection);
  const isChanged = JSON.stringify(collection) !== JSON.stringify(before);
  const save = useAction(async () => {
    const wanted = { ...collection, name: name === '' ? xid : name };
    if (stored === undefined) {
      const made = await changeJson<ManagedObject>('POST', '/inventory/managedObjects', bodyOf(wanted));
      notify(words.saved(wanted.name));
      if (made !== undefined) route(href('/templates/:id', { id: made.id }), true);
      return;
    }
    const now = await readObject(stored.id);
    if (now.lastUpdated !== stored.lastUpdated) throw changedMeanwhile(common().changedMeanwhile);
    const path = pathOf`/inventory/managedObjects/${stored.id}`;
    const changed = (await changeJson<ManagedObject>('PUT', path, bodyOf(wanted, stored))) as ManagedObject;
    offerUndo(words.saved(wanted.name), {
      isAsLeft: hasTime(() => readObject(stored.id), changed),
      run: async () => onSaved((await changeJson('PUT', path, bodyOf(before, changed))) as ManagedObject),
    });
    onSaved(changed);
  });
  const refused = save.error === undefined ? undefined : refusedId(collection, save.error.message);
  const saveRequest = (request: RequestTemplate): void => {
    set({ requests: placed(requests, editing?.index ?? requests.length, request) });
    close();
  };
  const saveResponse = (response: ResponseTemplate): void => {
    set({ responses: placed(responses, editing?.index ?? responses.length, response) });
    close();
  };
  return (
    <Page
      copy={
        stored === undefined
          ? { method: 'POST', path: '/inventory/managedObjects', body: bodyOf(collection) }
          : { path: devicePath(stored.id) }
      }
      title={stored === undefined ? words.create : before.name || xid}
      crumbs={[{ text: words.title, href: href('/templates') }]}
      beside={isChanged && <span class="muted">{words.unsaved}</span>}
      actions={
        <>
          <Button
            icon={Download}
            blocked={fault}
            onClick={() => saveFile(`${xid}.json`, new Blob([fileText(collection)], { type: 'application/json' }))}
          >
            {words.exportFile}
          </Button>
          {stored !== undefined && (
            <Button icon={Trash2} kind="danger" roles={CREATE} onClick={() => setRemoving(true)}>
              {common().remove}
            </Button>
          )}
          <Button
            icon={Save}
            kind="main"
            roles={CREATE}
            blocked={fault}
            isBusy={save.isRunning}
            onClick={() => void save.run()}
          >
            {common().save}
          </Button>
        </>
      }
    >
      <FormFault error={save.error} />
      <div class="form">
        <TextField label={words.name} value={name} onInput={(text) => set({ name: text })} />
        <TextField
          label={words.xid}
          value={xid}
          isMono
          isRequired
          isReadOnly={stored !== undefined}
          hint={words.xidHint}
          onInput={(text) => set({ xid: text })}
        />
      </div>
      <TemplateList
        title={words.requests}
        none={words.noRequests}
        add={words.addRequest}
        sample={{ title: words.sends, of: sentRow }}
        kindOf={({ kind }) => kind}
        templates={requests}
        refused={refused}
        onEdit={(index) => setEditing({ list: 'requests', index })}
        onChange={(list) => set({ requests: list })}
      />
      <TemplateList
        title={words.responses}
        none={words.noResponses}
        add={words.addResponse}
        sample={{ title: words.receives, of: (response) => receivedRow(response, false) }}
        templates={responses}
        refused={refused}
        onEdit={(index) => setEditing({ list: 'responses', index })}
        onChange={(list) => set({ responses: list })}
      />
      {editing?.list === 'requests' && (
        <RequestForm request={requests[editing.index] ?? NEW_REQUEST} xid={xid} onSave={saveRequest} onClose={close} />
      )}
      {editing?.list === 'responses' && (
        <ResponseForm
          response={responses[editing.index] ?? NEW_RESPONSE}
          xid={xid}
          onSave={saveResponse}
          onClose={close}
        />
      )}
      {isRemoving && stored !== undefined && (
        <Confirm
          title={words.removeTitle(before.name)}
          action={common().remove}
          isDangerous
          onClose={() => setRemoving(false)}
          run={async () => {
            await changeJson('DELETE', pathOf`/inventory/managedObjects/${stored.id}`);
            notify(words.removed(before.name));
            route(href('/templates'));
          }}
        >
          <p>{words.removeText}</p>
        </Confirm>
      )}
    </Page>
  );
}

function Stored({ id }: { readonly id: string }) {
  const words = templateWords();
  const loaded = useLoaded((signal) => readObject(id, signal), [id]);
  if (loaded.data !== undefined && collectionOf(loaded.data) !== undefined)
    // What was saved is what further changes are compared with.
    return (
      <Editor key={loaded.data.lastUpdated} stored={loaded.data} onSaved={(stored) => loaded.patch(() => stored)} />
    );
  return (
    <Page
      copy={{ path: devicePath(id) }}
      title={words.collection}
      crumbs={[{ text: words.title, href: href('/templates') }]}
    >
      <With loaded={loaded}>
        {() => (
          <Empty>
            <p>{words.notACollection}</p>
          </Empty>
        )}
      </With>
    </Page>
  );
}

export default function TemplateCollection({ params }: ScreenProps) {
  const id = params['id'];
  return id === 'new' ? <Editor stored={undefined} onSaved={() => undefined} /> : <Stored key={id} id={id} />;
}
