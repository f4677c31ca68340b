/**
 * Web applications below /apps/public/ and the page that logs their users in (docs/spec/login.md#page), in a browser:
 * where it leads, wrong passwords, one-time codes and their set-up.
 */
import { once } from 'node:events';
import { decodeJwt } from 'jose';
import { Secret, TOTP } from 'otpauth';
import { WebSocket } from 'ws';
import type { Page } from 'playwright-core';
import t from 'tap';
import type { Test } from 'tap';
import { BROWSER, launchBrowser } from '../../helpers/browser.ts';
import { Rest, TENANT, startServer } from '../../helpers/running/server.ts';
import { missing } from '../../helpers/tools.ts';
import { archiveForm, zipOf } from '../../helpers/zip.ts';
import type { ZipFiles } from '../../helpers/zip.ts';

const server = await startServer(t);
const { rest, management } = server;
const APPS = '/application/applications';
const LOGIN = '/apps/public/login/';
const PASSWORD = 'Analytical-1';
/** Does at its start what applications of the public web SDK do. */
const APPLICATION = `<!doctype html><title>app</title><link rel="icon" href="data:,"><p></p><script type="module">
const [, xsrf = ''] = /XSRF-TOKEN=([^;]*)/.exec(document.cookie) ?? [];
const answer = await fetch('/user/currentUser', { headers: { 'x-xsrf-token': xsrf, usexbasic: 'true', accept: 'application/json' } });
if (answer.ok) document.querySelector('p').textContent = 'hello ' + (await answer.json()).userName;
else {
  sessionStorage.setItem('c8yRedirectAfterLoginPath', location.pathname + location.search + location.hash);
  location.href = '${LOGIN}' + location.search;
}
</script>`;

let count = 0;
async function deploy(contextPath: string, text: string, version?: object): Promise<string> {
  count += 1;
  const name = `app-${count}`;
  const { id } = await rest.create(APPS, { key: name, name, type: 'HOSTED', contextPath });
  await upload(id, text, version);
  return id;
}
async function upload(
  id: string,
  content: string | ZipFiles,
  version?: object,
  user = `${TENANT}/admin`,
): Promise<void> {
  const zip = await zipOf(typeof content === 'string' ? { 'index.html': content } : content);
  const response = await fetch(`${server.url}${APPS}/${id}/${version === undefined ? 'binaries' : 'versions'}`, {
    method: 'POST',
    body:
      version === undefined
        ? archiveForm(zip)
        : archiveForm(zip, { applicationVersion: JSON.stringify(version) }, 'applicationBinary'),
    headers: {
      authorization: `Basic ${btoa(`${user}:${user.startsWith(TENANT) ? 'mill-Race-7' : PASSWORD}`)}`,
      accept: 'application/json',
    },
  });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
}
const open = (path: string): Promise<Response> => fetch(server.url + path, { redirect: 'manual' });
const codeOf = (secret: string, timestamp = Date.now()): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });

t.test('the same files below /apps/public/, without a login', async (t) => {
  const id = await deploy('web', 'first', { version: '1.0.0', tags: ['app-cockpit'] });
  await upload(id, 'second', { version: '2.0.0', tags: ['latest'] });
  for (const [path, status, text] of [
    ['/apps/public/web/', 200, 'second'],
    ['/apps/public/web/index.html?nocache=1', 200, 'second'],
    ['/apps/public/web@app-cockpit/index.html', 200, 'first'],
    ['/apps/public/web@1.0.0/', 200, 'first'],
    ['/apps/public/web@other/', 404],
    ['/apps/public/web/none.json', 404],
    ['/apps/public/none/', 404],
    ['/apps/public/', 404],
    ['/apps/login/', 404],
    [`${LOGIN}none.js`, 404],
  ] as const) {
    const response = await open(path);
    t.equal(response.status, status, path);
    if (text !== undefined) t.equal(await response.text(), text, path);
  }
  t.equal((await open('/apps/public/web')).headers.get('location'), `${server.url}/apps/public/web/`);
  const refused = await rest.post(APPS, { key: 'p', name: 'p', type: 'HOSTED', contextPath: 'public' });
  t.equal(refused.status, 422);
  t.match(refused.json.message, /contextPath has the value public/);
});

