/** Exports: measurements, events, alarms and objects as CSV, JSON lines or Parquet, with the command that does the same. */
import { Download } from 'lucide';
import { useMemo } from 'preact/hooks';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { userWithTenant } from '../../core/api/session.ts';
import { notify } from '../../core/notices.ts';
import { EXPORT_FORMATS, EXPORT_PATHS, download, exportPath } from '../../core/server/exports.ts';
import type { ExportKind } from '../../core/server/exports.ts';
import { nameOf, readObject } from '../../core/server/managed-object.ts';
import { absoluteRange, rangeQuery } from '../../core/time/range.ts';
import { choiceParameter, textParameter, urlWith, useUrlState } from '../../core/url-state.ts';
import { Button } from '../../parts/button.tsx';
import { curlOf } from '../../parts/copy.tsx';
import { DeviceSearch } from '../../parts/device/search.tsx';
import { SelectField, TextField } from '../../parts/fields.tsx';
import { Code } from '../../parts/json.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Fault } from '../../parts/states.tsx';
import { TimeRangeField } from '../../parts/time-range.tsx';
import { zoneText } from '../../parts/time.tsx';
import { words as exportWords } from './text.ts';

const KINDS = Object.keys(EXPORT_PATHS) as ExportKind[];
const SHAPE = {
  kind: choiceParameter(KINDS),
  format: choiceParameter(EXPORT_FORMATS),
  source: textParameter(),
  type: textParameter(),
  status: textParameter(),
  severity: textParameter(),
  command: textParameter(),
  bulk: textParameter(),
  q: textParameter(),
  from: textParameter('now-24h'),
  to: textParameter(),
};

export default function Export() {
  const words = exportWords();
  const [state, set] = useUrlState(SHAPE);
  const { kind, format, source, type, status, severity, command, bulk, q, from, to } = state;
  const isOfObjects = kind === 'objects';
  const isOfOperations = kind === 'operations';
  const path = useMemo(() => {
    const range = rangeQuery({ from, to });
    const filters: Readonly<Record<string, string>> = isOfOperations
      ? { deviceId: source, status, fragmentType: command, bulkOperationId: bulk }
      : { source, type, ...(kind === 'alarms' && { status, severity }) };
    return exportPath(kind, isOfObjects ? { type, query: q } : { ...filters, ...range }, format);
  }, [kind, format, source, type, status, severity, command, bulk, q, from, to]);
  const copy = { path, file: `${kind}.${format}` };
  const device = useLoaded(source === '' ? undefined : (signal) => readObject(source, signal), [source]);
  const file = useAction(async () => {
    await download(path, `${kind}.${format}`);
    notify(words.done);
  });
  const choose = (id: string): void => set({ source: id }, { isStep: true });
  return (
    <Page copy={copy} absoluteUrl={() => urlWith(SHAPE, absoluteRange({ from, to }))} title={words.title}>
      <Section title={words.title}>
        <p class="muted">{words.intro}</p>
        <div class="form">
          <SelectField
            label={words.kind}
            value={kind}
            onChange={(next) => set({ kind: next }, { isStep: true })}
            options={KINDS.map((value) => ({ value, text: words.kinds[value] }))}
          />
          <SelectField
            label={words.format}
            value={format}
            onChange={(next) => set({ format: next }, { isStep: true })}
            options={EXPORT_FORMATS.map((value) => ({ value, text: words.formats[value] }))}
          />
          {!isOfObjects && (
            <>
              <DeviceSearch label={words.findDevice} placeholder={words.deviceHint} onChoose={({ id }) => choose(id)} />
              <div class="row">
                {source === '' ? words.all : words.chosen(device.data === undefined ? source : nameOf(device.data))}
                {source !== '' && (
                  <Button kind="quiet" onClick={() => choose('')}>
                    {words.allAgain}
                  </Button>
                )}
              </div>
              <TimeRangeField value={{ from, to }} onChange={(next) => set(next, { isStep: true })} hasAny />
              <p class="muted">{zoneText()}</p>
            </>
          )}
          {!isOfOperations && <TextField label={words.type} value={type} onInput={(next) => set({ type: next })} />}
          {(isOfOperations || kind === 'alarms') && (
            <TextField label={words.status} value={status} onInput={(next) => set({ status: next })} />
          )}
          {kind === 'alarms' && (
            <TextField label={words.severity} value={severity} onInput={(next) => set({ severity: next })} />
          )}
          {isOfOperations && (
            <>
              <TextField label={words.ofCommand} value={command} onInput={(next) => set({ command: next })} isMono />
              <TextField label={words.bulk} value={bulk} onInput={(next) => set({ bulk: next })} />
            </>
          )}
          {isOfObjects && (
            <TextField
              label={words.query}
              value={q}
              onInput={(next) => set({ q: next })}
              placeholder={words.queryHint}
              isMono
            />
          )}
          <div class="row">
            <Button kind="main" icon={Download} isBusy={file.isRunning} onClick={() => void file.run()}>
              {words.download}
            </Button>
            {file.isRunning && <span role="status">{words.running}</span>}
          </div>
        </div>
        {file.error && <Fault error={file.error} retry={() => void file.run()} />}
      </Section>
      <Section title={words.command}>
        <Code label={words.command} text={curlOf(copy, userWithTenant())} />
      </Section>
    </Page>
  );
}
