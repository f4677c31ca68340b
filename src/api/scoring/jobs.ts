/** Jobs that score measurements by the clock, and what their runs found (docs/spec/scoring.md#jobs). */
import Type from 'typebox';
import { PlatformError } from '../../model/errors.ts';
import { open } from '../../model/schema/parts.ts';
import { JobConfigurationError, readJobConfiguration, shownSchedule } from '../../scoring/jobs/configuration.ts';
import type { JobConfiguration } from '../../scoring/jobs/configuration.ts';
import { namesOf, requireInputs } from '../../scoring/jobs/execution.ts';
import {
  createJob,
  findRun,
  jobTexts,
  loadJob,
  loadRun,
  removeJob,
  removeJobs,
  runTexts,
} from '../../scoring/jobs/jobs.ts';
import type { StoredJob, StoredRun } from '../../scoring/jobs/stored.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import { ANSWERED, type Answer } from '../request/answer.ts';
import { PAGE_PARAMETERS, pageOf } from '../request/paging.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import {
  ADMIN,
  READ,
  SCORING_PATH,
  answers,
  askerOf,
  json,
  jsonText,
  pageLink,
  pageOfList,
  requireTarget,
} from './parts.ts';

const JOB = `${SCORING_PATH}/job`;
const ONE = `${JOB}/{jobId}`;
const HISTORY = `${ONE}/history`;
const RUN = `${HISTORY}/{executionId}`;
const { pageSize, currentPage, withTotalPages } = PAGE_PARAMETERS;

const Job = open({ jobId: Type.Number(), jobName: Type.String() });
const JOB_EXAMPLE = {
  jobName: 'Every five minutes',
  jobDescription: 'Scores the temperatures of a device',
  groupOrDeviceId: 4711,
  modelOrGroup: 'Iris',
  applyAllModels: false,
  modelToDeviceMappings: { temperature: 'c8y_Temperature.T.value' },
  jobSchedule: {
    frequency: 'periodic',
    cronExpression: '0 0/5 * * * ?',
    dataFromPreviousNSeconds: 300,
    timeZone: 'UTC',
  },
};
const CREATED_EXAMPLE = { jobId: 1, jobCreationDate: '2026-11-26T12:00:00.000Z', ...JOB_EXAMPLE };
const RUN_EXAMPLE = {
  jobId: 1,
  jobExecutionNumber: 1,
  isExecutionForDeviceGroup: false,
  jobExecutionStartTime: '2026-11-26T12:05:00.000Z',
  jobExecutionEndTime: '2026-11-26T12:05:01.250Z',
  jobExecutionDuration: '1250',
  jobExecutionStatus: 'Success',
  jobExecutionStatusMessage: [],
};
const PAGE_EXAMPLE = { next: null, prev: null, statistics: { currentPage: 1, totalPages: 1, pageSize: 5 } };
const Page = open({ statistics: open({ currentPage: Type.Integer() }) });

function shownJob(job: StoredJob): object {
  const { jobId, jobCreationDate, jobName, jobDescription, groupOrDeviceId, modelOrGroup } = job;
  return {
    jobId,
    jobCreationDate,
    jobName,
    jobDescription,
    groupOrDeviceId: Number(groupOrDeviceId),
    modelOrGroup,
    applyAllModels: job.applyAllModels,
    modelToDeviceMappings: job.modelToDeviceMappings,
    jobSchedule: shownSchedule(job.jobSchedule),
  };
}

function shownRun(jobId: number, run: StoredRun, now: number): object {
  const end = run.endedAt === undefined ? now : Date.parse(run.endedAt);
  return {
    jobId,
    jobExecutionNumber: run.number,
    isExecutionForDeviceGroup: run.isGroup,
    jobExecutionStartTime: run.startedAt,
    jobExecutionEndTime: run.endedAt ?? null,
    jobExecutionDuration: String(end - Date.parse(run.startedAt)),
    jobExecutionStatus: run.status,
    jobExecutionStatusMessage: run.messages,
  };
}

