/** What a binding predicts for a device: its series beside those that it reads, live, and how a prediction came about. */
import { useLocation } from 'preact-iso';
import { useMemo, useState } from 'preact/hooks';
import { getJson } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { notify } from '../../core/notices.ts';
import { href, queryText } from '../../core/route.ts';
import { nameOf, readObject } from '../../core/server/managed-object.ts';
import { readSupportedSeries } from '../../core/server/series.ts';
import type { SeriesRef } from '../../core/server/series.ts';
import { Button } from '../../parts/button.tsx';
import { Charts } from '../../parts/chart/charts.tsx';
import { useSeries } from '../../parts/chart/use-series.ts';
import { DeviceSearch } from '../../parts/device/search.tsx';
import { Section } from '../../parts/page.tsx';
import { FormFault, With } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import { predictedFragment, recordOfTime, seriesOfBinding } from './binding-data.ts';
import type { Binding } from './binding-data.ts';
import { words as scoringWords } from './text.ts';

const RANGE = { from: 'now-1h', to: '' };
/** Predictions of the table below the chart. */
const LATEST = 10;
/** Measurements of one device and time. */
const OF_TIME_MAX = 100;

interface Measurement {
  readonly id: string;
  readonly time: string;
  readonly source: { readonly id: string };
  readonly [member: string]: unknown;
}

async function measurements(query: Readonly<Record<string, string | number>>, signal?: AbortSignal) {
  const path = `/measurement/measurements${queryText(query)}`;
  return (await getJson<{ readonly measurements: readonly Measurement[] }>(path, signal)).measurements;
}

function Chart({ refs }: { readonly refs: readonly SeriesRef[] }) {
  const { route } = useLocation();
  const view = useSeries({ refs, range: RANGE, interval: '' });
  const { source } = refs[0];
  const open = (from: number, to: number): void =>
    route(
      href(
        '/devices/:id/measurements',
        { id: source },
        {
          series: refs.map(({ series }) => series).join(),
          from: new Date(from).toISOString(),
          to: new Date(to).toISOString(),
        },
      ),
    );
  return <Charts view={view} refs={refs} nameOf={({ series }) => series} interval="" isTable={false} onZoom={open} />;
}

/** The latest predictions of a device; a link explains one where the model can. */
function Latest({
  binding,
  device,
  type,
}: {
  readonly binding: Binding;
  readonly device: string;
  readonly type: string;
}) {
  const words = scoringWords();
  const { route } = useLocation();
  const fragment = predictedFragment(binding) ?? '';
  const loaded = useLoaded(
    (signal) => measurements({ source: device, type, pageSize: LATEST, revert: 'true' }, signal),
    [device, type],
  );
  useLive([`/measurements/${device}`], {
    onMessages: (messages) => {
      const made = messages.flatMap((message) => {
        const change = changeOf(message);
        const data = change?.data as Measurement | undefined;
        return change?.realtimeAction === 'CREATE' && data?.['type'] === type ? [data] : [];
      });
      made.reverse();
      const ids = new Set(made.map(({ id }) => id));
      if (made.length > 0) loaded.patch((rows) => [...made, ...rows.filter(({ id }) => !ids.has(id))].slice(0, LATEST));
    },
    onGap: loaded.reload,
  });
  const explain = useAction(async ({ time }: Measurement) => {
    const found = await measurements({ source: device, dateFrom: time, dateTo: time, pageSize: OF_TIME_MAX });
    const record = recordOfTime(binding, found);
    if (Object.keys(record).length === 0) return notify(words.noInputs);
    route(href('/scoring/models/:name', { name: binding.modelName }, { record: JSON.stringify(record) }));
  });
  const columns: readonly Column<Measurement>[] = [
    { id: 'time', title: words.time, isHeading: true, cell: ({ time }) => <Time value={time} hasAge /> },
    { id: 'outputs', title: words.outputs, cell: (row) => valuesText(row[fragment]) },
    {
      id: 'actions',
      title: words.explanation,
      isNarrow: true,
      cell: (row) =>
        binding.modelType !== 'ONNX' && (
          <Button kind="quiet" label={words.explainAt(row.time)} onClick={() => void explain.run(row)}>
            {words.explain}
          </Button>
        ),
    },
  ];
  return (
    <>
      <FormFault error={explain.error} />
      <With loaded={loaded}>
        {(rows) => <Table label={words.predictions} columns={columns} rows={rows} keyOf={({ id }) => id} />}
      </With>
    </>
  );
}

function valuesText(fragment: unknown): string {
  if (typeof fragment !== 'object' || fragment === null) return '';
  return Object.entries(fragment)
    .map(([name, value]) => `${name}: ${String((value as { readonly value?: unknown } | null)?.value ?? value)}`)
    .join(' · ');
}

function OfDevice({
  binding,
  device,
  type,
}: {
  readonly binding: Binding;
  readonly device: string;
  readonly type: string;
}) {
  const words = scoringWords();
  const named = useLoaded((signal) => readObject(device, signal), [device]);
  const supported = useLoaded((signal) => readSupportedSeries(device, signal), [device]);
  const series = useMemo(() => seriesOfBinding(binding, supported.data ?? []), [binding, supported.data]);
  const refs = useMemo(() => series.map((one) => ({ source: device, series: one })), [device, series.join()]);
  return (
    <>
      <p>
        <a href={href('/devices/:id/measurements', { id: device }, { series: series.join() })}>
          {named.data === undefined ? device : nameOf(named.data)}
        </a>
      </p>
      <With loaded={supported}>
        {() => (refs.length === 0 ? <p class="muted">{words.noPredictions}</p> : <Chart refs={refs} />)}
      </With>
      <Latest binding={binding} device={device} type={type} />
    </>
  );
}

/** @param binding one that makes measurements */
export function BindingPredictions({ binding }: { readonly binding: Binding }) {
  const words = scoringWords();
  const [chosen, setChosen] = useState('');
  const type = String(binding.output.measurement?.['type'] ?? '');
  // Until a person chooses, the device whose prediction is the newest.
  const latest = useLoaded((signal) => measurements({ type, pageSize: 1, revert: 'true' }, signal), [type]);
  return (
    <Section title={words.predictions}>
      <DeviceSearch label={words.otherDevice} onChoose={({ id }) => setChosen(id)} />
      <With loaded={latest}>
        {([newest]) => {
          const device = chosen === '' ? newest?.source.id : chosen;
          return device === undefined ? (
            <p class="muted">{words.noPredictions}</p>
          ) : (
            <OfDevice key={device} binding={binding} device={device} type={type} />
          );
        }}
      </With>
    </Section>
  );
}
