/** A list of operations that stays as the server has it: status changes in place, new ones wait or are shown at once. */
import { usePoll } from '../../core/api/poll.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { LOOK_MS, useList } from '../../parts/list/list.ts';
import type { List } from '../../parts/list/list.ts';
import { countOperations, listOperations } from './operation.ts';
import type { Operation, OperationFilter } from './operation.ts';

/** Whether a new operation belongs to the list. Times are not looked at: it is of now. */
export const isWanted = (operation: Operation, filter: OperationFilter): boolean =>
  (filter.dateTo === undefined || Date.parse(filter.dateTo) >= Date.parse(operation.creationTime ?? '')) &&
  (filter.deviceId ?? operation.deviceId) === operation.deviceId &&
  (filter.status ?? operation.status) === operation.status &&
  (filter.bulkOperationId ?? operation.bulkOperationId) === operation.bulkOperationId &&
  (filter.fragmentType === undefined || Object.hasOwn(operation, filter.fragmentType));

/** @param filter of one device: its new operations are shown at once, on the first page. */
export function useOperations(filter: OperationFilter, page: number): List<Operation> {
  const list = useList({
    load: (number, signal, size) => listOperations(filter, number, signal, size),
    count: (signal) => countOperations(filter, signal),
    keyOf: ({ id }) => id,
    page,
    inputs: [JSON.stringify(filter)],
  });
  const isDenied = useLive([`/operations/${filter.deviceId ?? '*'}`], {
    onMessages: (messages) => {
      let isReloadWanted = false;
      for (const message of messages) {
        const change = changeOf(message);
        if (change === undefined) continue;
        const operation = change.data as Operation;
        if (change.realtimeAction === 'DELETE') list.take(String(operation.id ?? operation), undefined, false);
        else if (change.realtimeAction === 'UPDATE')
          list.take(operation.id, operation, false, !isWanted(operation, filter));
        else if (page === 1 && isWanted(operation, filter)) {
          if (filter.deviceId === undefined) list.take(operation.id, operation, true);
          else isReloadWanted = true;
        }
      }
      if (isReloadWanted) list.reload();
    },
    onGap: list.reload,
  });
  usePoll(LOOK_MS, isDenied ? list.look : undefined);
  return list;
}
