/** The page that the links of mails lead to: it sets a new password with the token of the link (docs/spec/users.md). */
import { htmlPage } from '../request/html-page.ts';

// The address bar and the history lose the token at once: it is as good as the password until it is used.
const SCRIPT = `const link = new URLSearchParams(location.search);
history.replaceState(null, '', location.pathname);
const tenant = '?tenantId=' + encodeURIComponent(link.get('tenantId') ?? '');
document.querySelector('[autocomplete=username]').value = link.get('email') ?? '';
const query = new URLSearchParams({ token: link.get('token') ?? '', email: link.get('email') ?? '' });
call('user/passwordReset/validate' + tenant + '&' + query).then(({ fault }) => {
  if (fault === undefined) return;
  form.hidden = true;
  say(fault + '. Ask for a new link.');
}, failed);
onSubmit(async () => {
  const [newPassword, again] = ['new', 'again'].map((id) => document.getElementById(id).value);
  if (newPassword !== again) return say('The two passwords differ.');
  say('Setting your password …');
  const { fault } = await call('user/passwordReset' + tenant, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: link.get('token'), email: link.get('email'), newPassword }),
  });
  form.hidden = fault === undefined;
  say(fault ?? 'Your password is set. You can log in with it now.');
});`;

/** For every link the same: the page reads token, address and tenant from its own URL. */
export const PASSWORD_PAGE = htmlPage({
  title: 'Set your password',
  form:
    `<input autocomplete="username" aria-label="E-mail address" readonly>` +
    `<label for="new">New password</label><input id="new" type="password" autocomplete="new-password" required>` +
    `<label for="again">The same again</label><input id="again" type="password" autocomplete="new-password" required>` +
    `<button>Set password</button>`,
  script: SCRIPT,
});
