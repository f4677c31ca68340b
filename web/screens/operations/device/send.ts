/** Sending an operation to the device of a tab. */
import { useAction } from '../../../core/api/request.ts';
import type { Action } from '../../../core/api/request.ts';
import { notify } from '../../../core/notices.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { connectionOf } from '../../../parts/badge.tsx';
import { createOperation } from '../operation.ts';
import { words } from '../text.ts';

/** Says whether the device gets it at once or when it comes back. */
export const notifySent = (device: ManagedObject): void =>
  notify(connectionOf(device) === 'DISCONNECTED' ? words().sentOffline : words().sent);

/** An action that sends the operation that it is given. */
export const useSend = (device: ManagedObject): Action<[body: Readonly<Record<string, unknown>>]> =>
  useAction(async (body: Readonly<Record<string, unknown>>) => {
    await createOperation(device.id, body);
    notifySent(device);
  });

/** The operation that brings a file to the device. */
export const downloadOperation = (url: string, type: string): Record<string, unknown> => ({
  c8y_DownloadConfigFile: { url, ...(type === '' ? {} : { type }) },
});
