/** What pages of other sites make a browser send by itself: a remembered password, a form that logs in, a WebSocket. */
import t from 'tap';
import { parseContentType } from '../../../src/api/http/media-types.ts';
import { isOfOtherOrigin, isSimpleType } from '../../../src/api/request/cross-site.ts';
import { ADMIN, startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';

const EVIL = 'https://evil.example';
const OBJECTS = '/inventory/managedObjects';
const FORM = {
  body: 'grant_type=PASSWORD&username=t1/admin&password=secret',
  type: 'application/x-www-form-urlencoded',
};

/** Headers of browsers for a page of `origin`; undefined leaves one out. */
const asPage = (
  site: string | undefined,
  origin: string | undefined,
  more: Record<string, string | undefined> = {},
): Record<string, string | undefined> => ({
  ...(site === undefined ? {} : { 'sec-fetch-site': site }),
  ...(origin === undefined ? {} : { origin }),
  ...more,
});

async function create(api: Api, headers: Record<string, string | undefined>, contentType?: string): Promise<number> {
  const body = Buffer.from('{"name":"a"}');
  const all = Object.entries({
    authorization: ADMIN,
    accept: 'application/json',
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...headers,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(`${api.url}${OBJECTS}`, { method: 'POST', body, headers: all });
  await response.text();
  return response.status;
}

t.test('a POST that a page sends without a preflight is refused with a remembered password', async (t) => {
  const api = await startApi(t);
  const rows: [
    headers: Record<string, string | undefined>,
    contentType: string | undefined,
    status: number,
    what: string,
  ][] = [
    [{}, undefined, 201, 'no browser'],
    [asPage('cross-site', EVIL), undefined, 403, 'without a Content-Type'],
    [
      asPage('same-site', 'https://other.iot.example'),
      undefined,
      403,
      'a host of the same domain may be of another tenant',
    ],
    [asPage('cross-site', undefined), undefined, 403, 'an origin that is not told'],
    [asPage(undefined, EVIL), undefined, 403, 'browsers on plain HTTP send an origin only'],
    [asPage(undefined, 'null'), undefined, 403, 'a frame in a sandbox'],
    [asPage(undefined, undefined, { referer: `${EVIL}/page` }), undefined, 403, 'or a referer only'],
    [asPage('same-origin', api.url), undefined, 201, 'a page of ours'],
    [asPage('none', undefined), undefined, 201, 'the user'],
    [asPage(undefined, api.url), undefined, 201, 'a page of ours on plain HTTP'],
    [asPage(undefined, undefined, { referer: `${api.url}/apps/web/` }), undefined, 201, 'by its referer'],
    [asPage('cross-site', EVIL), 'application/json', 201, 'a browser has asked before it sends JSON'],
    [asPage('cross-site', EVIL, { usexbasic: 'true' }), undefined, 201, 'or a header of ours'],
    [asPage('cross-site', EVIL, { authorization: 'Bearer x' }), undefined, 401, 'no browser adds a token by itself'],
  ];
  for (const [headers, contentType, status, what] of rows)
    t.equal(await create(api, headers, contentType), status, what);
  const upload = await api.call('POST', '/inventory/binaries', {
    body: '--x\r\n',
    headers: asPage('cross-site', EVIL, { 'content-type': 'multipart/form-data; boundary=x' }),
  });
  t.match(upload, {
    status: 403,
    json: {
      error: 'security/Forbidden',
      message: /https:\/\/evil\.example.*http\/cross-site.*access\.control\/allow\.origin/,
    },
  });
  t.equal(api.fake.counted.filter((limit) => limit === 'http/cross-site').length, 7);
  t.equal(
    (await api.call('GET', OBJECTS, { headers: asPage('cross-site', EVIL) })).status,
    200,
    'what changes nothing is as it was',
  );
});

t.test('an origin that the tenant names may; any host names none', async (t) => {
  const named = await startApi(t, { config: { allowOrigin: 'https://app.example' } });
  t.equal(await create(named, asPage('cross-site', 'https://app.example')), 201);
  t.equal(await create(named, asPage('cross-site', EVIL)), 403);
  const any = await startApi(t, { config: { allowOrigin: '*' } });
  t.equal(await create(any, asPage('cross-site', EVIL)), 403);
});

t.test('a form of another site logs nobody in', async (t) => {
  const api = await startApi(t);
  const logIn = (path: string, headers: Record<string, string | undefined>): Promise<number> =>
    api
      .call('POST', path, {
        body: FORM.body,
        headers: { authorization: undefined, 'content-type': FORM.type, ...headers },
      })
      .then(({ status }) => status);
  const right = await logIn('/tenant/oauth', asPage('same-origin', api.url));
  t.not(right, 403);
  t.equal(await logIn('/tenant/oauth', {}), right, 'no browser');
  t.equal(await logIn('/tenant/oauth', asPage('cross-site', EVIL)), 403);
  t.not(await logIn('/tenant/oauth/token', asPage('cross-site', EVIL)), 403, 'a token goes to the page itself');
});

t.test('which requests are of another origin', async (t) => {
  const of = (headers: Record<string, string>, ...hosts: string[]): boolean =>
    isOfOtherOrigin((name) => headers[name] ?? '', hosts);
  const rows: [origin: string, host: string, isOther: boolean][] = [
    ['http://iot.example', 'iot.example', false],
    ['https://iot.example', 'iot.example:443', false],
    ['http://iot.example', 'IOT.example', false],
    ['http://iot.example:8080', 'iot.example:8080', false],
    ['http://iot.example:8081', 'iot.example:8080', true],
    ['http://iot.example', 'iot.example:8080', true],
    ['http://a.iot.example', 'iot.example', true],
    ['http://[::1]:80', '[::1]', false],
    ['garbage', 'iot.example', true],
  ];
  for (const [origin, host, isOther] of rows) t.equal(of({ origin }, host), isOther, `${origin} at ${host}`);
  t.equal(of({ origin: 'https://out.example' }, 'inner:8080', 'out.example'), false, 'as a proxy was called');
  t.equal(of({ 'sec-fetch-site': 'same-origin', origin: EVIL }, 'a'), false, 'a page cannot write Sec-Fetch-Site');
  const types: [type: string, isSimple: boolean][] = [
    ['', true],
    ['text/plain', true],
    [' Text/Plain;charset=utf-8', true],
    ['multipart/form-data; boundary=x', true],
    ['application/x-www-form-urlencoded', true],
    ['application/json', false],
    ['application/vnd.com.nsn.platform.measurement+json', false],
    ['application/octet-stream', false],
    ['text/plainer', false],
  ];
  for (const [type, isSimple] of types) t.equal(isSimpleType(parseContentType(type)), isSimple, type);
});
