/**
 * Who is logged in. A cookie of OAuth-internal with its XSRF token is the usual way, which no script can read. Where a
 * tenant offers Basic only, the credentials stay in the memory of this page: applications that the server hosts have the
 * same origin, so they could read what is stored, and ask a shared worker.
 */
import { signal } from '@preact/signals';

export interface CurrentUser {
  readonly id: string;
  readonly userName: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  readonly shouldResetPassword?: boolean;
  readonly effectiveRoles?: readonly { readonly id: string }[];
  readonly customProperties?: Readonly<Record<string, unknown>>;
}

export interface CurrentTenant {
  readonly name: string;
  readonly domainName?: string;
}

export const user = signal<CurrentUser | undefined>(undefined);
export const tenant = signal<CurrentTenant | undefined>(undefined);
/** `t1/admin`, as other clients log in. */
export const userWithTenant = (): string => `${tenant.value?.name ?? ''}/${user.value?.userName ?? ''}`;
/** The page asks for a login, in place: what is open stays open behind it. */
export const isLoginAsked = signal(false);
/** The user has to set a new password before anything else. */
export const isPasswordChangeAsked = signal(false);

/** User and password in Base64. */
let basic: string | undefined;
/** Stands for a one-time code beside Basic (docs/spec/login.md#two-factors). */
let codeToken: string | undefined;
/** Requests that wait for the login. */
let waiting: (() => void)[] = [];

/** Resolves when a person has logged in. */
export function askForLogin(): Promise<void> {
  isLoginAsked.value = true;
  return new Promise((resolve) => waiting.push(resolve));
}

let logins = 0;
/** How many logins this page has seen. */
export const loginCount = (): number => logins;

/** The login has succeeded: what waited goes on. */
export function loginDone(): void {
  logins += 1;
  isLoginAsked.value = false;
  const go = waiting;
  waiting = [];
  for (const one of go) one();
}

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** Keeps Basic credentials until the page is left. @param name with `<tenant>/` where the host does not tell the tenant. */
export function keepBasic(name: string, password: string): void {
  basic = base64(`${name}:${password}`);
}

export function keepCodeToken(token: string): void {
  codeToken = token;
}

export function forgetBasic(): void {
  basic = codeToken = undefined;
}

/** After a change of the password: where Basic is in use, requests go on with the new one. */
export function renewBasic(password: string): void {
  if (basic === undefined) return;
  const text = new TextDecoder().decode(Uint8Array.from(atob(basic), (letter) => letter.charCodeAt(0)));
  keepBasic(text.slice(0, text.indexOf(':')), password);
}

/** This tab has a login of its own: the others do not share it. */
export const isBasic = (): boolean => basic !== undefined;

let cookieText: string | undefined;

/** What scripts repeat of the login's cookies. Requests that leave together ask the browser's other process once. */
function xsrfToken(): string | undefined {
  if (cookieText === undefined) {
    cookieText = document.cookie;
    queueMicrotask(() => (cookieText = undefined));
  }
  const value = /(?:^|;\s*)XSRF-TOKEN=([^;]*)/.exec(cookieText)?.[1];
  return value === undefined ? undefined : decodeURIComponent(value);
}

/** Headers of every request; without a challenge, which a browser would answer with a window of its own. */
export function sessionHeaders(): Record<string, string> {
  const token = xsrfToken();
  return {
    UseXBasic: 'true',
    ...(basic === undefined ? {} : { Authorization: `Basic ${basic}` }),
    ...(token === undefined ? {} : { 'X-XSRF-TOKEN': token }),
    ...(codeToken === undefined ? {} : { TFAToken: codeToken }),
  };
}

/** `ext` of a Bayeux handshake (docs/spec/realtime.md#authentication). */
export function handshakeExtension(): Record<string, unknown> {
  const token = xsrfToken();
  return {
    'com.platform.authn': {
      ...(basic === undefined ? {} : { token: basic }),
      ...(token === undefined ? {} : { xsrfToken: token }),
      ...(codeToken === undefined ? {} : { tfa: codeToken }),
    },
  };
}

/** Credentials in the query of a WebSocket, whose headers a page cannot set (docs/spec/remote-access.md#credentials). */
export function socketQuery(): Record<string, string> {
  const token = xsrfToken();
  return {
    ...(basic === undefined ? {} : { token: basic }),
    ...(token === undefined ? {} : { 'XSRF-TOKEN': token }),
  };
}