async function post(request: ApiRequest): Promise<Answer> {
  const { platform, tenant } = request;
  const configuration = sentJob(request);
  const isOfGroup = await requireTarget(request, configuration.groupOrDeviceId);
  const models = await namesOf(platform, tenant, configuration);
  for (const name of models) await requireInputs(platform, tenant, name, configuration.modelToDeviceMappings);
  return json(shownJob(await createJob(platform, askerOf(request), configuration, isOfGroup)), 201);
}

function sentJob(request: ApiRequest): JobConfiguration {
  try {
    return readJobConfiguration(JSON.parse(request.bodyText()), request.platform.now());
  } catch (error) {
    if (!(error instanceof JobConfigurationError)) throw error;
    throw new PlatformError('scoring/invalid-job', { reason: error.message });
  }
}

async function listPage(request: ApiRequest): Promise<Answer> {
  const jobs = await jobTexts(request.platform, request.tenant);
  // This list tells its pages unless it is asked not to.
  const wantsTotal = !request.query.isFalse('withTotalPages');
  const page = { ...pageOf(request), wantsTotal };
  const shown = (text: string): object => shownJob(JSON.parse(text) as StoredJob);
  return json(pageOfList(request, { member: 'jobs', path: '/jobs' }, jobs, page, shown));
}

const jobOf = ({ platform, tenant, params }: ApiRequest): Promise<StoredJob> =>
  loadJob(platform, tenant, params['jobId'] ?? '');

async function get(request: ApiRequest): Promise<Answer> {
  return json(shownJob(await jobOf(request)));
}

async function status(request: ApiRequest): Promise<Answer> {
  const { jobId, lastNumber } = await jobOf(request);
  const run = await findRun(request.platform, request.tenant, jobId, lastNumber);
  // None yet, or a retention rule has removed it.
  if (run === undefined) return json({ jobExecutionStatus: null, jobExecutionDuration: null });
  const { jobExecutionStatus, jobExecutionDuration } = shownRun(jobId, run, request.platform.now()) as Record<
    string,
    unknown
  >;
  return json({ jobExecutionStatus, jobExecutionDuration });
}

async function history(request: ApiRequest): Promise<Answer> {
  const { jobId } = await jobOf(request);
  const runs = await runTexts(request.platform, request.tenant, jobId);
  const now = request.platform.now();
  const shown = (text: string): object => shownRun(jobId, JSON.parse(text) as StoredRun, now);
  return json(
    pageOfList(request, { member: 'jobExecutions', path: `/job/${jobId}/history` }, runs, pageOf(request), shown),
  );
}

async function runOf(request: ApiRequest): Promise<{ jobId: number; run: StoredRun }> {
  const { jobId } = await jobOf(request);
  return { jobId, run: await loadRun(request.platform, request.tenant, jobId, request.params['executionId'] ?? '') };
}

async function execution(request: ApiRequest): Promise<Answer> {
  const { jobId, run } = await runOf(request);
  return json(shownRun(jobId, run, request.platform.now()));
}

/** A page of results: 2,000 records, whatever the client asks for. */
async function inferences(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const { jobId, run } = await runOf(request);
  const { pages = [], blob } = run;
  const path = `/job/${jobId}/history/${run.number}/inferences`;
  const { current } = pageOf(request);
  const length = pages[current - 1];
  const from = pages.slice(0, current - 1).reduce((sum, bytes) => sum + bytes, 0);
  const content =
    length === undefined || blob === undefined
      ? undefined
      : await request.blobs.read(blob, { from, through: from + length - 1 });
  const link = (page: number): string | null =>
    page < 1 || page > pages.length ? null : pageLink(request, path, undefined, page);
  const head = JSON.stringify({
    next: link(current + 1),
    prev: link(current - 1),
    statistics: {
      currentPage: current,
      totalPages: Math.max(1, pages.length),
      numberOfDevices: run.devices ?? 0,
      numberOfModels: run.models ?? 0,
    },
  });
  const start = Buffer.from(`${head.slice(0, -1)},"inferenceCollection":`);
  const headers = ['Content-Type', JSON_TYPE];
  if (content === undefined || length === undefined) return jsonText(`${start.toString()}[]}`);
  await request.sendContent(200, headers, start.length + length + 1, around(start, content));
  return ANSWERED;
}

