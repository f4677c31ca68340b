/** The models, PMML and ONNX, and uploading one: a document with errors is shown with each of them at its line. */
import { Upload as UploadIcon } from 'lucide';
import { useState } from 'preact/hooks';
import { getJson } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { upload } from '../../core/api/upload.ts';
import { notify } from '../../core/notices.ts';
import { href, queryText } from '../../core/route.ts';
import { numberText } from '../../core/text/language.ts';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { FileField } from '../../parts/fields.tsx';
import { Code } from '../../parts/json.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, With } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Column } from '../../parts/list/column.ts';
import { MODELS_PATH, MODEL_ADMIN, ONNX_MODELS_PATH, faultsOf } from './model-data.ts';
import type { Model } from './model-data.ts';
import { words as scoringWords } from './text.ts';

function Faults({ document }: { readonly document: string }) {
  const words = scoringWords();
  return (
    <div class="stack" role="alert">
      <h3>{words.faultsTitle}</h3>
      <ul class="stack">
        {faultsOf(document).map(({ line, text }) => (
          <li key={`${line} ${text}`}>
            <strong>{words.faultAt(line)}</strong> {text}
          </li>
        ))}
      </ul>
      <Code label={words.document} text={document} />
    </div>
  );
}

const isOnnx = ({ name }: File): boolean => /\.onnx$/i.test(name);

function Upload({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) {
  const words = scoringWords();
  const [file, setFile] = useState<File>();
  const [share, setShare] = useState(0);
  const [faulty, setFaulty] = useState<string>();
  const send = useAction(async () => {
    if (file === undefined) return;
    setFaulty(undefined);
    setShare(0);
    const path = isOnnx(file) ? ONNX_MODELS_PATH : '/service/scoring/model';
    const answer = await upload(path + queryText({ file: file.name }), file, setShare);
    if (typeof answer === 'string') return setFaulty(answer);
    notify(words.uploaded((answer as Model).modelName));
    onDone();
    onClose();
  });
  return (
    <FormDialog
      title={words.upload}
      onClose={onClose}
      isWide
      onSubmit={() => void send.run()}
      action={words.upload}
      isBusy={send.isRunning}
      error={send.error}
      beside={<span role="status">{send.isRunning && words.sending(numberText(share, { style: 'percent' }))}</span>}
      below={faulty !== undefined && <Faults document={faulty} />}
    >
      <FileField
        label={words.file}
        hint={words.fileHint}
        accept=".pmml,.xml,.zip,.gz,.onnx"
        onFile={setFile}
        isRequired
      />
    </FormDialog>
  );
}

const namesAt = async (path: string, signal: AbortSignal): Promise<readonly string[]> =>
  (await getJson<{ readonly models: readonly string[] }>(path, signal)).models;

function Names({
  title,
  names,
  hrefOf,
}: {
  readonly title: string;
  readonly names: readonly string[];
  readonly hrefOf: (name: string) => string;
}) {
  const words = scoringWords();
  const columns: readonly Column<string>[] = [
    { id: 'name', title: words.name, isHeading: true, cell: (name) => <a href={hrefOf(name)}>{name}</a> },
  ];
  if (names.length === 0) return null;
  return (
    <Section title={title}>
      <Table label={title} columns={columns} rows={names} keyOf={(name) => name} />
    </Section>
  );
}

export default function Models() {
  const words = scoringWords();
  const [isUploading, setUploading] = useState(false);
  const loaded = useLoaded(
    async (signal) => Promise.all([namesAt(MODELS_PATH, signal), namesAt(ONNX_MODELS_PATH, signal)]),
    [],
  );
  return (
    <Page
      copy={[{ path: MODELS_PATH }, { path: ONNX_MODELS_PATH }]}
      title={words.models}
      actions={
        <Button kind="main" icon={UploadIcon} roles={MODEL_ADMIN} onClick={() => setUploading(true)}>
          {words.upload}
        </Button>
      }
    >
      <With loaded={loaded}>
        {([pmml, onnx]) =>
          pmml.length + onnx.length === 0 ? (
            <Empty>
              <p>{words.none}</p>
            </Empty>
          ) : (
            <>
              <Names title="PMML" names={pmml} hrefOf={(name) => href('/scoring/models/:name', { name })} />
              <Names title="ONNX" names={onnx} hrefOf={(name) => href('/scoring/onnx/:name', { name })} />
            </>
          )
        }
      </With>
      {isUploading && <Upload onClose={() => setUploading(false)} onDone={loaded.reload} />}
    </Page>
  );
}
