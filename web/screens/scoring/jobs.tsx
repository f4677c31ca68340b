/** Jobs that score by the clock, and the runs of one. */
import { CopyPlus, Plus } from 'lucide';
import { changeJson, getJson } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { notify } from '../../core/notices.ts';
import { href } from '../../core/route.ts';
import { collectionAt, pagePath } from '../../core/server/collection.ts';
import { usePoll } from '../../core/api/poll.ts';
import { numberText } from '../../core/text/language.ts';
import { numberParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import { common } from '../../core/text/common.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { useList } from '../../parts/list/list.ts';
import { Page, Section } from '../../parts/page.tsx';
import { FormFault, With } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import { useState } from 'preact/hooks';
import { runNowBody } from './job-data.ts';
import type { Job } from './job-data.ts';
import { JobForm } from './job-form.tsx';
import { JobResults } from './job-results.tsx';
import { MODEL_ADMIN } from './model-data.ts';
import { words as scoringWords } from './text.ts';

const SHAPE = {
  job: textParameter(),
  run: numberParameter(0),
  page: numberParameter(1, { minimum: 1 }),
};
const PATH = '/service/scoring/jobs';
const jobPath = (id: string): string => `/service/scoring/job/${encodeURIComponent(id)}`;

const historyPath = (id: string): string => `${jobPath(id)}/history`;

interface Run {
  readonly jobExecutionNumber: number;
  readonly jobExecutionStartTime: string;
  readonly jobExecutionDuration?: string;
  readonly jobExecutionStatus: string;
  readonly jobExecutionStatusMessage?: readonly unknown[];
}

interface RunsProps {
  readonly job: string;
  readonly run: number;
  readonly onRun: (run: number) => void;
}

/** Until a job that was begun now has run. */
const AGAIN_MS = 3_000;

function Runs({ job, run: shown, onRun }: RunsProps) {
  const words = scoringWords();
  const loaded = useLoaded((signal) => collectionAt<Run>(historyPath(job), 'jobExecutions').load(1, signal), [job]);
  const isUnderWay = loaded.data?.some(({ jobExecutionStatus }) => jobExecutionStatus === 'Running') ?? false;
  const isAwaited = isUnderWay || loaded.data?.length === 0;
  usePoll(AGAIN_MS, isAwaited ? loaded.reload : undefined);
  const columns: readonly Column<Run>[] = [
    {
      id: 'run',
      title: words.run,
      isHeading: true,
      text: ({ jobExecutionNumber }) => jobExecutionNumber,
      cell: ({ jobExecutionNumber }) => numberText(jobExecutionNumber),
    },
    {
      id: 'started',
      title: words.started,
      cell: ({ jobExecutionStartTime }) => <Time value={jobExecutionStartTime} />,
    },
    {
      id: 'took',
      title: words.took,
      isEnd: true,
      text: ({ jobExecutionDuration = '' }) => jobExecutionDuration,
      cell: ({ jobExecutionDuration }) => jobExecutionDuration && words.milliseconds(jobExecutionDuration),
    },
    { id: 'state', title: words.state, cell: ({ jobExecutionStatus }) => jobExecutionStatus },
    {
      id: 'message',
      title: words.message,
      cell: ({ jobExecutionStatusMessage = [] }) =>
        jobExecutionStatusMessage.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join(' · '),
    },
    {
      id: 'actions',
      title: words.results,
      isNarrow: true,
      cell: ({ jobExecutionNumber: number, jobExecutionStatus }) =>
        jobExecutionStatus !== 'Running' && (
          <Button kind="quiet" label={words.resultsOf(number)} onClick={() => onRun(number)}>
            {words.results}
          </Button>
        ),
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
      {shown > 0 && <JobResults key={shown} job={job} run={shown} />}
    </Section>
  );
}

export default function Jobs() {
  const words = scoringWords();
  const [{ job, run, page }, set] = useUrlState(SHAPE);
  const [removed, setRemoved] = useState<Job>();
  /** The form is open, with what it begins with. */
  const [made, setMade] = useState<{ readonly copied: Job | undefined }>();
  const keyOf = ({ jobId }: Job): string => String(jobId);
  const { load } = collectionAt<Job>(PATH, 'jobs');
  const list = useList({ load, keyOf, page, inputs: [] });
  const remove = async (): Promise<void> => {
    if (removed === undefined) return;
    await changeJson('DELETE', jobPath(String(removed.jobId)));
    notify(words.removed(removed.jobName));
    set({ job: '', run: 0 });
    list.reload();
  };
  const show = ({ jobId }: Job): void => {
    set({ job: String(jobId), run: 0 }, { isStep: true });
    list.reload();
  };
  const runNow = useAction(async ({ jobId }: Job) => {
    const body = runNowBody(await getJson<Job>(jobPath(String(jobId))), Date.now());
    const begun = (await changeJson<Job>('POST', '/service/scoring/job', body)) as Job;
    notify(words.runsSoon(begun.jobName));
    show(begun);
  });
  const columns: readonly Column<Job>[] = [
    {
      id: 'name',
      title: words.name,
      isHeading: true,
      cell: ({ jobId, jobName }) => <a href={href('/scoring/jobs', undefined, { job: jobId })}>{jobName}</a>,
    },
    { id: 'model', title: words.model, cell: ({ modelOrGroup }) => modelOrGroup },
    {
      id: 'target',
      title: words.target,
      cell: ({ groupOrDeviceId: id }) => <a href={href('/devices/:id', { id: String(id) })}>{id}</a>,
    },
    {
      id: 'schedule',
      title: words.schedule,
      cell: ({ jobSchedule }) =>
        [jobSchedule.frequency, jobSchedule.cronExpression || jobSchedule.scheduleAt].filter(Boolean).join(' · '),
    },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (row) => (
        <span class="row">
          <Button
            kind="quiet"
            roles={MODEL_ADMIN}
            label={words.runNowTitle(row.jobName)}
            onClick={() => void runNow.run(row)}
          >
            {words.runNow}
          </Button>
          <Button
            kind="quiet"
            icon={CopyPlus}
            roles={MODEL_ADMIN}
            label={words.copyTitle(row.jobName)}
            onClick={() => setMade({ copied: row })}
          >
            {words.copyJob}
          </Button>
          <Button
            kind="quiet"
            roles={MODEL_ADMIN}
            label={words.removeTitle(row.jobName)}
            onClick={() => setRemoved(row)}
          >
            {words.remove}
          </Button>
        </span>
      ),
    },
  ];
  return (
    <Page
      copy={[pagePath(PATH, page), ...(job === '' ? [] : [pagePath(historyPath(job), 1)])].map((path) => ({ path }))}
      title={words.jobs}
      actions={
        <Button kind="main" icon={Plus} roles={MODEL_ADMIN} onClick={() => setMade({ copied: undefined })}>
          {words.newJob}
        </Button>
      }
    >
      <FormFault error={runNow.error} />
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
      {job !== '' && <Runs key={job} job={job} run={run} onRun={(number) => set({ run: number }, { isStep: true })} />}
      {made && <JobForm copied={made.copied} onClose={() => setMade(undefined)} onCreated={show} />}
      {removed && (
        <Confirm
          title={words.removeTitle(removed.jobName)}
          action={words.remove}
          isDangerous
          run={remove}
          onClose={() => setRemoved(undefined)}
        >
          <p>{words.removeJobText}</p>
        </Confirm>
      )}
    </Page>
  );
}
