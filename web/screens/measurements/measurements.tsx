/** Measurements of a device: charts of chosen series, live at the right edge, as a table and as files. */
import { Download } from 'lucide';
import { useMemo, useRef } from 'preact/hooks';
import type { RefObject } from 'preact';
import { useAction, useLoaded, useShown } from '../../core/api/request.ts';
import { userWithTenant } from '../../core/api/session.ts';
import { saveCsv } from '../../core/clipboard.ts';
import { notify } from '../../core/notices.ts';
import type { ScreenProps } from '../../core/route.ts';
import { download, exportPath } from '../../core/server/exports.ts';
import type { ExportFormat } from '../../core/server/exports.ts';
import { nameOf } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { readSupportedSeries, seriesKey, seriesPath, supportedPath } from '../../core/server/series.ts';
import type { SeriesRef } from '../../core/server/series.ts';
import { common } from '../../core/text/common.ts';
import { intervalFor } from '../../core/time/intervals.ts';
import { absoluteRange, rangeQuery, resolveTime } from '../../core/time/range.ts';
import { flagParameter, listParameter, textParameter, urlWith, useUrlState } from '../../core/url-state.ts';
import { useLive } from '../../core/live/live.ts';
import { useSoon } from '../../core/live/pace.ts';
import { Charts } from '../../parts/chart/charts.tsx';
import { pageWidth, useWidth } from '../../parts/chart/chart.tsx';
import { pointsPx } from '../../parts/chart/model.ts';
import { RangeBar } from '../../parts/chart/range-bar.tsx';
import { shownCsv } from '../../parts/chart/shown-points.ts';
import { useAlarms } from '../../parts/chart/use-alarms.ts';
import { useSeries } from '../../parts/chart/use-series.ts';
import type { ViewRequests } from '../../parts/copy.tsx';
import { DevicePage } from '../../parts/device/page.tsx';
import { CheckField } from '../../parts/fields.tsx';
import { FilterBar } from '../../parts/filter-bar.tsx';
import { Code } from '../../parts/json.tsx';
import { Menu } from '../../parts/menu.tsx';
import { Empty, FormFault, With } from '../../parts/states.tsx';
import { words as measurementWords } from './text.ts';

const SHAPE = {
  series: listParameter,
  from: textParameter('now-6h'),
  to: textParameter(),
  agg: textParameter(),
  table: flagParameter,
};
const SERIES_MAX = 20;
/** Series that are shown until the person chooses. */
const FIRST_SHOWN = 3;

const curlOfFirst = (id: string): string =>
  `curl -u '${userWithTenant()}' '${location.origin}/measurement/measurements' \\
  -H 'Content-Type: application/json' \\
  -d '{"source":{"id":"${id}"},"time":"${new Date().toISOString()}","type":"c8y_Water","c8y_Water":{"T":{"value":61.5,"unit":"C"}}}'`;

interface MeasurementsProps {
  readonly device: ManagedObject;
  /** Gets the requests of the charts, for "Copy as". */
  readonly shown: RefObject<ViewRequests>;
}

interface ContentProps extends MeasurementsProps {
  readonly supported: readonly string[];
}

