/** What a run of a job has found, in the pages that the server makes: 2,000 records each. */
import { useState } from 'preact/hooks';
import { getJson } from '../../core/api/json.ts';
import { useLoaded } from '../../core/api/request.ts';
import { href, queryText } from '../../core/route.ts';
import { common } from '../../core/text/common.ts';
import { Button } from '../../parts/button.tsx';
import { CopyAs } from '../../parts/copy.tsx';
import { Section } from '../../parts/page.tsx';
import { With } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import { resultRows } from './job-data.ts';
import type { Inferences, ResultRow } from './job-data.ts';
import { words as scoringWords } from './text.ts';

/** Rows of a page that are shown: the rest is in the answer itself. */
const ROWS_MAX = 200;

export function JobResults({ job, run }: { readonly job: string; readonly run: number }) {
  const words = scoringWords();
  const [page, setPage] = useState(1);
  const path = `/service/scoring/job/${encodeURIComponent(job)}/history/${run}/inferences`;
  const query = queryText({ currentPage: page });
  const loaded = useLoaded((signal) => getJson<Inferences>(path + query, signal), [path, page]);
  const columns: readonly Column<ResultRow>[] = [
    {
      id: 'device',
      title: words.device,
      isHeading: true,
      cell: ({ device }) => <a href={href('/devices/:id', { id: device })}>{device}</a>,
    },
    { id: 'time', title: words.time, cell: ({ time }) => <Time value={time} /> },
    { id: 'model', title: words.model, cell: ({ model }) => model },
    { id: 'outputs', title: words.outputs, cell: ({ outputs }) => outputs },
  ];
  return (
    <Section title={words.resultsOf(run)} actions={<CopyAs requests={{ path: path + query }} />}>
      <With loaded={loaded}>
        {(found) => {
          const rows = resultRows(found, job);
          const shown = rows.slice(0, ROWS_MAX);
          return (
            <>
              {rows.length === 0 ? (
                <p class="muted">{words.noResults}</p>
              ) : (
                <Table label={words.resultsOf(run)} columns={columns} rows={shown} keyOf={({ key }) => key} />
              )}
              {rows.length > shown.length && <p class="muted">{words.furtherResults(rows.length - shown.length)}</p>}
              <div class="row">
                {found.prev !== null && <Button onClick={() => setPage(page - 1)}>{common().previous}</Button>}
                {found.next !== null && <Button onClick={() => setPage(page + 1)}>{common().next}</Button>}
              </div>
            </>
          );
        }}
      </With>
    </Section>
  );
}
