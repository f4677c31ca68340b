/** An ONNX model: what its file says of it, and a form for its tensors with what it makes of them. */
import { Trash2 } from 'lucide';
import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { changeJson, getJson } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { sendRaw } from '../../core/api/send.ts';
import { offerUndo } from '../../core/api/undo.ts';
import { notify } from '../../core/notices.ts';
import { href } from '../../core/route.ts';
import type { ScreenProps } from '../../core/route.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Form, TextArea } from '../../parts/fields.tsx';
import { JsonView } from '../../parts/json.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { FormFault, With } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Column } from '../../parts/list/column.ts';
import { MODEL_ADMIN, onnxApplyPath, onnxPath } from './model-data.ts';
import { TensorError, bodyOf, exampleOf, shapeText } from './tensors.ts';
import type { OnnxModel, Tensor } from './tensors.ts';
import { words as scoringWords } from './text.ts';

const ROWS = 3;

function Tensors({ title, tensors }: { readonly title: string; readonly tensors: readonly Tensor[] }) {
  const words = scoringWords();
  const columns: readonly Column<Tensor>[] = [
    { id: 'name', title: words.field, isHeading: true, cell: ({ name }) => name },
    { id: 'type', title: words.type, cell: ({ type }) => type },
    { id: 'shape', title: words.shape, cell: shapeText },
  ];
  return (
    <Section title={title}>
      <Table label={title} columns={columns} rows={tensors} keyOf={({ name }) => name} />
    </Section>
  );
}

function Try({ model }: { readonly model: OnnxModel }) {
  const words = scoringWords();
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(model.inputs.map((input) => [input.name, exampleOf(input)])),
  );
  const [wrong, setWrong] = useState<string>();
  const [answer, setAnswer] = useState<string>();
  const send = useAction(async (body: string) => {
    const headers = { 'Content-Type': 'application/json' };
    setAnswer(await (await sendRaw(onnxApplyPath(model.modelName), { method: 'POST', headers, body })).text());
  });
  const apply = (): void => {
    try {
      const body = bodyOf(model.inputs, texts);
      setWrong(undefined);
      void send.run(body);
    } catch (error) {
      if (!(error instanceof TensorError)) throw error;
      setWrong(error.input);
    }
  };
  return (
    <Section title={words.tryTensors}>
      <Form onSubmit={apply} label={words.tryTensors}>
        {model.inputs.map((input) => (
          <TextArea
            key={input.name}
            label={`${input.name} ${shapeText(input)} ${input.type}`}
            value={texts[input.name] ?? ''}
            rows={ROWS}
            isMono
            isRequired
            error={wrong === input.name ? words.noTensor : undefined}
            onInput={(value) => setTexts({ ...texts, [input.name]: value })}
          />
        ))}
        <p class="field-hint">{words.tensorHint}</p>
        <div>
          <Button type="submit" kind="main" isBusy={send.isRunning}>
            {words.apply}
          </Button>
        </div>
        <FormFault error={send.error} />
      </Form>
      {answer !== undefined && (
        <div class="stack" role="status">
          <h3>{words.result}</h3>
          <JsonView label={words.result} text={answer} />
        </div>
      )}
    </Section>
  );
}

export default function OnnxModelScreen({ params: { name } }: ScreenProps) {
  const words = scoringWords();
  const { route } = useLocation();
  const [isRemoving, setRemoving] = useState(false);
  const loaded = useLoaded((signal) => getJson<OnnxModel>(onnxPath(name), signal), [name]);
  const set = async (isActive: boolean): Promise<void> => {
    await changeJson('PUT', `${onnxPath(name)}/${isActive ? 'activate' : 'deactivate'}`);
    loaded.reload();
  };
  const change = useAction(async (isActive: boolean) => {
    await set(isActive);
    offerUndo(words.changed(name), {
      isAsLeft: async () => (await getJson<OnnxModel>(onnxPath(name))).isActive === isActive,
      run: () => set(!isActive),
    });
  });
  const remove = async (): Promise<void> => {
    await changeJson('DELETE', onnxPath(name));
    notify(words.removed(name));
    route(href('/scoring'));
  };
  const isActive = loaded.data?.isActive ?? false;
  return (
    <Page
      copy={{ path: onnxPath(name) }}
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
              <dt>{words.state}</dt>
              <dd>{model.isActive ? words.active : words.inactive}</dd>
              <dt>{words.version}</dt>
              <dd>{model.modelVersion}</dd>
              <dt>{words.producer}</dt>
              <dd>{`${model.producerName} ${model.producerVersion}`.trim() || '–'}</dd>
              <dt>{words.opsets}</dt>
              <dd>{`ONNX ${model.onnxVersion}: ${model.opsetVersions.join(', ')}`}</dd>
            </dl>
            <div class="columns columns-even">
              <Try key={name} model={model} />
              <div>
                <Tensors title={words.inputs} tensors={model.inputs} />
                <Tensors title={words.outputs} tensors={model.outputs} />
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
