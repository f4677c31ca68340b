/** Jobs that score by the clock, and the runs of one. */
import { changeJson } from '../../core/api/json.ts';
import { useLoaded } from '../../core/api/request.ts';
import { notify } from '../../core/notices.ts';
import { href } from '../../core/route.ts';
import { collectionAt } from '../../core/server/collection.ts';
import { numberText } from '../../core/text/language.ts';
import { numberParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import { common } from '../../core/text/common.ts';
import { Button } from '../../parts/button.tsx';
import { CopyAs } from '../../parts/copy.tsx';
import { userWithTenant } from '../../parts/device/page.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { useList } from '../../parts/list.ts';
import { Page, Section } from '../../parts/page.tsx';
import { With } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import type { Column } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useState } from 'preact/hooks';
import { MODEL_ADMIN } from './model-data.ts';
import { words as scoringWords } from './text.ts';

const SHAPE = { job: textParameter(), page: numberParameter(1, { minimum: 1 }) };
const PATH = '/service/scoring/jobs';
const jobPath = (id: string): string => `/service/scoring/job/${encodeURIComponent(id)}`;

interface Job {
  readonly jobId: number;
  readonly jobName: string;
  readonly groupOrDeviceId?: number | string;
  readonly modelOrGroup?: string;
  readonly jobSchedule?: { readonly frequency?: string; readonly cronExpression?: string };
}

interface Run {
  readonly jobExecutionNumber: number;
  readonly jobExecutionStartTime: string;
  readonly jobExecutionDuration?: string;
  readonly jobExecutionStatus: string;
  readonly jobExecutionStatusMessage?: readonly unknown[];
}

function Runs({ job }: { readonly job: string }) {
  const words = scoringWords();
  const loaded = useLoaded(
    (signal) => collectionAt<Run>(`${jobPath(job)}/history`, 'jobExecutions').load(1, signal),
    [job],
  );
  const columns: readonly Column<Run>[] = [
    { id: 'run', title: words.run, isHeading: true, cell: ({ jobExecutionNumber }) => numberText(jobExecutionNumber) },
    {
      id: 'started',
      title: words.started,
      cell: ({ jobExecutionStartTime }) => <Time value={jobExecutionStartTime} />,
    },
    {
      id: 'took',
      title: words.took,
      isEnd: true,
      cell: ({ jobExecutionDuration }) => jobExecutionDuration && words.milliseconds(jobExecutionDuration),
    },
    { id: 'state', title: words.state, cell: ({ jobExecutionStatus }) => jobExecutionStatus },
    {
      id: 'message',
      title: words.message,
      cell: ({ jobExecutionStatusMessage = [] }) =>
        jobExecutionStatusMessage.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join(' · '),
    },
  ];
  return (
    <Section title={words.runs}>
      <With loaded={loaded}>
        {(runs) =>
          runs.length === 0 ? (
            <p class="muted">{words.noRuns}</p>
          ) : (
            <Table
              label={words.runs}
              columns={columns}
              rows={runs}
              keyOf={({ jobExecutionNumber }) => String(jobExecutionNumber)}
            />
          )
        }
      </With>
    </Section>
  );
}

export default function Jobs() {
  const words = scoringWords();
  const [{ job, page }, set] = useUrlState(SHAPE);
  const [removed, setRemoved] = useState<Job>();
  const keyOf = ({ jobId }: Job): string => String(jobId);
  const { load } = collectionAt<Job>(PATH, 'jobs');
  const list = useList({ load, keyOf, page, inputs: [] });
  const remove = async (): Promise<void> => {
    if (removed === undefined) return;
    await changeJson('DELETE', jobPath(String(removed.jobId)));
    notify(words.removed(removed.jobName));
    set({ job: '' });
    list.reload();
  };
  const columns: readonly Column<Job>[] = [
    {
      id: 'name',
      title: words.name,
      isHeading: true,
      cell: ({ jobId, jobName }) => <a href={href('/scoring/jobs', undefined, { job: jobId })}>{jobName}</a>,
    },
    { id: 'model', title: words.model, cell: ({ modelOrGroup }) => modelOrGroup ?? '' },
    {
      id: 'target',
      title: words.target,
      cell: ({ groupOrDeviceId: id }) =>
        id !== undefined && <a href={href('/devices/:id', { id: String(id) })}>{id}</a>,
    },
    {
      id: 'schedule',
      title: words.schedule,
      cell: ({ jobSchedule }) => [jobSchedule?.frequency, jobSchedule?.cronExpression].filter(Boolean).join(' · '),
    },
    {
      id: 'remove',
      title: common().more,
      isNarrow: true,
      cell: (row) => (
        <Button kind="quiet" roles={MODEL_ADMIN} label={words.removeTitle(row.jobName)} onClick={() => setRemoved(row)}>
          {words.remove}
        </Button>
      ),
    },
  ];
  return (
    <Page title={words.jobs} actions={<CopyAs request={{ path: PATH }} user={userWithTenant()} />}>
      <div class="section">
        <ListPage
          label={words.jobs}
          list={list}
          columns={columns}
          keyOf={keyOf}
          page={page}
          onPage={(value) => set({ page: value }, { isStep: true })}
          empty={<p>{words.noneJobs}</p>}
        />
      </div>
      {job !== '' && <Runs key={job} job={job} />}
      {removed && (
        <Confirm
          title={words.removeTitle(removed.jobName)}
          action={words.remove}
          isDangerous
          run={remove}
          onClose={() => setRemoved(undefined)}
        >
          <p>{words.removeText}</p>
        </Confirm>
      )}
    </Page>
  );
}
