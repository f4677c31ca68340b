/** A model: its fields, a form for one record with its result and explanation, and what it has predicted. */
import { Trash2 } from 'lucide';
import { useLocation } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { changeJson, getJson } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { sendRaw } from '../../core/api/send.ts';
import { notify } from '../../core/notices.ts';
import { href, queryText } from '../../core/route.ts';
import type { ScreenProps } from '../../core/route.ts';
import { textParameter, useUrlState } from '../../core/url-state.ts';
import { offerUndo } from '../../core/api/undo.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Form, TextField } from '../../parts/fields.tsx';
import { Code, JsonView } from '../../parts/json.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { FormFault, With } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import { MODEL_ADMIN, applyPath, isNoNumber, modelPath, recordOf } from './model-data.ts';
import type { Field, Model } from './model-data.ts';
import { words as scoringWords } from './text.ts';

/** The fields of the form as JSON, so that a link brings them again. */
const SHAPE = { record: textParameter() };

function textsOf(json: string): Readonly<Record<string, string>> {
  try {
    return Object.fromEntries(Object.entries(JSON.parse(json) as object).map(([name, value]) => [name, String(value)]));
  } catch {
    // The address was written by hand, or is empty.
    return {};
  }
}

function Fields({ title, fields }: { readonly title: string; readonly fields: readonly Field[] }) {
  const words = scoringWords();
  const columns: readonly Column<Field>[] = [
    { id: 'name', title: words.field, isHeading: true, cell: ({ name }) => name },
    { id: 'type', title: words.type, cell: ({ type }) => type },
    { id: 'usage', title: words.usage, cell: ({ usage }) => usage },
  ];
  return (
    <Section title={title}>
      <Table label={title} columns={columns} rows={fields} keyOf={({ name }) => name} />
    </Section>
  );
}

function Try({ model }: { readonly model: Model }) {
  const words = scoringWords();
  const [{ record }, set] = useUrlState(SHAPE);
  const [texts, setTexts] = useState(() => textsOf(record));
  const [answer, setAnswer] = useState<{ readonly outputs: string; readonly explanation: string }>();
  const apply = useAction(async () => {
    const given = JSON.stringify(recordOf(model.inputFields, texts));
    set({ record: given });
    const path = applyPath(model.modelName);
    const query = queryText({ record: given });
    const outputs = await (await sendRaw(path + query)).text();
    const told = await sendRaw(`${path}/explain${query}`, { headers: { Accept: 'text/plain' } });
    setAnswer({ outputs, explanation: await told.text() });
  });
  // A link with a record shows what becomes of it.
  useEffect(() => {
    if (record !== '') void apply.run();
  }, []);
  return (
    <Section title={words.tryTitle}>
      <Form
        onSubmit={() => {
          if (!model.inputFields.some((field) => isNoNumber(field, texts[field.name] ?? ''))) void apply.run();
        }}
        label={words.tryTitle}
      >
        {model.inputFields.map((field) => (
          <TextField
            key={field.name}
            label={`${field.name} (${field.type})`}
            value={texts[field.name] ?? ''}
            error={isNoNumber(field, texts[field.name] ?? '') ? words.noNumber : undefined}
            onInput={(value) => setTexts({ ...texts, [field.name]: value })}
          />
        ))}
        <p class="field-hint">{words.tryHint}</p>
        <div>
          <Button type="submit" kind="main" isBusy={apply.isRunning}>
            {words.apply}
          </Button>
        </div>
        <FormFault error={apply.error} />
      </Form>
      {answer && (
        <div class="stack" role="status">
          <h3>{words.result}</h3>
          <JsonView label={words.result} text={answer.outputs} />
          <h3>{words.explanation}</h3>
          <Code label={words.explanation} text={answer.explanation} />
        </div>
      )}
    </Section>
  );
}

function Metrics({ name }: { readonly name: string }) {
  const words = scoringWords();
  const loaded = useLoaded(async (signal) => (await sendRaw(`${modelPath(name)}/metrics`, { signal })).text(), [name]);
  return (
    <Section title={words.metrics}>
      <With loaded={loaded}>{(text) => <JsonView label={words.metrics} text={text} />}</With>
    </Section>
  );
}

export default function ModelScreen({ params: { name } }: ScreenProps) {
  const words = scoringWords();
  const { route } = useLocation();
  const [isRemoving, setRemoving] = useState(false);
  const loaded = useLoaded((signal) => getJson<Model>(modelPath(name), signal), [name]);
  const set = async (isActive: boolean): Promise<void> => {
    await changeJson('PUT', `${modelPath(name)}/${isActive ? 'activate' : 'deactivate'}`);
    loaded.reload();
  };
  const change = useAction(async (isActive: boolean) => {
    await set(isActive);
    offerUndo(words.changed(name), {
      isAsLeft: async () => (await getJson<Model>(modelPath(name))).isActive === isActive,
      run: () => set(!isActive),
    });
  });
  const remove = async (): Promise<void> => {
    await changeJson('DELETE', modelPath(name));
    notify(words.removed(name));
    route(href('/scoring'));
  };
  const isActive = loaded.data?.isActive ?? false;
  return (
    <Page
      copy={{ path: modelPath(name) }}
      title={name}
      crumbs={[{ text: words.models, href: href('/scoring') }]}
      actions={
        <>
          <Button roles={MODEL_ADMIN} isBusy={change.isRunning} onClick={() => void change.run(!isActive)}>
            {isActive ? words.deactivate : words.activate}
          </Button>
          <Button icon={Trash2} kind="danger" roles={MODEL_ADMIN} onClick={() => setRemoving(true)}>
            {words.remove}
          </Button>
        </>
      }
    >
      <FormFault error={change.error} />
      <With loaded={loaded}>
        {(model) => (
          <>
            <dl class="facts section">
              <dt>{words.description}</dt>
              <dd>{model.description || '–'}</dd>
              <dt>{words.state}</dt>
              <dd>{model.isActive ? words.active : words.inactive}</dd>
              <dt>{words.created}</dt>
              <dd>
                <Time value={model.creationDate} hasAge />
              </dd>
            </dl>
            <div class="columns columns-even">
              <Try key={name} model={model} />
              <div>
                <Fields title={words.inputs} fields={model.inputFields} />
                <Fields title={words.outputs} fields={model.outputFields} />
                <Metrics name={name} />
              </div>
            </div>
          </>
        )}
      </With>
      {isRemoving && (
        <Confirm
          title={words.removeTitle(name)}
          action={words.remove}
          isDangerous
          phrase={name}
          run={remove}
          onClose={() => setRemoving(false)}
        >
          <p>{words.removeText}</p>
        </Confirm>
      )}
    </Page>
  );
}
