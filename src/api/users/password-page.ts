/**
 * The page that the links of mails lead to: it sets a new password with the token of the link
 * (docs/spec/users.md). Self-contained; nothing but its own script runs, and it talks to this server only.
 */
import { createHash } from 'node:crypto';
import type { Answer } from '../request/answer.ts';

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:4rem auto;padding:0 1rem}
label{display:block;margin:1rem 0 .25rem}input{box-sizing:border-box;width:100%;font:inherit;padding:.5rem}
button{font:inherit;margin-top:1.5rem;padding:.5rem 1.25rem}[role=status]{min-height:1.5rem;margin-top:1rem}`;

// The address bar and the history lose the token at once: it is as good as the password until it is used.
const SCRIPT = `const link = new URLSearchParams(location.search);
history.replaceState(null, '', location.pathname);
const form = document.querySelector('form');
const status = document.querySelector('[role=status]');
const tenant = '?tenantId=' + encodeURIComponent(link.get('tenantId') ?? '');
const call = async (path, options) => {
  const answer = await fetch(path, options);
  if (answer.ok) return undefined;
  const { message } = await answer.json().catch(() => ({}));
  return message ?? 'The server answered with ' + answer.status + '.';
};
const say = (text) => { status.textContent = text; };
const failed = () => say('The server could not be reached. Try again.');
document.querySelector('[autocomplete=username]').value = link.get('email') ?? '';
const query = new URLSearchParams({ token: link.get('token') ?? '', email: link.get('email') ?? '' });
call('user/passwordReset/validate' + tenant + '&' + query).then((fault) => {
  if (fault === undefined) return;
  form.hidden = true;
  say(fault + '. Ask for a new link.');
}, failed);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const [newPassword, again] = ['new', 'again'].map((id) => document.getElementById(id).value);
  if (newPassword !== again) return say('The two passwords differ.');
  const button = form.querySelector('button');
  button.disabled = true;
  say('Setting your password …');
  try {
    const fault = await call('user/passwordReset' + tenant, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: link.get('token'), email: link.get('email'), newPassword }),
    });
    form.hidden = fault === undefined;
    say(fault ?? 'Your password is set. You can log in with it now.');
  } catch {
    failed();
  }
  button.disabled = false;
});`;

const PAGE =
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<meta name="referrer" content="no-referrer"><title>Set your password</title><style>${STYLE}</style></head><body>` +
  `<h1>Set your password</h1><form><input autocomplete="username" aria-label="E-mail address" readonly>` +
  `<label for="new">New password</label><input id="new" type="password" autocomplete="new-password" required>` +
  `<label for="again">The same again</label><input id="again" type="password" autocomplete="new-password" required>` +
  `<button>Set password</button></form><p role="status"></p><script>${SCRIPT}</script></body></html>`;

const scriptHash = createHash('sha256').update(SCRIPT).digest('base64');

const HEADERS: readonly string[] = [
  'Content-Security-Policy',
  `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${scriptHash}'; connect-src 'self'; form-action 'none'; ` +
    "base-uri 'none'; frame-ancestors 'none'",
  'Referrer-Policy',
  'no-referrer',
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
];

/** For every link the same: the page reads token, address and tenant from its own URL. */
export const passwordPage = (): Answer => ({
  status: 200,
  text: PAGE,
  contentType: 'text/html;charset=UTF-8',
  headers: HEADERS,
});
