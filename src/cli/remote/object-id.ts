/** How commands find the device that their user names. */
import { CommandError } from '../../operate/exit-codes.ts';
import type { RemoteApi } from './client.ts';

/** @param device a serial, or an id. @throws CommandError when it is neither. */
export async function objectIdOf(api: RemoteApi, device: string): Promise<string> {
  const bySerial = await api.find(`/identity/externalIds/c8y_Serial/${encodeURIComponent(device)}`);
  if (bySerial !== undefined) return String(bySerial.managedObject.id);
  const byId = /^\d+$/.test(device) ? await api.find(`/inventory/managedObjects/${device}`) : undefined;
  if (byId !== undefined) return String(byId.id);
  throw new CommandError(`no device has the serial or id ${device}`);
}