function Content({ device, supported, shown }: ContentProps) {
  const words = measurementWords();
  const [state, set] = useUrlState(SHAPE);
  const [box, width] = useWidth<HTMLDivElement>(pageWidth);
  const { from, to, agg, table } = state;
  const range = useMemo(() => ({ from, to }), [from, to]);
  const chosen = state.series.length > 0 ? state.series : supported.slice(0, FIRST_SHOWN);
  const refs = useMemo<readonly SeriesRef[]>(
    () => chosen.slice(0, SERIES_MAX).map((series) => ({ source: device.id, series })),
    [device.id, chosen.join()],
  );
  const now = Date.now();
  const size = (resolveTime(to, now) ?? now) - (resolveTime(from, now) ?? 0);
  const automatic = width === 0 ? undefined : intervalFor(size, pointsPx(width));
  const interval = agg === 'raw' ? '' : agg === '' ? automatic : agg;
  const view = useSeries({ refs, range, interval });
  const alarms = useAlarms(
    [device.id],
    range,
    !useShown(view.loaded.data !== undefined || view.loaded.error !== undefined),
  );
  const toggle = (series: string, isOn: boolean): void => {
    const next = isOn ? [...chosen, series] : chosen.filter((one) => one !== series);
    if (next.length > SERIES_MAX) notify(words.tooMany(SERIES_MAX));
    else if (next.length > 0) set({ series: next }, { isStep: true });
    else notify(words.choose);
  };
  const file = useAction(async (format: ExportFormat) => {
    const path = exportPath('measurements', { source: device.id, ...rangeQuery(range) }, format);
    await download(path, `${nameOf(device)}.${format}`);
    notify(words.exported);
  });
  const saveShown = (): void => {
    const rows = refs.flatMap((ref, style) => {
      const data = view.loaded.data?.points.get(seriesKey(ref));
      return data === undefined ? [] : [{ key: seriesKey(ref), name: ref.series, data, style }];
    });
    saveCsv(`${nameOf(device)}-shown.csv`, [shownCsv(rows)]);
  };
  shown.current = refs.map((ref) => ({ path: seriesPath({ ...ref, ...view.span.peek(), interval: interval ?? '' }) }));
  return (
    <>
      <FilterBar>
        <RangeBar
          range={range}
          onRange={(next) => set(next, { isStep: true })}
          interval={agg}
          onInterval={(value) => set({ agg: value }, { isStep: true })}
          chosen={automatic}
        />
        <span class="page-actions">
          <CheckField
            label={words.table}
            isChecked={table}
            onChange={(isOn) => set({ table: isOn }, { isStep: true })}
          />
          <Menu
            label={common().exportAs}
            icon={Download}
            items={[
              { text: words.exportShown, onSelect: saveShown },
              { text: words.exportCsv, hint: words.exportHint, onSelect: () => void file.run('csv') },
              { text: words.exportNdjson, hint: words.exportHint, onSelect: () => void file.run('ndjson') },
              { text: words.exportParquet, hint: words.exportHint, onSelect: () => void file.run('parquet') },
            ]}
          />
        </span>
      </FilterBar>
      <FormFault error={file.error} />
      <fieldset class="series-choice">
        <legend class="visually-hidden">{words.series}</legend>
        {supported.map((series) => (
          <CheckField
            key={series}
            label={series}
            isChecked={chosen.includes(series)}
            onChange={(isOn) => toggle(series, isOn)}
          />
        ))}
      </fieldset>
      <div ref={box}>
        <Charts
          view={view}
          refs={refs}
          nameOf={({ series }) => series}
          interval={interval ?? ''}
          isTable={table}
          width={width}
          alarms={alarms}
          onZoom={(first, last) =>
            set({ from: new Date(first).toISOString(), to: new Date(last).toISOString() }, { isStep: true })
          }
        />
      </div>
    </>
  );
}

function Measurements({ device, shown }: MeasurementsProps) {
  const words = measurementWords();
  const [{ series: named }] = useUrlState(SHAPE);
  const supported = useLoaded((signal) => readSupportedSeries(device.id, signal), [device.id]);
  // What the address names is asked for beside the list of all.
  const isAhead = supported.data === undefined && named.length > 0;
  // The first measurement of a device makes its chart appear.
  const look = useSoon(supported.reload);
  useLive(supported.data?.length === 0 ? [`/measurements/${device.id}`] : [], { onMessages: look, onGap: look });
  return (
    <With loaded={isAhead ? { ...supported, data: named } : supported}>
      {(series) =>
        series.length === 0 ? (
          <Empty title={words.noSeriesTitle}>
            <p>{words.noSeriesText}</p>
            <Code text={curlOfFirst(device.id)} label="curl" />
          </Empty>
        ) : (
          <Content device={device} supported={series} shown={shown} />
        )
      }
    </With>
  );
}

export default function DeviceMeasurements({ params: { id } }: ScreenProps) {
  const shown = useRef<ViewRequests>(undefined);
  const [state] = useUrlState(SHAPE);
  return (
    <DevicePage
      id={id}
      copy={() => shown.current ?? { path: supportedPath(id) }}
      absoluteUrl={() => urlWith(SHAPE, absoluteRange(state))}
    >
      {({ device }) => <Measurements device={device} shown={shown} />}
    </DevicePage>
  );
}
