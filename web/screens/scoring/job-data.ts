/** Jobs as their form has them. */
import { browserZone } from '../../core/time/time.ts';

export interface JobSchedule {
  readonly frequency: 'periodic' | 'once';
  readonly cronExpression?: string;
  readonly dataFromPreviousNSeconds?: number;
  readonly timeZone?: string;
  readonly scheduleAt?: string;
  readonly dataFrom?: string;
  readonly dataTo?: string;
}

export interface Job {
  readonly jobId: number;
  readonly jobName: string;
  readonly jobDescription?: string;
  readonly groupOrDeviceId: number | string;
  readonly modelOrGroup: string;
  readonly applyAllModels?: boolean;
  readonly modelToDeviceMappings: Readonly<Record<string, string>>;
  readonly jobSchedule: JobSchedule;
}

export interface JobForm {
  readonly name: string;
  readonly description: string;
  readonly target: string;
  readonly model: string;
  readonly isForAll: boolean;
  /** Paths by input. */
  readonly mappings: Readonly<Record<string, string>>;
  readonly frequency: JobSchedule['frequency'];
  readonly cron: string;
  readonly seconds: string;
  readonly timeZone: string;
  /** As `datetime-local` fields have them. */
  readonly at: string;
  readonly from: string;
  readonly to: string;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** A job that runs now is due so much later: its time has to be in the future of the server's clock, too. */
const SOON_MS = 10_000;

/** A time as a `datetime-local` field has it, in the zone of the browser. */
function localTime(ms: number): string {
  const date = new Date(ms - new Date(ms).getTimezoneOffset() * MINUTE_MS);
  return date.toISOString().slice(0, 16);
}

/** An empty form, or one with what another job has. */
export function jobForm(job: Job | undefined, now: number): JobForm {
  const schedule = job?.jobSchedule;
  const isPeriodic = schedule?.frequency !== 'once';
  return {
    name: job?.jobName ?? '',
    description: job?.jobDescription ?? '',
    target: job === undefined ? '' : String(job.groupOrDeviceId),
    model: job?.modelOrGroup ?? '',
    isForAll: job?.applyAllModels ?? false,
    mappings: job?.modelToDeviceMappings ?? {},
    frequency: isPeriodic ? 'periodic' : 'once',
    cron: (isPeriodic && schedule?.cronExpression) || '0 0/5 * * * ?',
    seconds: String((isPeriodic && schedule?.dataFromPreviousNSeconds) || 300),
    timeZone: (isPeriodic && schedule?.timeZone) || browserZone() || 'UTC',
    at: localTime(now + HOUR_MS),
    from: localTime(now - HOUR_MS),
    to: localTime(now),
  };
}

/** Inputs without a path are missing. */
export const filledMappings = (mappings: JobForm['mappings']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(mappings).flatMap(([input, path]) => (path.trim() === '' ? [] : [[input, path.trim()]])),
  );

/** What is sent to create the job. */
export function jobBody(form: JobForm): Omit<Job, 'jobId'> {
  return {
    jobName: form.name.trim(),
    jobDescription: form.description.trim(),
    groupOrDeviceId: Number(form.target),
    modelOrGroup: form.model,
    applyAllModels: form.isForAll,
    modelToDeviceMappings: filledMappings(form.mappings),
    jobSchedule:
      form.frequency === 'periodic'
        ? {
            frequency: 'periodic',
            cronExpression: form.cron.trim(),
            dataFromPreviousNSeconds: Number(form.seconds),
            timeZone: form.timeZone.trim(),
          }
        : {
            frequency: 'once',
            scheduleAt: isoOf(form.at),
            dataFrom: isoOf(form.from),
            dataTo: isoOf(form.to),
          },
  };
}

const isoOf = (local: string): string => (local === '' ? '' : new Date(local).toISOString());

/** A job that does once, in a moment, what the other one does by the clock: over the window that it would look at now. */
export function runNowBody(job: Job, now: number): Omit<Job, 'jobId'> {
  const { jobId: _, jobCreationDate: __, jobSchedule, ...rest } = job as Job & { readonly jobCreationDate?: string };
  const { frequency, dataFromPreviousNSeconds = 0, dataFrom = '', dataTo = '' } = jobSchedule;
  const window =
    frequency === 'periodic'
      ? {
          dataFrom: new Date(now - dataFromPreviousNSeconds * 1_000).toISOString(),
          dataTo: new Date(now).toISOString(),
        }
      : { dataFrom, dataTo };
  return {
    ...rest,
    jobSchedule: { frequency: 'once', scheduleAt: new Date(now + SOON_MS).toISOString(), ...window },
  };
}

interface DeviceResults {
  readonly deviceId: string;
  readonly recordCollection: readonly {
    readonly modelName: string;
    readonly outputRecords: Readonly<Record<string, readonly unknown[]>>;
  }[];
}

export interface Inferences {
  readonly next: string | null;
  readonly prev: string | null;
  readonly inferenceCollection: readonly DeviceResults[];
}

export interface ResultRow {
  readonly key: string;
  readonly device: string;
  readonly model: string;
  readonly time: string;
  readonly outputs: string;
}

/** A row for each record and model of a page. @param job the list of times has its id in its name */
export function resultRows({ inferenceCollection }: Inferences, job: string): readonly ResultRow[] {
  const timesName = `timestamp_${job}`;
  return inferenceCollection.flatMap(({ deviceId, recordCollection }) =>
    recordCollection.flatMap(({ modelName, outputRecords }) => {
      const names = Object.keys(outputRecords).filter((name) => name !== timesName);
      return (outputRecords[timesName] ?? []).map((time, index) => ({
        key: `${deviceId} ${modelName} ${index}`,
        device: deviceId,
        model: modelName,
        time: String(time),
        outputs: names.map((name) => `${name}: ${shown(outputRecords[name]?.[index])}`).join(' · '),
      }));
    }),
  );
}

const shown = (value: unknown): string =>
  value === null || value === undefined ? '–' : typeof value === 'object' ? JSON.stringify(value) : String(value);
