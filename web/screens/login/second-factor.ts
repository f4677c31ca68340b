/** Setting up one-time codes: before the login, with the password, and in a session, whose password is asked for. */
import { changeJson, getJson } from '../../core/api/json.ts';
import { plainRequest } from '../../core/login/login.ts';
import type { Credentials } from '../../core/login/login.ts';

export interface Secret {
  readonly rawSecret: string;
  /** A picture as a data URL. */
  readonly secretQrUrl: string;
}

const PATH = '/user/currentUser/totpSecret';

function post(path: string, { name, password }: Credentials, body: object): Promise<unknown> {
  const credentials = btoa(String.fromCharCode(...new TextEncoder().encode(`${name}:${password}`)));
  return plainRequest(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Basic ${credentials}` },
    body: JSON.stringify(body),
  });
}

/** A new secret, which the old one gives way to when it is activated. @throws ApiError. */
export const newSecret = async (credentials: Credentials): Promise<Secret> =>
  (await post(PATH, credentials, {})) as Secret;

/** Checks the code of the app, then makes logins ask for one. @throws ApiError. */
export async function activateSecret(credentials: Credentials): Promise<void> {
  await post(`${PATH}/verify`, credentials, { code: credentials.code });
  await post(`${PATH}/activity`, credentials, { isActive: true });
}

/** Of a session. @throws ApiError. */
export const readActivity = (signal: AbortSignal): Promise<{ readonly isActive: boolean }> =>
  getJson(`${PATH}/activity`, signal);

/** As `newSecret`, in a session. @throws ApiError. */
export const newOwnSecret = async (): Promise<Secret> => (await changeJson<Secret>('POST', PATH, {})) as Secret;

/** As `activateSecret`, in a session. @throws ApiError. */
export async function activateOwnSecret(code: string, currentUserPassword: string): Promise<void> {
  await changeJson('POST', `${PATH}/verify`, { code });
  await changeJson('POST', `${PATH}/activity`, { isActive: true, currentUserPassword });
}