t.test('on hosts of tenants a cookie of another tenant opens none of its pages, and logs nobody in', async (t) => {
  const admin = { adminName: 'ada', adminEmail: 'ada@example.com', adminPass: PASSWORD };
  for (const id of ['evil', 'victim'])
    await management.create('/tenant/tenants', { id, company: id, domain: `${id}-d`, ...admin });
  const evil = new Rest(server.url, 'evil/ada', PASSWORD);
  const { id } = await evil.create(APPS, { key: 'trap', name: 'trap', type: 'HOSTED', contextPath: 'trap' });
  await upload(id, 'trap', undefined, 'evil/ada');
  const logIn = (user: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${server.url}/tenant/oauth`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'PASSWORD', username: user, password: PASSWORD }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    });
  const cookieOf = async (user: string): Promise<string> =>
    (await logIn(user)).headers.getSetCookie().map((one) => one.split(';')[0])[0];
  const elsewhere = await logIn('evil/ada', { 'x-forwarded-host': 'victim-d.example.com' });
  t.equal(elsewhere.status, 403, 'a cookie that would not count is not given');
  t.match(await elsewhere.text(), /This host is that of the tenant victim/);
  t.same(elsewhere.headers.getSetCookie(), []);
  const [foreign, own] = [await cookieOf('evil/ada'), await cookieOf('victim/ada')];
  const asked = async (host: string, path: string, cookie: string): Promise<number> =>
    (await fetch(server.url + path, { headers: { 'x-forwarded-host': host, cookie }, redirect: 'manual' })).status;
  t.equal(await asked('evil-d.example.com', '/apps/trap/', foreign), 200);
  t.equal(await asked('victim-d.example.com', '/apps/trap/', foreign), 404);
  t.equal(await asked('victim-d.example.com', '/apps/trap/', `${foreign}; ${own}`), 404);
  t.equal(await asked('iot.example.com', '/apps/trap/', foreign), 404, 'nor that of the host of no tenant');
  const userAt = async (host: string, cookie: string): Promise<unknown> => {
    const xsrf = decodeJwt(own.slice(own.indexOf('=') + 1))['xsrfToken'] as string;
    const headers = { 'x-forwarded-host': host, cookie, 'x-xsrf-token': xsrf, accept: 'application/json' };
    const answer = await fetch(`${server.url}/tenant/currentTenant`, { headers });
    return answer.ok ? ((await answer.json()) as { name: string }).name : answer.status;
  };
  t.equal(await userAt('victim-d.example.com', own), 'victim');
  t.equal(await userAt('victim-d.example.com', `${foreign}; ${own}`), 'victim', 'one that another page has set first');
  t.equal(await userAt('evil-d.example.com', own), 401, 'at another host');
  // The id of a tenant is no host of it: the WebSocket is refused for that, which is no fault of the server.
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/notification/realtime`, {
    headers: { 'x-forwarded-host': 'victim.example.com', cookie: `${foreign}; ${own}` },
  });
  t.match(String((await once(socket, 'close'))[1]), /The tenant id victim is not a domain/);
});

t.test('branding and translations are read at the start of every application, also where there are none', async (t) => {
  const read = async (path: string): Promise<unknown> => {
    const response = await open(`/apps/public/${path}?nocache=1`);
    return response.status === 200 ? response.json() : response.status;
  };
  t.same(await read('public-options@app-web/options.json'), {});
  t.same(await read('public-options/other.json'), 404);
  t.same(await read('user-defined-translations/pt_BR.json'), {});
  t.equal((await open('/apps/public-options/options.json')).status, 404);
  const { id } = await rest.create(APPS, { key: 'b', name: 'b', type: 'HOSTED', contextPath: 'public-options' });
  await upload(id, { 'options.json': '{"of":"all"}' }, { version: 'all-1', tags: ['latest'] });
  await upload(id, { 'options.json': '{"of":"web"}' }, { version: 'web-1', tags: ['app-web'] });
  t.same(await read('public-options@app-web/options.json'), { of: 'web' });
  t.same(await read('public-options@app-other/options.json'), { of: 'all' });
  t.same(await read('public-options@web-2/options.json'), 404);
  t.match(Object.fromEntries((await open('/favicon.ico')).headers), { 'content-type': 'image/png' });
});

