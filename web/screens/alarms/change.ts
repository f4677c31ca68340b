/** Acknowledging, clearing and reactivating alarms, one or many, each with its way back. */
import { ApiError } from '../../core/api/error.ts';
import { workOnMany } from '../../core/api/many.ts';
import { BY_OBJECT } from '../../core/api/rights.ts';
import { notify, notifyUndoable } from '../../core/notices.ts';
import {
  ALARM_STATUSES,
  countAlarms,
  readAlarmText,
  setAlarmStatus,
  setStatusOfMany,
} from '../../core/server/alarm.ts';
import type { Alarm, AlarmFilter, AlarmStatus } from '../../core/server/alarm.ts';
import { words as alarmWords } from './text.ts';

/** A change of many goes on behind its answer; the page waits this long for its end. */
const WAIT_MS = 60_000;
const POLL_MS = 500;

export const ALARM_ADMIN = ['ROLE_ALARM_ADMIN', BY_OBJECT];

const changedMeanwhile = (): ApiError =>
  new ApiError({ status: 409, error: '', message: alarmWords().changedMeanwhile, method: 'PUT', url: '' });

/** Sets one alarm back, unless it was changed by others since. */
async function setBack(changed: Alarm, before: AlarmStatus): Promise<Alarm> {
  const now = JSON.parse(await readAlarmText(changed.id)) as Alarm;
  if (now.status !== changed.status || now.lastUpdated !== changed.lastUpdated) throw changedMeanwhile();
  return setAlarmStatus(changed.id, before);
}

/**
 * Changes these alarms. The list shows it before the server answers, and shows the old status of those that fail.
 * @param show puts alarms in the place of those with their ids.
 * @throws ApiError: the first refusal, after all were tried.
 */
export async function changeAlarms(
  alarms: readonly Alarm[],
  status: AlarmStatus,
  show: (alarms: readonly Alarm[]) => void,
): Promise<void> {
  const wanted = alarms.filter((alarm) => alarm.status !== status);
  show(wanted.map((alarm) => ({ ...alarm, status })));
  const { done, failed } = await workOnMany(wanted, ({ id }) => setAlarmStatus(id, status));
  show([...done.map(({ result }) => result), ...failed.map(({ item }) => item)]);
  if (done.length > 0)
    notifyUndoable(alarmWords().changed(done.length, status), async () => {
      const back: Alarm[] = [];
      try {
        for (const { item, result } of done) back.push(await setBack(result, item.status));
      } finally {
        show(back);
      }
    });
  if (failed.length > 0) throw failed[0].error;
}

/** Statuses of the filter other than the new one. */
export const oldStatuses = (filter: AlarmFilter, status: AlarmStatus): readonly AlarmStatus[] => {
  const chosen = filter['status'] ?? '';
  return ALARM_STATUSES.filter((one) => one !== status && (chosen === '' || chosen.split(',').includes(one)));
};

/** How many a change of all that match changes. @throws ApiError. */
export const countOfChange = (filter: AlarmFilter, status: AlarmStatus, signal?: AbortSignal): Promise<number> =>
  countAlarms({ ...filter, status: oldStatuses(filter, status).join(',') }, signal);

/** When a change went on, by the server's clock, as filters of what it has changed. */
interface Span {
  readonly lastUpdatedFrom: string;
  readonly lastUpdatedTo: string;
}

/** Changes all that match, and waits for the end. @returns also how many were not changed by then. @throws ApiError. */
async function carryOut(filter: AlarmFilter, status: AlarmStatus): Promise<{ span: Span; left: number }> {
  const startMs = performance.now();
  const { requestedAt, isDone } = await setStatusOfMany(filter, status);
  let left = 0;
  if (!isDone)
    // Alarms that were raised since are not part of it.
    while ((left = await countAlarms({ ...filter, createdTo: requestedAt })) > 0) {
      if (performance.now() - startMs > WAIT_MS) break;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  // The clocks of page and server may differ, but run alike.
  const endMs = Date.parse(requestedAt) + Math.ceil(performance.now() - startMs);
  return { span: { lastUpdatedFrom: requestedAt, lastUpdatedTo: new Date(endMs).toISOString() }, left };
}

/** Some were not changed in time. */
function tellOfRest(count: number): void {
  if (count > 0) notify(alarmWords().notChanged(count), { kind: 'fault' });
}

/**
 * Changes all alarms that match, also those of other pages. The way back takes those alone that this has changed: what
 * others change after its end stays.
 * @param reload shows the list again. @throws ApiError.
 */
export async function changeAllThatMatch(filter: AlarmFilter, status: AlarmStatus, reload: () => void): Promise<void> {
  const words = alarmWords();
  const count = await countOfChange(filter, status);
  const steps: { readonly old: AlarmStatus; readonly span: Span }[] = [];
  let rest = 0;
  try {
    for (const old of oldStatuses(filter, status)) {
      const { span, left } = await carryOut({ ...filter, status: old }, status);
      steps.push({ old, span });
      rest += left;
    }
  } finally {
    reload();
  }
  tellOfRest(rest);
  const changed = Math.max(count - rest, 0);
  if (changed === 0) notify(words.changed(0, status));
  else
    notifyUndoable(words.changed(changed, status), async () => {
      let kept = 0;
      // The last first: what it sets back no longer has the new status when the one before it is set back.
      for (const { old, span } of [...steps].reverse())
        kept += (await carryOut({ ...filter, status, ...span }, old)).left;
      reload();
      tellOfRest(kept);
    });
}
