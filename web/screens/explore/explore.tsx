/** The data explorer: series of many devices with one crosshair, kept in the address. */
import { Download, X } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { useAction, useLoaded, useShown } from '../../core/api/request.ts';
import { saveCsv } from '../../core/clipboard.ts';
import { notify } from '../../core/notices.ts';
import { listObjects, nameOf } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { download, exportPath } from '../../core/server/exports.ts';
import type { ExportFormat } from '../../core/server/exports.ts';
import { readSupportedSeries, seriesKey, seriesPath } from '../../core/server/series.ts';
import type { SeriesRef } from '../../core/server/series.ts';
import { common } from '../../core/text/common.ts';
import { intervalFor } from '../../core/time/intervals.ts';
import { absoluteRange, rangeQuery, resolveTime } from '../../core/time/range.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Swatch, pageWidth, useWidth } from '../../parts/chart/chart.tsx';
import { Charts } from '../../parts/chart/charts.tsx';
import { pointsPx } from '../../parts/chart/model.ts';
import { RangeBar } from '../../parts/chart/range-bar.tsx';
import { shownCsv } from '../../parts/chart/shown-points.ts';
import { useAlarms } from '../../parts/chart/use-alarms.ts';
import { useSeries } from '../../parts/chart/use-series.ts';
import { DeviceSearch } from '../../parts/device/search.tsx';
import { CheckField } from '../../parts/fields.tsx';
import { FilterBar } from '../../parts/filter-bar.tsx';
import { Menu } from '../../parts/menu.tsx';
import type { MenuItem } from '../../parts/menu.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, FormFault, With } from '../../parts/states.tsx';
import { words as measurementWords } from '../measurements/text.ts';
import { addressOf, seriesOf, seriesText, useExploreState } from './state.ts';
import { words as exploreWords } from './text.ts';

/** Each is a request, and a channel of its device. */
const SERIES_MAX = 20;

interface ChoiceProps {
  readonly device: ManagedObject;
  readonly refs: readonly SeriesRef[];
  readonly onToggle: (ref: SeriesRef, isOn: boolean) => void;
  readonly onClose: () => void;
}

function Choice({ device, refs, onToggle, onClose }: ChoiceProps) {
  const words = exploreWords();
  const supported = useLoaded((signal) => readSupportedSeries(device.id, signal), [device.id]);
  return (
    <Section title={words.seriesOf(nameOf(device))} actions={<Button onClick={onClose}>{words.done}</Button>}>
      <With loaded={supported}>
        {(all) =>
          all.length === 0 ? (
            <p class="muted">{words.noSeries}</p>
          ) : (
            <div class="series-choice">
              {all.map((series) => (
                <CheckField
                  key={series}
                  label={series}
                  isChecked={refs.some((ref) => ref.source === device.id && ref.series === series)}
                  onChange={(isOn) => onToggle({ source: device.id, series }, isOn)}
                />
              ))}
            </div>
          )
        }
      </With>
    </Section>
  );
}

/** Names of the devices that can be read, by id. @param sources at most `SERIES_MAX`. */
async function namesOf(sources: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  if (sources.length === 0) return new Map();
  const found = await listObjects({ ids: sources.join(',') }, 1, signal);
  return new Map(found.map((device) => [device.id, nameOf(device)]));
}

