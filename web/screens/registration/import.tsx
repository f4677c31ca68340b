/** Many devices at once from a CSV file: looked at first, then sent; what failed comes back line by line. */
import { Download, Upload } from 'lucide';
import { useState } from 'preact/hooks';
import { useAction } from '../../core/api/request.ts';
import { sendRaw } from '../../core/api/send.ts';
import { saveCsv } from '../../core/clipboard.ts';
import { href } from '../../core/route.ts';
import { common } from '../../core/text/common.ts';
import { Button } from '../../parts/button.tsx';
import { FileField } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { FormFault } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import { csvCells, failedFile, meaningOf, readCsv } from './csv.ts';
import type { CsvFile, FailedLine } from './csv.ts';
import { words as registrationWords } from './text.ts';

const PATH = '/devicecontrol/bulkNewDeviceRequests';
const ADMIN = ['ROLE_DEVICE_CONTROL_ADMIN'];
const BYTES_MAX = 16 * 1_048_576;
/** Lines that are shown before they are sent, and failures on the page; the file has all. */
const PREVIEW = 5;
const FAILED_SHOWN = 100;
const EXAMPLE = 'ID;CREDENTIALS;TYPE;NAME;PATH\npump-1;a-long-password;pump;Pump 1;Plant/Hall 1\n';

interface Answer {
  readonly numberOfAll: number;
  readonly numberOfFailed: number;
  readonly failedCreationList?: readonly FailedLine[];
}

interface PreviewRow {
  readonly index: number;
  readonly cells: readonly string[];
}

function Columns({ csv }: { readonly csv: CsvFile }) {
  const words = registrationWords();
  const first = csvCells(csv.lines[0] ?? '', csv.separator);
  const rows = csv.columns.map((name, index) => ({ index, name, meaning: meaningOf(csv.columns, index) }));
  return (
    <Section title={words.columns}>
      <p class="muted">
        {words.separator}: {words.separators[csv.separator]}
      </p>
      <Table
        hasFile={false}
        label={words.columns}
        rows={rows}
        keyOf={({ index }) => String(index)}
        columns={[
          {
            id: 'name',
            title: words.column,
            isHeading: true,
            cell: ({ name }) => <span class="mono">{name || '–'}</span>,
          },
          {
            id: 'meaning',
            title: words.meaning,
            cell: ({ meaning }) =>
              meaning === 'twice' || meaning === 'empty' ? (
                <span class="fault-text">{words.meanings[meaning]}</span>
              ) : (
                words.meanings[meaning]
              ),
          },
          {
            id: 'value',
            title: words.firstValue,
            // A password is not shown.
            cell: ({ name, index }) => (name === 'CREDENTIALS' ? '•••' : (first[index] ?? '')),
          },
        ]}
      />
    </Section>
  );
}

function Result({ csv, answer }: { readonly csv: CsvFile; readonly answer: Answer }) {
  const words = registrationWords();
  const failed = answer.failedCreationList ?? [];
  return (
    <Section
      title={words.result}
      actions={
        failed.length > 0 && (
          <Button icon={Download} onClick={() => saveCsv('failed.csv', [failedFile(csv.header, failed)])}>
            {words.downloadFailed}
          </Button>
        )
      }
    >
      <p role="status">
        {words.madeCount(answer.numberOfAll - answer.numberOfFailed)}, {words.failedCount(answer.numberOfFailed)}
      </p>
      {failed.length > 0 && (
        <Table
          hasFile={false}
          label={words.failedCount(failed.length)}
          rows={failed.slice(0, FAILED_SHOWN).map((one, index) => ({ ...one, index }))}
          keyOf={({ index }) => String(index)}
          columns={[
            { id: 'id', title: words.id, isHeading: true, cell: ({ deviceId }) => deviceId || '–' },
            {
              id: 'line',
              title: words.line,
              isEnd: true,
              cell: ({ line }) => String(csv.lines.indexOf(line) + 2),
            },
            { id: 'reason', title: words.reason, cell: ({ failureReason }) => failureReason },
          ]}
        />
      )}
    </Section>
  );
}

export default function Import() {
  const words = registrationWords();
  const [file, setFile] = useState<File>();
  const [csv, setCsv] = useState<CsvFile>();
  const [answer, setAnswer] = useState<Answer>();
  const read = async (chosen: File | undefined): Promise<void> => {
    setFile(chosen);
    setAnswer(undefined);
    setCsv(chosen === undefined || chosen.size > BYTES_MAX ? undefined : readCsv(await chosen.text()));
  };
  const send = useAction(async () => {
    if (file === undefined) return;
    const form = new FormData();
    form.set('file', file, file.name);
    setAnswer((await (await sendRaw(PATH, { method: 'POST', body: form })).json()) as Answer);
  });
  const fault =
    csv === undefined
      ? undefined
      : !csv.columns.includes('ID')
        ? words.noId
        : csv.lines.length === 0
          ? words.emptyFile
          : undefined;
  const tooLarge = file !== undefined && file.size > BYTES_MAX ? words.tooLarge : undefined;
  return (
    <Page
      copy={{ method: 'POST', path: PATH, upload: file?.name ?? 'devices.csv' }}
      title={words.import}
      crumbs={[{ text: common().sections.devices, href: href('/devices') }]}
      actions={
        <Button icon={Download} onClick={() => saveCsv('devices.csv', [EXAMPLE])}>
          {words.template}
        </Button>
      }
    >
      <div class="stack">
        <p class="prose">{words.importText}</p>
        <div class="form">
          <FileField
            label={words.file}
            accept=".csv,text/csv,text/plain"
            error={tooLarge ?? fault}
            onFile={(chosen) => void read(chosen)}
          />
        </div>
        {csv && <Columns csv={csv} />}
        {csv && csv.lines.length > 0 && answer === undefined && (
          <>
            <Section title={words.preview(csv.lines.length)}>
              <Table
                hasFile={false}
                label={words.preview(csv.lines.length)}
                rows={csv.lines
                  .slice(0, PREVIEW)
                  .map((line, index) => ({ index, cells: csvCells(line, csv.separator) }))}
                keyOf={({ index }) => String(index)}
                columns={csv.columns.map((name, at) => ({
                  id: String(at),
                  title: name || '–',
                  isHeading: name === 'ID',
                  // A password is not shown.
                  cell: ({ cells }: PreviewRow) => (name === 'CREDENTIALS' ? '•••' : cells[at] || '–'),
                }))}
              />
            </Section>
            <div class="row">
              <Button
                kind="main"
                icon={Upload}
                roles={ADMIN}
                blocked={fault}
                isBusy={send.isRunning}
                onClick={() => void send.run()}
              >
                {words.send(csv.lines.length)}
              </Button>
            </div>
          </>
        )}
        <FormFault error={send.error} />
        {csv && answer && <Result csv={csv} answer={answer} />}
      </div>
    </Page>
  );
}
