/**
 * The page at `/apps/public/login/` of tenants without an application of their own there: web applications send their
 * users to it (docs/spec/login.md#page). It also sets up the one-time codes of users who have to have them.
 */
import { PlatformError } from '../../model/errors.ts';
import { htmlPage } from '../request/html-page.ts';

/** The server's message of an error, as text of the script. */
const message = (code: 'login/tfa-code-required' | 'login/tfa-setup-required'): string =>
  JSON.stringify(new PlatformError(code).message);

/** Another node of a cluster learns of new one-time codes within a second. */
const RETRIES = 3;
const RETRY_MS = 700;

/**
 * Where the application wants its user back is in the session's storage: only a page of this origin is gone to. Older
 * credentials that applications keep there and elsewhere win over the cookie, so they go.
 */
const SCRIPT = `const root = new URL('../../../', location.href);
const input = (id) => document.getElementById(id);
const credentials = () => ({ username: input('user').value, password: input('password').value });
const basic = () => {
  const { username, password } = credentials();
  return 'Basic ' + btoa(String.fromCharCode(...new TextEncoder().encode(username + ':' + password)));
};
const secret = (path, body) => call(new URL('user/currentUser/totpSecret' + path, root), {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: basic() },
  body: JSON.stringify(body),
});
let isSettingUp = false;
const askForCode = (text) => {
  input('codes').hidden = false;
  input('code').required = true;
  input('code').focus();
  say(text);
};
const setUp = async () => {
  const { body, fault } = await secret('', {});
  if (fault !== undefined) return say(fault);
  isSettingUp = true;
  input('picture').src = body.secretQrUrl;
  input('secret').textContent = body.rawSecret;
  input('setup').hidden = false;
  askForCode('Logging in takes one-time codes. Add the secret to your authenticator app, then enter a code of the app.');
};
const confirmed = async () => {
  const checked = await secret('/verify', { code: input('code').value.trim() });
  const { fault } = checked.fault === undefined ? await secret('/activity', { isActive: true }) : checked;
  if (fault !== undefined) say(fault);
  else { isSettingUp = false; input('setup').hidden = true; }
  return fault === undefined;
};
const target = () => {
  const path = sessionStorage.getItem('c8yRedirectAfterLoginPath');
  sessionStorage.removeItem('c8yRedirectAfterLoginPath');
  if (path === null || !URL.canParse(path, location.origin)) return undefined;
  const url = new URL(path, location.origin);
  return url.origin === location.origin && url.pathname !== location.pathname ? url : undefined;
};
const loggedIn = () => {
  for (const name of ['_tcy8', 'TFAToken', 'bearerAuthToken', 'bearerAuthTokenKeep'])
    for (const storage of [localStorage, sessionStorage]) storage.removeItem(name);
  const url = target();
  form.hidden = true;
  if (url !== undefined) return location.replace(url);
  say('You are logged in. Open the page of an application to go on.');
};
const logIn = async (fields, retries) => {
  const { fault } = await call(new URL('tenant/oauth', root), { method: 'POST', body: new URLSearchParams(fields) });
  if (fault === undefined || retries === 0) return fault;
  await new Promise((resolve) => setTimeout(resolve, ${RETRY_MS}));
  return logIn(fields, retries - 1);
};
onSubmit(async () => {
  say('Logging in …');
  const isNew = isSettingUp;
  if (isNew && !(await confirmed())) return;
  const fields = { grant_type: 'PASSWORD', ...credentials() };
  if (!input('codes').hidden) fields.tfa_code = input('code').value.trim();
  const fault = await logIn(fields, isNew ? ${RETRIES} : 0);
  if (fault === undefined) return loggedIn();
  input('code').value = '';
  if (fault === ${message('login/tfa-setup-required')}) return setUp();
  if (fault === ${message('login/tfa-code-required')}) return askForCode('Enter the one-time code of your authenticator app.');
  say(fault);
});`;

export const LOGIN_PAGE = htmlPage({
  title: 'Log in',
  form:
    `<label for="user">User name</label><input id="user" autocomplete="username" autocapitalize="none" required autofocus>` +
    `<label for="password">Password</label><input id="password" type="password" autocomplete="current-password" required>` +
    `<div id="setup" hidden><img id="picture" alt="QR code of the secret"><p>Secret: <code id="secret"></code></p></div>` +
    `<div id="codes" hidden><label for="code">One-time code</label>` +
    `<input id="code" inputmode="numeric" autocomplete="one-time-code"></div><button>Log in</button>`,
  script: SCRIPT,
});