/** A page is not put together in memory: it may be large. */
async function* around(start: Uint8Array, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield start;
  yield* content;
  yield Buffer.from('}');
}

async function remove(request: ApiRequest): Promise<Answer> {
  await removeJob(request.platform, askerOf(request), request.params['jobId'] ?? '');
  return listPage(request);
}

async function removeAll(request: ApiRequest): Promise<Answer> {
  await removeJobs(request.platform, askerOf(request));
  return listPage(request);
}

export function jobRoutes(): Route[] {
  const query = { pageSize, currentPage, withTotalPages };
  const page = [answers('A page of jobs', Page, { jobs: [CREATED_EXAMPLE], ...PAGE_EXAMPLE })];
  const one = open({ jobExecutionStatus: Type.Union([Type.String(), Type.Null()]) });
  return [
    {
      method: 'POST',
      path: JOB,
      ...ADMIN,
      summary: 'Create a job that scores measurements, once or by a schedule',
      body: { schema: open({}), example: JOB_EXAMPLE },
      answers: [answers('The job', Job, CREATED_EXAMPLE, 201)],
      handle: post,
    },
    { method: 'GET', path: `${JOB}s`, ...READ, summary: 'List the jobs', query, answers: page, handle: listPage },
    {
      method: 'DELETE',
      path: `${JOB}s`,
      ...ADMIN,
      summary: 'Delete all jobs',
      query,
      answers: page,
      handle: removeAll,
    },
    {
      method: 'GET',
      path: ONE,
      ...READ,
      summary: 'Read a job',
      answers: [answers('The job', Job, CREATED_EXAMPLE)],
      handle: get,
    },
    {
      method: 'DELETE',
      path: ONE,
      ...ADMIN,
      summary: 'Delete a job and its results',
      query,
      answers: page,
      handle: remove,
    },
    {
      method: 'GET',
      path: `${ONE}/status`,
      ...READ,
      summary: 'Read how the run under way, or the last one, is doing',
      answers: [answers('Status and duration', one, { jobExecutionStatus: 'Success', jobExecutionDuration: '1250' })],
      handle: status,
    },
    {
      method: 'GET',
      path: HISTORY,
      ...READ,
      summary: 'List the runs of a job, the latest first',
      query,
      answers: [answers('A page of runs', Page, { jobExecutions: [RUN_EXAMPLE], ...PAGE_EXAMPLE })],
      handle: history,
    },
    {
      method: 'GET',
      path: RUN,
      ...READ,
      summary: 'Read a run of a job',
      answers: [answers('The run', one, RUN_EXAMPLE)],
      handle: execution,
    },
    {
      method: 'GET',
      path: `${RUN}/inferences`,
      ...READ,
      summary: 'Read what a run has found, 2,000 records a page',
      query: { currentPage, withTotalPages },
      answers: [
        answers('A page of results', Page, {
          next: null,
          prev: null,
          statistics: { currentPage: 1, totalPages: 1, numberOfDevices: 1, numberOfModels: 1 },
          inferenceCollection: [
            {
              deviceId: '4711',
              recordSize: 1,
              recordCollection: [
                {
                  modelName: 'Iris',
                  outputRecords: { predictedValue: ['a'], timestamp_1: ['2026-11-26T12:04:00.000Z'] },
                },
              ],
            },
          ],
        }),
      ],
      handle: inferences,
    },
  ];
}
