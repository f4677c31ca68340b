/** Who did what: the audit log by time, user, type and source. */
import { collectionAt, pagePath } from '../../../core/server/collection.ts';
import { absoluteRange, rangeQuery } from '../../../core/time/range.ts';
import { numberParameter, textParameter, urlWith, useUrlState } from '../../../core/url-state.ts';
import { FilterBar, SlowTextField } from '../../../parts/filter-bar.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { useList } from '../../../parts/list/list.ts';
import { Page } from '../../../parts/page.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { TimeRangeField } from '../../../parts/time-range.tsx';
import { Time } from '../../../parts/time.tsx';
import { words as adminWords } from '../titles/text.ts';
import { words as settingWords } from './text.ts';

const SHAPE = {
  user: textParameter(),
  type: textParameter(),
  source: textParameter(),
  from: textParameter('now-7d'),
  to: textParameter(),
  page: numberParameter(1, { minimum: 1 }),
};
const PATH = '/audit/auditRecords';
const VALUE_LENGTH_MAX = 60;

interface Change {
  readonly attribute: string;
  readonly previousValue?: unknown;
  readonly newValue?: unknown;
}

interface AuditRecord {
  readonly id: string;
  readonly time: string;
  readonly type: string;
  readonly activity: string;
  readonly text: string;
  readonly user?: string;
  readonly application?: string;
  readonly source?: { readonly id: string; readonly name?: string | null };
  readonly changes?: readonly Change[];
}

const valueText = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '–');
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text;
};

/** `enabled: true → false`. */
export const changeText = ({ attribute, previousValue, newValue }: Change): string =>
  `${attribute}: ${valueText(previousValue)} → ${valueText(newValue)}`;

export default function Audit() {
  const words = settingWords();
  const [{ user, type, source, from, to, page }, set] = useUrlState(SHAPE);
  const given = Object.fromEntries(Object.entries({ user, type, source }).filter(([, value]) => value !== ''));
  const query = { ...given, ...rangeQuery({ from, to }) };
  const list = useList({
    ...collectionAt<AuditRecord>(PATH, 'auditRecords', query),
    keyOf: ({ id }) => id,
    page,
    inputs: [user, type, source, from, to],
  });
  const columns: readonly Column<AuditRecord>[] = [
    { id: 'time', title: words.time, isNarrow: true, cell: ({ time }) => <Time value={time} /> },
    { id: 'user', title: words.user, cell: ({ user: by }) => by ?? '' },
    { id: 'activity', title: words.activity, isHeading: true, cell: ({ activity }) => activity },
    { id: 'text', title: words.text, cell: ({ text }) => text },
    { id: 'type', title: words.type, cell: (record) => record.type },
    { id: 'source', title: words.source, cell: (record) => record.source?.name ?? record.source?.id ?? '' },
    {
      id: 'changes',
      title: words.changes,
      cell: ({ changes = [] }) =>
        changes.length > 0 && <span class="small">{changes.map(changeText).join(' · ')}</span>,
    },
  ];
  const hasFilters = Object.keys(given).length > 0;
  const clear = (): void => set({ user: '', type: '', source: '', page: 1 }, { isStep: true });
  return (
    <Page
      copy={{ path: pagePath(PATH, page, query) }}
      absoluteUrl={() => urlWith(SHAPE, absoluteRange({ from, to }))}
      title={adminWords().audit}
    >
      <FilterBar onClear={hasFilters ? clear : undefined}>
        <TimeRangeField
          value={{ from, to }}
          hasAny
          onChange={(range) => set({ ...range, page: 1 }, { isStep: true })}
        />
        <SlowTextField label={words.user} value={user} onChange={(value) => set({ user: value, page: 1 })} />
        <SlowTextField label={words.type} value={type} onChange={(value) => set({ type: value, page: 1 })} />
        <SlowTextField label={words.source} value={source} onChange={(value) => set({ source: value, page: 1 })} />
      </FilterBar>
      <ListPage
        label={adminWords().audit}
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        hasFilters={hasFilters}
        onClearFilters={clear}
        empty={<p>{words.noAudit}</p>}
      />
    </Page>
  );
}
