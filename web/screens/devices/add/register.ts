/** Registers one device: user, object and external ID at once, with a password that is made here and shown once. */
import { api, got } from '../../../core/api/api.ts';
import { ApiError } from '../../../core/api/error.ts';
import { sendRaw } from '../../../core/api/send.ts';

const SERIAL_TYPE = 'c8y_Serial';

interface BulkAnswer {
  readonly numberOfFailed: number;
  readonly failedCreationList?: readonly { readonly failureReason?: string }[];
}

/** A cell of the file; quotes keep separators apart. */
const cell = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** The object with the serial number; undefined where there is none. @throws ApiError. */
export async function deviceWith(serial: string): Promise<string | undefined> {
  const path = { type: SERIAL_TYPE, externalId: serial };
  const call = api.GET('/identity/externalIds/{type}/{externalId}', { params: { path } });
  try {
    return ((await got(call)) as unknown as { managedObject: { id: string } }).managedObject.id;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * @param device its serial number is of no device yet: the server would give that the new password.
 * @returns the id of the new object. @throws ApiError with the reason of the line.
 */
export async function registerDevice(device: {
  readonly clientId: string;
  readonly name: string;
  readonly password: string;
}): Promise<string> {
  const { clientId, name, password } = device;
  // An agent takes operations.
  const columns = 'ID;CREDENTIALS;TYPE;NAME;com_platform_model_Agent.active';
  const lines = [columns, [clientId, password, 'trial', name, 'true'].map(cell).join(';')];
  const form = new FormData();
  form.set('file', new Blob([lines.join('\n')], { type: 'text/csv' }), 'device.csv');
  const path = '/devicecontrol/bulkNewDeviceRequests';
  const answer = (await (await sendRaw(path, { method: 'POST', body: form })).json()) as BulkAnswer;
  const source = answer.numberOfFailed > 0 ? undefined : await deviceWith(clientId);
  if (source !== undefined) return source;
  const message = answer.failedCreationList?.[0]?.failureReason ?? '';
  throw new ApiError({ status: 422, error: '', message, method: 'POST', url: path });
}