export default function Explore() {
  const words = exploreWords();
  const [state, set] = useExploreState();
  const [device, setDevice] = useState<ManagedObject>();
  const [box, width] = useWidth<HTMLDivElement>(pageWidth);
  const { from, to, agg, table } = state;
  const refs = useMemo(() => seriesOf(state.s).slice(0, SERIES_MAX), [state.s]);
  const range = useMemo(() => ({ from, to }), [from, to]);
  const sources = [...new Set(refs.map(({ source }) => source))];
  const now = Date.now();
  const size = (resolveTime(to, now) ?? now) - (resolveTime(from, now) ?? 0);
  const automatic = width === 0 ? undefined : intervalFor(size, pointsPx(width));
  const interval = agg === 'raw' ? '' : agg === '' ? automatic : agg;
  const view = useSeries({ refs, range, interval });
  const isShown = useShown(view.loaded.data !== undefined || view.loaded.error !== undefined);
  const names = useLoaded(isShown ? (signal) => namesOf(sources, signal) : undefined, [sources.join()]);
  const labelOf = ({ source, series }: SeriesRef): string => `${names.data?.get(source) ?? source} ${series}`;
  const alarms = useAlarms(sources, range, !isShown);
  const show = (next: readonly SeriesRef[]): void => set({ s: seriesText(next) });
  const toggle = (ref: SeriesRef, isOn: boolean): void => {
    const others = refs.filter((one) => seriesKey(one) !== seriesKey(ref));
    if (isOn && others.length >= SERIES_MAX) notify(words.tooMany(SERIES_MAX));
    else show(isOn ? [...others, ref] : others);
  };
  const save = (): void => {
    const shown = refs.flatMap((ref, style) => {
      const data = view.loaded.data?.points.get(seriesKey(ref));
      return data === undefined ? [] : [{ key: seriesKey(ref), name: labelOf(ref), data, style }];
    });
    saveCsv('explorer.csv', [shownCsv(shown)]);
  };
  const files = useAction(async (format: ExportFormat) => {
    // One after the other: a user has few exports at once.
    for (const source of sources)
      await download(
        exportPath('measurements', { source, ...rangeQuery(range) }, format),
        `${names.data?.get(source) ?? source}.${format}`,
      );
    notify(measurementWords().exported);
  });
  const ofAll = (text: string, format: ExportFormat): MenuItem => ({
    text,
    hint: words.fileHint,
    onSelect: () => void files.run(format),
  });
  return (
    <Page
      copy={
        refs.length === 0
          ? undefined
          : () => refs.map((ref) => ({ path: seriesPath({ ...ref, ...view.span.peek(), interval: interval ?? '' }) }))
      }
      absoluteUrl={() => location.origin + location.pathname + addressOf('', { ...state, ...absoluteRange(range) })}
      title={words.title}
      actions={
        refs.length > 0 && (
          <Menu
            label={common().exportAs}
            icon={Download}
            items={[
              { text: words.download, onSelect: save },
              ofAll(measurementWords().exportCsv, 'csv'),
              ofAll(measurementWords().exportParquet, 'parquet'),
            ]}
          />
        )
      }
    >
      <FilterBar>
        <DeviceSearch label={words.device} placeholder={words.deviceHint} onChoose={setDevice} />
        <RangeBar
          range={range}
          onRange={set}
          interval={agg}
          onInterval={(next) => set({ agg: next })}
          chosen={automatic}
        />
        <CheckField label={words.table} isChecked={table} onChange={(isOn) => set({ table: isOn })} />
      </FilterBar>
      <FormFault error={files.error} />
      {device && <Choice device={device} refs={refs} onToggle={toggle} onClose={() => setDevice(undefined)} />}
      {refs.length > 0 && (
        <ul class="chips" aria-label={words.shown}>
          {refs.map((ref, style) => (
            <li key={seriesKey(ref)} class="badge">
              <Swatch style={style} />
              {labelOf(ref)}
              <IconButton icon={X} label={words.remove(labelOf(ref))} onClick={() => toggle(ref, false)} />
            </li>
          ))}
          <li>
            <Button kind="quiet" onClick={() => show([])}>
              {words.removeAll}
            </Button>
          </li>
        </ul>
      )}
      <div ref={box}>
        {refs.length === 0 ? (
          <Empty title={words.emptyTitle}>
            <p>{words.emptyText}</p>
          </Empty>
        ) : (
          <Charts
            view={view}
            refs={refs}
            nameOf={labelOf}
            interval={interval ?? ''}
            isTable={table}
            width={width}
            alarms={alarms}
            onZoom={(first, last) => set({ from: new Date(first).toISOString(), to: new Date(last).toISOString() })}
          />
        )}
      </div>
    </Page>
  );
}
