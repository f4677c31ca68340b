/** Bindings: models that score measurements as they come in. */
import { Plus } from 'lucide';
import { useState } from 'preact/hooks';
import { changeJson, getJson } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { sendRaw } from '../../core/api/send.ts';
import { notify } from '../../core/notices.ts';
import { href } from '../../core/route.ts';
import { collectionAt, pagePath } from '../../core/server/collection.ts';
import { numberParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import { common } from '../../core/text/common.ts';
import { offerUndo } from '../../core/api/undo.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { JsonView } from '../../parts/json.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { useList } from '../../parts/list/list.ts';
import { Page, Section } from '../../parts/page.tsx';
import { FormFault, With } from '../../parts/states.tsx';
import type { Column } from '../../parts/list/column.ts';
import type { Binding } from './binding-data.ts';
import { BindingForm } from './binding-form.tsx';
import { BindingPredictions } from './binding-predictions.tsx';
import { BINDINGS_PATH, MODEL_ADMIN, bindingPath } from './model-data.ts';
import { words as scoringWords } from './text.ts';

const SHAPE = { binding: textParameter(), page: numberParameter(1, { minimum: 1 }) };

function Metrics({ id }: { readonly id: string }) {
  const words = scoringWords();
  const loaded = useLoaded(async (signal) => (await sendRaw(`${bindingPath(id)}/metrics`, { signal })).text(), [id]);
  return (
    <Section title={words.metrics}>
      <With loaded={loaded}>{(text) => <JsonView label={words.metrics} text={text} />}</With>
    </Section>
  );
}

export default function Bindings() {
  const words = scoringWords();
  const [{ binding, page }, set] = useUrlState(SHAPE);
  const [removed, setRemoved] = useState<Binding>();
  /** The form is open, for a new binding or for this one. */
  const [edited, setEdited] = useState<{ readonly binding: Binding | undefined }>();
  const keyOf = ({ id }: Binding): string => id;
  const { load } = collectionAt<Binding>(BINDINGS_PATH, 'bindings');
  const list = useList({ load, keyOf, page, inputs: [] });
  const switchOn = async (id: string, isActive: boolean): Promise<void> => {
    // The body replaces the binding: what others have changed in it since the list was read stays.
    const { id: _, creationTime: __, lastUpdated: ___, ...rest } = await getJson<Binding>(bindingPath(id));
    await changeJson('PUT', bindingPath(id), { ...rest, isActive });
    list.reload();
  };
  const change = useAction(async (row: Binding) => {
    await switchOn(row.id, !row.isActive);
    offerUndo(words.changed(row.bindingName), {
      isAsLeft: async () => (await getJson<Binding>(bindingPath(row.id))).isActive !== row.isActive,
      run: () => switchOn(row.id, row.isActive),
    });
  });
  const remove = async (): Promise<void> => {
    if (removed === undefined) return;
    await changeJson('DELETE', bindingPath(removed.id));
    notify(words.removed(removed.bindingName));
    set({ binding: '' });
    list.reload();
  };
  const opened = list.data?.find(({ id }) => id === binding);
  const columns: readonly Column<Binding>[] = [
    {
      id: 'name',
      title: words.name,
      isHeading: true,
      cell: ({ id, bindingName }) => <a href={href('/scoring/bindings', undefined, { binding: id })}>{bindingName}</a>,
    },
    {
      id: 'model',
      title: words.model,
      cell: ({ modelName: name, modelType }) => (
        <a
          href={modelType === 'ONNX' ? href('/scoring/onnx/:name', { name }) : href('/scoring/models/:name', { name })}
        >
          {name}
        </a>
      ),
    },
    { id: 'type', title: words.measurementType, cell: ({ measurementType }) => measurementType ?? '' },
    {
      id: 'target',
      title: words.target,
      cell: ({ groupOrDeviceId: id }) =>
        id === undefined ? words.everything : <a href={href('/devices/:id', { id: String(id) })}>{id}</a>,
    },
    { id: 'output', title: words.output, cell: ({ output }) => Object.keys(output).join(', ') },
    { id: 'state', title: words.state, cell: ({ isActive }) => (isActive ? words.active : words.inactive) },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (row) => {
        const action = row.isActive ? words.deactivate : words.activate;
        return (
          <span class="row">
            <Button
              kind="quiet"
              roles={MODEL_ADMIN}
              label={`${action}: ${row.bindingName}`}
              onClick={() => void change.run(row)}
            >
              {action}
            </Button>
            <Button
              kind="quiet"
              roles={MODEL_ADMIN}
              label={words.editTitle(row.bindingName)}
              onClick={() => setEdited({ binding: row })}
            >
              {words.edit}
            </Button>
            <Button
              kind="quiet"
              roles={MODEL_ADMIN}
              label={words.removeTitle(row.bindingName)}
              onClick={() => setRemoved(row)}
            >
              {words.remove}
            </Button>
          </span>
        );
      },
    },
  ];
  return (
    <Page
      copy={{ path: pagePath(BINDINGS_PATH, page) }}
      title={words.bindings}
      actions={
        <Button kind="main" icon={Plus} roles={MODEL_ADMIN} onClick={() => setEdited({ binding: undefined })}>
          {words.newBinding}
        </Button>
      }
    >
      <FormFault error={change.error} />
      <div class="section">
        <ListPage
          label={words.bindings}
          list={list}
          columns={columns}
          keyOf={keyOf}
          page={page}
          onPage={(value) => set({ page: value }, { isStep: true })}
          empty={<p>{words.noneBindings}</p>}
        />
      </div>
      {opened?.output.measurement !== undefined && <BindingPredictions key={opened.id} binding={opened} />}
      {binding !== '' && <Metrics key={binding} id={binding} />}
      {edited && (
        <BindingForm
          binding={edited.binding}
          onClose={() => setEdited(undefined)}
          onSaved={(id) => {
            set({ binding: id }, { isStep: true });
            list.reload();
          }}
        />
      )}
      {removed && (
        <Confirm
          title={words.removeTitle(removed.bindingName)}
          action={words.remove}
          isDangerous
          run={remove}
          onClose={() => setRemoved(undefined)}
        >
          <p>{words.removeBindingText}</p>
        </Confirm>
      )}
    </Page>
  );
}
