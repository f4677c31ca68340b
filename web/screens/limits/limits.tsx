/** All limits of the server: refusals and errors link here, to the one that they name. */
import { useMemo } from 'preact/hooks';
import { useLoaded } from '../../core/api/request.ts';
import { LIMITS_PATH, limitOf, readLimits } from '../../core/server/limits.ts';
import type { Limit, Limits } from '../../core/server/limits.ts';
import { textParameter, useUrlState } from '../../core/url-state.ts';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { Page } from '../../parts/page.tsx';
import { With } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Column } from '../../parts/list/column.ts';
import { words as limitWords } from './text.ts';

const SHAPE = { q: textParameter() };

type Row = readonly [name: string, limit: Limit];

/** @param text a part of the name or of the words; the name of a share finds its limit. */
function rowsOf(limits: Limits, text: string): readonly Row[] {
  const wanted = text.trim().toLowerCase();
  const named = limitOf(limits, wanted);
  return [...limits].filter(
    ([name, limit]) =>
      limit === named || [name, ...Object.values(limit)].some((part) => part.toLowerCase().includes(wanted)),
  );
}

export default function LimitsScreen() {
  const words = limitWords();
  const [{ q }, set] = useUrlState(SHAPE);
  const limits = useLoaded(() => readLimits(), []);
  const columns: readonly Column<Row>[] = useMemo(
    () => [
      { id: 'name', title: words.name, isHeading: true, cell: ([name]) => <span class="mono">{name}</span> },
      { id: 'bounds', title: words.bounds, cell: ([, { bounds }]) => bounds },
      { id: 'bound', title: words.bound, cell: ([, { bound }]) => bound },
      { id: 'beyond', title: words.beyond, cell: ([, { beyond }]) => beyond },
    ],
    [words],
  );
  return (
    <Page copy={{ path: LIMITS_PATH, file: 'limits.md' }} title={words.title}>
      <p class="field-hint section">{words.about}</p>
      <FilterBar onClear={q === '' ? undefined : () => set({ q: '' }, { isStep: true })}>
        <SlowTextField class="field-wide" label={words.filter} value={q} onChange={(value) => set({ q: value })} />
      </FilterBar>
      <With loaded={limits}>
        {(found) => {
          const rows = rowsOf(found, q);
          return rows.length === 0 ? (
            <p class="muted">{words.nothing}</p>
          ) : (
            <Table label={words.title} columns={columns} rows={rows} keyOf={([name]) => name} />
          );
        }}
      </With>
    </Page>
  );
}