t.test('the page to log in gives way to an application of the tenant, and sends links of mails on', async (t) => {
  t.equal((await open('/apps/public/login')).headers.get('location'), server.url + LOGIN);
  const page = await open(LOGIN);
  t.equal(page.status, 200);
  t.match(Object.fromEntries(page.headers), {
    'content-type': 'text/html;charset=UTF-8',
    'content-security-policy': /^default-src 'none'; .*script-src 'sha256-/,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  const link = await open(`${LOGIN}?token=a%26b&email=a%40b&next=//evil.example`);
  t.equal(link.status, 302);
  t.equal(link.headers.get('location'), `${server.url}/?token=a%26b&email=a%40b`);
  const id = await deploy('login', 'of the tenant');
  t.equal(await (await open(LOGIN)).text(), 'of the tenant');
  t.match((await management.get(LOGIN)).text, /<h1>Log in<\/h1>/, 'other tenants keep ours');
  t.equal((await rest.delete(`${APPS}/${id}`)).status, 204);
  await rest.create(APPS, { key: 'empty', name: 'empty', type: 'HOSTED', contextPath: 'login' });
  t.match(await (await open(LOGIN)).text(), /<h1>Log in<\/h1>/);
});

t.test('in a browser', { skip: missing(BROWSER) }, async (t) => {
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  await deploy('shop', APPLICATION);
  const START = '/apps/shop/index.html?colour=red#/devices';

  /** Of all pages, also what their own policies refuse. */
  const faults: string[] = [];
  const newPage = async (t: Test): Promise<Page> => {
    const context = await browser.newContext();
    const page = await context.newPage();
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 40[134]/.test(message.text())) faults.push(message.text());
    });
    t.teardown(() => context.close());
    return page;
  };
  const fill = async (page: Page, user: string, password = PASSWORD): Promise<void> => {
    await page.getByLabel('User name').fill(user);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button').click();
  };
  const says = (page: Page, text: string | RegExp): Promise<void> =>
    page.getByRole('status').filter({ hasText: text }).waitFor();

  t.test('from the application to the page, and back to where it was', async (t) => {
    await rest.create(`/user/${TENANT}/users`, { userName: 'ada', password: PASSWORD });
    const page = await newPage(t);
    await page.goto(server.url + START);
    await page.waitForURL(`${server.url}${LOGIN}?colour=red`);
    await page.evaluate(`localStorage.setItem('_tcy8', 'of an older login')`);
    await fill(page, 'ada', 'Wrong-<b>1</b>');
    await says(page, 'Bad credentials');
    await fill(page, `${TENANT}/ada`);
    await page.getByText('hello ada').waitFor();
    t.equal(page.url(), server.url + START);
    t.equal(await page.evaluate(`localStorage.getItem('_tcy8')`), null);
    t.equal(await page.evaluate(`sessionStorage.getItem('c8yRedirectAfterLoginPath')`), null);
  });

  t.test('to no other origin, no script, and not to itself', async (t) => {
    for (const path of ['https://evil.example/', '//evil.example/', 'javascript:alert(1)', LOGIN, 'http://[']) {
      const page = await newPage(t);
      await page.goto(server.url + LOGIN);
      await page.evaluate(`sessionStorage.setItem('c8yRedirectAfterLoginPath', ${JSON.stringify(path)})`);
      await fill(page, 'ada');
      await says(page, 'You are logged in');
      t.equal(page.url(), server.url + LOGIN, path);
    }
  });

  t.test('sets one-time codes up for who has to have them, and asks for one afterwards', async (t) => {
    await rest.create(`/user/${TENANT}/users`, {
      userName: 'bob',
      password: PASSWORD,
      twoFactorAuthenticationEnabled: true,
    });
    const first = await newPage(t);
    await first.goto(server.url + START);
    await first.waitForURL(/login/);
    await fill(first, 'bob');
    await says(first, 'Add the secret');
    t.equal(await first.evaluate("document.querySelector('img').naturalWidth > 0"), true, 'a QR code');
    const secret = await first.locator('code').innerText();
    await first.getByLabel('One-time code').fill('000000');
    await first.getByRole('button').click();
    await says(first, 'Invalid verification code');
    await first.getByLabel('One-time code').fill(codeOf(secret));
    await first.getByRole('button').click();
    await first.getByText('hello bob').waitFor();

    const second = await newPage(t);
    await second.goto(server.url + START);
    await second.waitForURL(/login/);
    await fill(second, 'bob');
    await says(second, 'Enter the one-time code');
    await second.getByLabel('One-time code').fill('000000');
    await second.getByRole('button').click();
    await says(second, 'TFA TOTP code is not valid');
    // The code of the first login is used up.
    await second.getByLabel('One-time code').fill(codeOf(secret, Date.now() + 30_000));
    await second.getByRole('button').click();
    await second.getByText('hello bob').waitFor();
  });

  t.test('no page had faults', async (t) => {
    t.same(faults, []);
  });
});
