/** Which tabs a device has by what it says it can do, and the row that says it. */
import { supportedOperations } from '../../../core/server/managed-object.ts';
import { rowText } from '../../../core/text/rows.ts';

type Device = Readonly<Record<string, unknown>>;

/** The operations that each tab sends; a device that takes any of them has the tab. */
export const CAPABILITIES = {
  shell: ['c8y_Command'],
  configuration: ['c8y_UploadConfigFile', 'c8y_DownloadConfigFile', 'c8y_Configuration', 'c8y_SendConfiguration'],
  software: ['c8y_SoftwareUpdate', 'c8y_SoftwareList'],
  firmware: ['c8y_Firmware'],
  logs: ['c8y_LogfileRequest'],
  remote: ['c8y_RemoteAccessConnect'],
} as const;
export type Capability = keyof typeof CAPABILITIES;

export const isCapable = (device: Device, capability: Capability): boolean => {
  const known = supportedOperations(device);
  return CAPABILITIES[capability].some((name) => known.includes(name));
};

/** The row 114 with all that the device takes and these; the list replaces the one before. */
export const supportRow = (device: Device, added: readonly string[]): string =>
  rowText(['114', ...new Set([...supportedOperations(device), ...added])]);

/** The same over REST. */
export const supportBody = (device: Device, added: readonly string[]): string =>
  JSON.stringify({ c8y_SupportedOperations: [...new Set([...supportedOperations(device), ...added])] }, null, 2);
