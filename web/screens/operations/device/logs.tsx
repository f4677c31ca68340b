/** Logs of a device: fetching one, reading it, looking for a text in it. */
import { Eye, FileDown } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import type { ScreenProps } from '../../../core/route.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { rangeQuery } from '../../../core/time/range.ts';
import type { TimeRange } from '../../../core/time/range.ts';
import { numberParameter, useUrlState } from '../../../core/url-state.ts';
import { Button } from '../../../parts/button.tsx';
import { FormDialog } from '../../../parts/dialog.tsx';
import { SelectField, TextField, optionalLabel } from '../../../parts/fields.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { Section } from '../../../parts/page.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { TimeRangeField } from '../../../parts/time-range.tsx';
import { Time } from '../../../parts/time.tsx';
import { useOperations } from '../list.ts';
import { CONTROL, memberText } from '../operation.ts';
import type { Operation } from '../operation.ts';
import { OperationState } from '../status.tsx';
import { words as operationWords } from '../text.ts';
import { FileDialog } from './own-file.tsx';
import { useSend } from './send.ts';
import { TabPage } from './tab-page.tsx';
import { words as tabWords } from './text.ts';
import type { TabTexts } from './text.ts';

const LOG = 'c8y_LogfileRequest';
const SHAPE = { page: numberParameter(1, { minimum: 1 }) };
const LINES = '1000';

const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

function Request({ device, onClose }: { readonly device: ManagedObject; readonly onClose: () => void }) {
  const words = tabWords();
  const types = textsOf(device['c8y_SupportedLogs']);
  const [type, setType] = useState(types[0] ?? '');
  const [range, setRange] = useState<TimeRange>({ from: 'now-1h', to: '' });
  const [search, setSearch] = useState('');
  const [lines, setLines] = useState(LINES);
  const send = useSend(device);
  const submit = async (): Promise<void> => {
    const { dateFrom, dateTo } = rangeQuery(range);
    const request = {
      logFile: type,
      dateFrom: dateFrom ?? new Date(0).toISOString(),
      dateTo: dateTo ?? new Date().toISOString(),
      searchText: search,
      maximumLines: Number(lines),
    };
    if (await send.run({ description: `Log ${type}`, [LOG]: request })) onClose();
  };
  return (
    <FormDialog
      title={words.logRequestTitle}
      onClose={onClose}
      onSubmit={() => void submit()}
      action={words.logRequest}
      isBusy={send.isRunning}
      error={send.error}
    >
      {types.length > 0 ? (
        <SelectField
          label={words.logType}
          value={type}
          options={types.map((value) => ({ value, text: value }))}
          onChange={setType}
        />
      ) : (
        <TextField label={words.logType} hint={words.logNoTypes} value={type} onInput={setType} isRequired />
      )}
      <TimeRangeField value={range} onChange={setRange} />
      <TextField label={optionalLabel(words.logSearch)} value={search} onInput={setSearch} />
      <TextField label={words.logLines} type="number" value={lines} onInput={setLines} isRequired />
    </FormDialog>
  );
}

interface OpenFile {
  readonly name: string;
  readonly url: string;
}

const columnsOf = (words: TabTexts, onOpen: (file: OpenFile) => void): Column<Operation>[] => [
  {
    id: 'log',
    title: words.logType,
    isHeading: true,
    cell: (operation) => memberText(operation, LOG, 'logFile'),
  },
  { id: 'status', title: operationWords().status, cell: ({ status }) => <OperationState status={status} /> },
  {
    id: 'from',
    title: common().from,
    cell: (operation) => <Time value={memberText(operation, LOG, 'dateFrom')} />,
  },
  { id: 'to', title: common().to, cell: (operation) => <Time value={memberText(operation, LOG, 'dateTo')} /> },
  { id: 'search', title: words.logSearch, cell: (operation) => memberText(operation, LOG, 'searchText') },
  {
    id: 'file',
    title: common().details,
    cell: (operation) => {
      const url = memberText(operation, LOG, 'file');
      const name = `${memberText(operation, LOG, 'logFile')}-${operation.id}.log`;
      if (operation.failureReason !== undefined) return <span class="fault-text">{operation.failureReason}</span>;
      return url === '' ? (
        ''
      ) : (
        <Button icon={Eye} label={words.snapshotView(name)} onClick={() => onOpen({ name, url })}>
          {words.view}
        </Button>
      );
    },
  },
];

function Logs({ device }: { readonly device: ManagedObject }) {
  const words = tabWords();
  const [{ page }, set] = useUrlState(SHAPE);
  const [isAsking, setAsking] = useState(false);
  const [file, setFile] = useState<OpenFile>();
  const list = useOperations({ deviceId: device.id, fragmentType: LOG }, page);
  const columns = useMemo(() => columnsOf(words, setFile), [words]);
  return (
    <Section
      title={words.logFiles}
      actions={
        <Button kind="main" icon={FileDown} roles={CONTROL} onClick={() => setAsking(true)}>
          {words.logRequest}
        </Button>
      }
    >
      <ListPage
        label={words.logFiles}
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        empty={<p>{words.logNone}</p>}
      />
      {isAsking && <Request device={device} onClose={() => setAsking(false)} />}
      {file && <FileDialog {...file} device={device} onClose={() => setFile(undefined)} />}
    </Section>
  );
}

export default function DeviceLogs({ params }: ScreenProps) {
  return (
    <TabPage id={params['id']} capability="logs">
      {({ device }) => <Logs device={device} />}
    </TabPage>
  );
}
