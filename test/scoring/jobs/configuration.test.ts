import t from 'tap';
import {
  dataWindow,
  leftOutTimes,
  nextRun,
  pathOf,
  readJobConfiguration,
  shownSchedule,
} from '../../../src/scoring/jobs/configuration.ts';

const NOW = Date.parse('2026-11-26T12:00:00Z');
const PERIODIC = {
  frequency: 'periodic',
  cronExpression: '0 0/5 * * * ?',
  dataFromPreviousNSeconds: 300,
  timeZone: 'Europe/Berlin',
};
const ONCE = {
  frequency: 'once',
  scheduleAt: '2026-11-26T13:00:00.000+00:00',
  dataFrom: '2026-11-25T00:00:00.000Z',
  dataTo: '2026-11-26T00:00:00.000Z',
};
const JOB = {
  jobName: 'My/job?',
  groupOrDeviceId: 42,
  modelOrGroup: 'Iris',
  modelToDeviceMappings: { x: 'c8y_Temperature.T.value' },
  jobSchedule: PERIODIC,
};

const refusalOf = (change: object): string => {
  try {
    readJobConfiguration({ ...JOB, ...change }, NOW);
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
};

t.test('a job as it is kept', async (t) => {
  const job = readJobConfiguration(JOB, NOW);
  t.match(job, {
    jobName: 'My_job_',
    jobDescription: '',
    groupOrDeviceId: '42',
    applyAllModels: false,
    jobSchedule: PERIODIC,
  });
  t.equal(nextRun(job.jobSchedule, NOW), NOW + 300_000);
  t.same(dataWindow(job.jobSchedule, NOW), { from: NOW - 300_000, to: NOW });
  const once = readJobConfiguration({ ...JOB, jobSchedule: ONCE }, NOW);
  t.match(shownSchedule(once.jobSchedule), { cronExpression: '', dataFromPreviousNSeconds: 0, timeZone: 'UTC' });
  t.equal(nextRun(once.jobSchedule, NOW), NOW + 3_600_000);
  t.equal(nextRun(once.jobSchedule, NOW + 3_600_000), undefined, 'once and not again');
  const window = { from: Date.parse(ONCE.dataFrom), to: Date.parse(ONCE.dataTo) + 1 };
  t.same(dataWindow(once.jobSchedule, NOW), window, 'dataTo is part of it');
});

t.test('times that are left out are counted', async (t) => {
  const { jobSchedule } = readJobConfiguration(JOB, NOW);
  const minutes = (count: number) => leftOutTimes(jobSchedule, NOW, NOW + count * 60_000);
  t.equal(minutes(4), undefined);
  t.equal(minutes(5), '1 time was left out: 2026-11-26T12:05:00.000Z.');
  t.equal(minutes(19), '3 times were left out, from 2026-11-26T12:05:00.000Z to 2026-11-26T12:15:00.000Z.');
  t.equal(minutes(100_000), 'More than 100 times were left out, from 2026-11-26T12:05:00.000Z on.');
});

t.test('what is wrong is named with its value', async (t) => {
  t.equal(refusalOf({ jobName: undefined }), 'jobName is mandatory.');
  t.equal(refusalOf({ groupOrDeviceId: 'a' }), "groupOrDeviceId must be a number, but is 'a'.");
  t.equal(refusalOf({ modelToDeviceMappings: {} }), 'modelToDeviceMappings is mandatory.');
  t.equal(
    refusalOf({ modelToDeviceMappings: { x: 'T.value' } }),
    "modelToDeviceMappings of 'x' must have the form <measurementType>.<seriesName>.value, but is 'T.value'.",
  );
  t.equal(refusalOf({ jobSchedule: { ...PERIODIC, frequency: 'daily' } }), 'frequency can be either once or periodic.');
  t.equal(
    refusalOf({ jobSchedule: { ...PERIODIC, dataFromPreviousNSeconds: 86_401 } }),
    'dataFromPreviousNSeconds must be between 1 and 86400, but is 86401.',
  );
  t.match(
    refusalOf({ jobSchedule: { ...PERIODIC, cronExpression: 'every day' } }),
    /^cronExpression 'every day' is not valid: it has 2 fields/,
  );
  t.equal(
    refusalOf({ jobSchedule: { ...PERIODIC, cronExpression: '0 0 0 1 1 ? 2020' } }),
    "cronExpression '0 0 0 1 1 ? 2020' names no time in the future.",
  );
  t.equal(refusalOf({ jobSchedule: { ...PERIODIC, timeZone: undefined } }), 'timeZone is mandatory.');
  t.equal(
    refusalOf({ jobSchedule: { ...ONCE, scheduleAt: '2026-11-26T11:00:00.000Z' } }),
    'scheduleAt must be in the future, but is 2026-11-26T11:00:00.000Z.',
  );
  t.equal(
    refusalOf({ jobSchedule: { ...ONCE, dataFrom: '2026-11-26' } }),
    "dataFrom must have the format yyyy-MM-dd'T'HH:mm:ss.SSSXXX, but is '2026-11-26'.",
  );
  for (const time of ['2027-02-30T00:00:00.000Z', '2026-11-27T00:00:00.000+0100', '2026-11-27T00:00:00.000+01'])
    t.match(refusalOf({ jobSchedule: { ...ONCE, scheduleAt: time } }), /^scheduleAt must have the format/, time);
  t.equal(refusalOf({ jobSchedule: { ...ONCE, scheduleAt: '2028-02-29T23:59:59.999+01:00' } }), 'accepted');
  t.equal(
    refusalOf({ jobSchedule: { ...ONCE, dataFrom: '2026-11-24T23:59:59.999Z' } }),
    'The difference between dataFrom and dataTo must not exceed 24 hours.',
  );
  t.equal(refusalOf({ jobSchedule: { ...ONCE, dataFrom: ONCE.dataTo } }), 'dataFrom must be before dataTo.');
});

t.test('a path names a type and a series', async (t) => {
  t.same(pathOf('c8y_Temperature.T.value'), { type: 'c8y_Temperature', series: 'T' });
  t.same(pathOf('my.type.T.value'), { type: 'my.type', series: 'T' });
  for (const path of ['', 'T.value', 'a..value', 'a.b.unit']) t.equal(pathOf(path), undefined, path);
});
