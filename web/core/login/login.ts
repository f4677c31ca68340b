/** Logging in and out. */
import { startLive } from '../live/live.ts';
import { setPreferences, preferencesOf, preferences, takeTenantSettings } from '../preferences.ts';
import { serverUrl } from '../places.ts';
import { api, got } from '../api/api.ts';
import { ApiError, refusalOf } from '../api/error.ts';
import { getJson } from '../api/json.ts';
import { contentOf, retrySecondsOf, sendRaw } from '../api/send.ts';
import {
  forgetBasic,
  isBasic,
  isLoginAsked,
  isPasswordChangeAsked,
  keepBasic,
  keepCodeToken,
  loginDone,
  sessionHeaders,
  tenant,
  user,
} from '../api/session.ts';
import type { CurrentTenant, CurrentUser } from '../api/session.ts';

/** Changes with each login by cookie and each logout: other tabs hear of it. */
const LOGIN_KEY = 'millrace.login';
const LOGOUT = 'out ';

interface PlainAnswer {
  readonly content: unknown;
  readonly headers: Headers;
}

async function plainAnswer(path: string, init: RequestInit): Promise<PlainAnswer> {
  const url = serverUrl(path);
  const method = init.method ?? 'GET';
  let response: Response;
  try {
    response = await fetch(url, {
      ...init,
      headers: { Accept: 'application/json', UseXBasic: 'true', ...init.headers },
    });
  } catch {
    throw new ApiError({ status: 0, error: '', message: '', method, url });
  }
  const content = await contentOf(response);
  if (!response.ok)
    throw new ApiError(refusalOf(response.status, content, { method, url, retrySeconds: retrySecondsOf(response) }));
  return { content, headers: response.headers };
}

/** A request of the login itself: its 401 is an answer, not a reason to log in. @throws ApiError. */
export const plainRequest = async (path: string, init: RequestInit = {}): Promise<unknown> =>
  (await plainAnswer(path, init)).content;

export interface LoginOption {
  readonly type: string;
  readonly visibleOnLoginPage?: boolean;
  readonly initRequest?: string;
}

/** Ways to log in that the tenant of this host offers. @throws ApiError. */
export async function loginOptions(): Promise<readonly LoginOption[]> {
  const { loginOptions: options } = (await plainRequest('/tenant/loginOptions')) as { loginOptions: LoginOption[] };
  return options;
}

export interface Credentials {
  readonly name: string;
  readonly password: string;
  readonly code?: string;
}

/** Logs in with cookies of OAuth-internal. @throws ApiError: 401 with the server's reason. */
export async function logInByCookie({ name, password, code }: Credentials): Promise<void> {
  const form = new URLSearchParams({ grant_type: 'PASSWORD', username: name, password });
  if (code !== undefined && code !== '') form.set('tfa_code', code);
  forgetBasic();
  await plainRequest('/tenant/oauth', { method: 'POST', body: form });
  await enter();
  tellTabs('');
}

/** @param what LOGOUT, or '' for a login. */
const tellTabs = (what: string): void => localStorage.setItem(LOGIN_KEY, `${what}${Date.now()}`);

/** A login in another tab is one of this tab too, also of a tab that has asked for nothing since the last one. */
export function followLogins(): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key !== LOGIN_KEY) return;
    if (newValue?.startsWith(LOGOUT) === true) {
      // Of a cookie, which all tabs share: a Basic login is this tab's own.
      if (!isBasic()) askAnew();
      return;
    }
    // Where the other tab's login is none here, this tab goes on asking for its own.
    enter().catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
    });
  });
}

/** Logs in with Basic, until the page is left, with what stands for a one-time code. @throws ApiError. */
export async function logInByBasic({ name, password, code }: Credentials): Promise<void> {
  forgetBasic();
  keepBasic(name, password);
  try {
    if (code !== undefined && code !== '') {
      const { headers } = await plainAnswer('/user/currentUser/totpSecret/verify', {
        method: 'POST',
        headers: { ...sessionHeaders(), 'Content-Type': 'application/json' },
        body: JSON.stringify({ code }),
      });
      const token = headers.get('TFAToken');
      if (token !== null) keepCodeToken(token);
    }
    await plainRequest('/user/currentUser', { headers: sessionHeaders() });
  } catch (error) {
    forgetBasic();
    throw error;
  }
  await enter();
}

/**
 * Loads who is logged in, then lets go on what waited. Another user than before, or that of another tenant, gets a fresh page, with Basic one that asks
 * for the login again.
 */
async function enter(): Promise<void> {
  const before = user.peek();
  const headers = sessionHeaders();
  const [entered, own] = await Promise.all([
    plainRequest('/user/currentUser', { headers }) as Promise<CurrentUser>,
    plainRequest('/tenant/currentTenant', { headers }) as Promise<CurrentTenant>,
  ]);
  const isOther = before?.userName !== entered.userName || tenant.peek()?.name !== own.name;
  if (before !== undefined && isOther) return location.reload();
  take(entered, own);
  loginDone();
}

/** Screens begin with the user, and ask for what is of the tenant. */
function take(entered: CurrentUser, own: CurrentTenant): void {
  tenant.value = own;
  user.value = entered;
  if (entered.shouldResetPassword === true) isPasswordChangeAsked.value = true;
  const kept = entered.customProperties?.['console'];
  // Of another browser; what this one has chosen since is there too, as each change is stored in both.
  if (kept !== undefined) setPreferences(preferencesOf({ ...preferences.peek(), ...(kept as object) }));
  startLive();
}

/** At the start of the page: who is logged in, or the login. */
export async function startSession(): Promise<void> {
  void readTenantSettings();
  const [loaded, own] = await Promise.all([got(api.GET('/user/currentUser')), got(api.GET('/tenant/currentTenant'))]);
  if (user.peek() === undefined) take(loaded as unknown as CurrentUser, own as CurrentTenant);
}

/** Nothing waits for them: until they are there, or where the server does not tell them, the usual ones hold. */
async function readTenantSettings(): Promise<void> {
  try {
    takeTenantSettings(await getJson<Record<string, string>>('/tenant/system/options/console'));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

/** Ends the session, here and in other tabs, which share its cookie. @throws ApiError. */
export async function logOut(): Promise<void> {
  const headers = sessionHeaders();
  const isShared = !isBasic();
  // First: whatever the server says, this tab is logged out.
  forgetBasic();
  try {
    await plainRequest('/user/logout', { method: 'POST', headers });
  } catch (error) {
    // Another tab has ended the session.
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  }
  if (isShared) tellTabs(LOGOUT);
  askAnew();
}

/** Ends all sessions of the user; where this one has ended, the person logs in first. @throws ApiError. */
export async function logOutEverywhere(): Promise<void> {
  await sendRaw('/user/logout?everywhere=true', { method: 'POST' });
  forgetBasic();
  tellTabs(LOGOUT);
  askAnew();
}

function askAnew(): void {
  isLoginAsked.value = true;
  location.reload();
}
