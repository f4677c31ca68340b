import t from 'tap';
import { baseUrlOf, calledAs } from '../../../src/api/http/base-url.ts';
import { Cors } from '../../../src/api/request/cors.ts';
import { isEntityId } from '../../../src/model/entities/entity-id.ts';
import { parseBasic } from '../../../src/api/request/authentication.ts';
import { PAGE_PARAMETERS } from '../../../src/api/request/paging.ts';
import { list, time } from '../../../src/api/request/schema/query-parameters.ts';
import { compileQueryCheck, parseQuery } from '../../../src/api/request/schema/query-values.ts';
import Type from 'typebox';
import { startApi } from '../helpers/api.ts';

t.test('decoding, duplicates, lists', async (t) => {
  const query = parseQuery('a=1&a=2&b=x+y%2Bz&c&d=&e=1,2,,3&e=4&__proto__=5&f==g');
  t.equal(query.text('a'), '1');
  t.strictSame(query.list('a'), ['1', '2']);
  t.equal(query.text('b'), 'x y+z');
  t.equal(query.text('c'), undefined);
  t.equal(query.text('d'), undefined);
  t.strictSame(query.list('e'), ['1', '2', '3', '4']);
  t.equal(query.text('__proto__'), '5');
  t.equal(query.text('f'), '=g');
  t.throws(() => parseQuery('a=%ff'), { code: 'general/bad-path' });
  t.throws(() => parseQuery('a=1&'.repeat(1000)), { code: 'general/bad-path' });
});

t.test('checks by schema', async (t) => {
  const check = compileQueryCheck({
    ...PAGE_PARAMETERS,
    from: time('from'),
    status: list(Type.Enum(['A', 'B']), 'status'),
    must: { schema: Type.String(), description: '', isRequired: true },
  });
  const good = (text: string): void => {
    t.doesNotThrow(() => check(parseQuery(`must=1&${text}`)), text);
  };
  const bad = (text: string, name: string): void => {
    t.throws(() => check(parseQuery(`must=1&${text}`)), { code: 'general/invalid-parameter', details: { name } }, text);
  };
  good('pageSize=1&currentPage=2000000&withTotalPages=TRUE&unknown=%00');
  for (const digits of [11, 15, 16, 17, 400]) good(`pageSize=${'9'.repeat(digits)}`);
  good('from=2024-05-02&status=A,B');
  good('from=2024-05-02T10:00:00.000+02:00');
  good('from=2024-05-02T10:00:00Z&from=');
  bad('pageSize=0', 'pageSize');
  bad('pageSize=-1', 'pageSize');
  bad('pageSize=1.5', 'pageSize');
  bad('pageSize=1e3', 'pageSize');
  bad('pageSize=many', 'pageSize');
  bad(`pageSize=-${'9'.repeat(20)}`, 'pageSize');
  bad(`pageSize=${'9'.repeat(20)}x`, 'pageSize');
  bad(`currentPage=${'9'.repeat(400)}`, 'currentPage');
  bad('currentPage=99999999999', 'currentPage');
  bad('withTotalPages=yes', 'withTotalPages');
  bad('from=2024-13-02', 'from');
  bad('status=A,C', 'status');
  t.throws(() => check(parseQuery('')), { code: 'validation/mandatory-fields', details: { names: 'must' } });
});

t.test('a page size of any number of digits is cut', async (t) => {
  const api = await startApi(t);
  for (const digits of [5, 11, 16, 400]) {
    const reply = await api.call('GET', `/inventory/managedObjects?pageSize=${'9'.repeat(digits)}`);
    t.match(reply, { status: 200, json: { statistics: { pageSize: 2000 } } }, `${digits} digits`);
  }
  t.equal((await api.call('GET', '/inventory/managedObjects?pageSize=all')).status, 422);
});

t.test('times outside of what can be stored become its border', async (t) => {
  t.equal(parseQuery('a=0001-01-01').time('a'), Date.UTC(1900, 0, 1));
  t.equal(parseQuery('a=9999-01-01T00:00:00Z').time('a'), Date.UTC(2299, 11, 31, 23, 59, 59, 999));
  t.equal(parseQuery('a=2024-05-02T10:00:00.000+02:00').time('a'), Date.UTC(2024, 4, 2, 8));
});

t.test('start of links', async (t) => {
  const check = (
    host: string,
    forwardedHost: string,
    forwardedProto: string,
    want: string,
    configured?: string,
  ): void => {
    t.equal(baseUrlOf(configured, { host, forwardedHost, forwardedProto, isSecure: false }), want);
  };
  check('a.example:8080', '', '', 'http://a.example:8080');
  check('[::1]:8080', '', '', 'http://[::1]:8080');
  check('inner', 'outer.example, inner', 'HTTPS, http', 'https://outer.example');
  const overTls = { host: 'a', forwardedHost: '', forwardedProto: '', isSecure: true };
  t.equal(baseUrlOf(undefined, overTls), 'https://a');
  t.equal(baseUrlOf(undefined, { ...overTls, forwardedProto: 'http' }), 'http://a', 'a trusted proxy knows better');
  check('a', '', '', 'https://x', 'https://x');
  check('a"><script>', 'b\r\nSet-Cookie: x', 'javascript', 'http://localhost');
  check('a:65536', 'b:99999', '', 'http://localhost');
});

t.test('what proxies tell', async (t) => {
  /** Headers, whether a proxy is trusted, start of the links. */
  const rows: readonly (readonly [headers: Record<string, string>, isTrusted: boolean, want: string])[] = [
    [{ 'x-forwarded-host': 'out.example', 'x-forwarded-proto': 'https' }, true, 'https://out.example'],
    [
      { 'x-forwarded-host': 'out.example', 'x-forwarded-proto': 'https', forwarded: 'host=other' },
      true,
      'https://out.example',
    ],
    [{ 'x-forwarded-host': 'out.example', 'x-forwarded-proto': 'https' }, false, 'http://in:8080'],
    [{ forwarded: 'host=evil.example' }, false, 'http://in:8080'],
    [{ 'x-forwarded-proto': 'https' }, true, 'https://in:8080'],
    [{ 'x-forwarded-host': 'out', 'x-forwarded-port': '8443', 'x-forwarded-proto': 'https' }, true, 'https://out:8443'],
    [{ 'x-forwarded-host': 'out', 'x-forwarded-port': '443', 'x-forwarded-proto': 'https' }, true, 'https://out'],
    [{ 'x-forwarded-host': 'out', 'x-forwarded-port': '443' }, true, 'http://out:443'],
    [{ 'x-forwarded-host': 'out:1', 'x-forwarded-port': '2' }, true, 'http://out:1'],
    [{ 'x-forwarded-host': '[::1]', 'x-forwarded-port': '2' }, true, 'http://[::1]:2'],
    [{ 'x-forwarded-host': 'out', 'x-forwarded-port': '65536' }, true, 'http://out'],
    [{ 'x-forwarded-host': 'out', 'x-forwarded-port': '8443, 80' }, true, 'http://out:8443'],
    [{ 'x-forwarded-host': 'out', 'x-forwarded-prefix': '/iot/v1/' }, true, 'http://out/iot/v1'],
    [{ 'x-forwarded-host': 'out', 'x-forwarded-prefix': '/a, /b' }, true, 'http://out/a'],
    [{ 'x-forwarded-host': 'out', 'x-forwarded-prefix': '//evil' }, true, 'http://out'],
    [{ 'x-forwarded-host': 'out', 'x-forwarded-prefix': '/a/../b' }, true, 'http://out'],
    [{ 'x-forwarded-host': 'out', 'x-forwarded-prefix': '/"><script>' }, true, 'http://out'],
    [{ forwarded: 'for=192.0.2.60;proto=https;by=203.0.113.43;host=out.example' }, true, 'https://out.example'],
    [
      { forwarded: 'For="[2001:db8::1]:4711"; Proto=HTTPS; Host="out.example:8443", for=x;host=inner' },
      true,
      'https://out.example:8443',
    ],
    [{ forwarded: 'host="a b";proto=javascript' }, true, 'http://in:8080'],
    [{ 'x-forwarded-prefix': '/iot' }, true, 'http://in:8080/iot'],
    [{ host: 'out', 'x-forwarded-prefix': '/iot', 'x-forwarded-port': '8443' }, true, 'http://out:8443/iot'],
    [{ host: 'out', 'x-forwarded-port': '8443' }, true, 'http://out:8443'],
    [{ host: 'out', 'x-forwarded-port': '8443', 'x-forwarded-prefix': '/iot' }, false, 'http://out'],
    [{ forwarded: 'host=out.example;proto=https', 'x-forwarded-prefix': '/iot' }, true, 'https://out.example/iot'],
    [{ 'x-forwarded-proto': 'wss' }, true, 'https://in:8080'],
    [{ 'x-forwarded-proto': 'WSS, ws', host: 'out', 'x-forwarded-port': '443' }, true, 'https://out'],
    [{ 'x-forwarded-proto': 'ws' }, true, 'http://in:8080'],
    [{ forwarded: ';;,=' }, true, 'http://in:8080'],
  ];
  for (const [headers, isTrusted, want] of rows) {
    t.equal(
      baseUrlOf(
        undefined,
        calledAs((name) => ({ host: 'in:8080', ...headers })[name] ?? '', isTrusted ? Infinity : 0, false),
      ),
      want,
      JSON.stringify(headers),
    );
  }
});

t.test('credentials', async (t) => {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  t.strictSame(parseBasic(`Basic ${encode('t1/ädmin:a:b')}`), { userName: 't1/ädmin', password: 'a:b' });
  t.strictSame(parseBasic(`bAsIc   ${encode('u:')} `), { userName: 'u', password: '' });
  for (const header of [
    '',
    'Basic',
    'Basic !!',
    `Basic ${encode('nocolon')}`,
    `Basic ${encode(':x')}`,
    'Bearer abc',
    `Basic ${encode(`u:${'x'.repeat(9000)}`)}`,
  ]) {
    t.equal(parseBasic(header), undefined, header.slice(0, 30));
  }
});

t.test('ids', async (t) => {
  for (const id of ['1', '9007199254740991']) t.ok(isEntityId(id), id);
  for (const id of ['', '0', '01', '-1', '1.0', '1e3', '9007199254740992', '99999999999999999', 'x', ' 1', '1\n', '١'])
    t.notOk(isEntityId(id), id);
});

t.test('origins', async (t) => {
  const cors = new Cors('https://a.example, https://*.b.example');
  const allowed = (origin: string): boolean => cors.headers(origin).includes('Access-Control-Allow-Origin');
  t.ok(allowed('https://a.example'));
  t.ok(allowed('https://x.b.example'));
  t.notOk(allowed('https://b.example'));
  t.notOk(allowed('https://axexample'));
  t.notOk(allowed('https://a.example.evil'));
  t.notOk(allowed('https://x.b.example\r\nx: y'));
  t.ok(new Cors('*').headers('null').includes('*'));
  const exposed = new Set(cors.headers('https://a.example')[5].split(', '));
  for (const name of [
    'Location',
    'Content-Disposition',
    'Content-Range',
    'Accept-Ranges',
    'ETag',
    'Retry-After',
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
  ]) {
    t.ok(exposed.has(name), name);
  }
  const domains = new Cors('example.com, *.acme.org, localhost:4200');
  for (const [origin, isAllowed] of [
    ['https://example.com', true],
    ['http://example.com', true],
    ['https://example.com:8443', true],
    ['https://x.acme.org:8443', true],
    ['https://X.Acme.org', true],
    ['http://localhost:4200', true],
    ['http://localhost', false],
    ['http://localhost:42001', false],
    ['https://acme.org', false],
    ['https://evilexample.com', false],
    ['https://example.com.evil', false],
    ['null', false],
  ] as const)
    t.equal(domains.headers(origin).includes('Access-Control-Allow-Origin'), isAllowed, origin);
  const credentials = (option: string, origin: string): unknown[] => {
    const headers = new Cors(option).preflightHeaders(origin);
    const of = (name: string): string | undefined =>
      headers.includes(name) ? headers[headers.indexOf(name) + 1] : undefined;
    return [of('Access-Control-Allow-Origin'), of('Access-Control-Allow-Credentials')];
  };
  for (const option of ['*', '**', '*://*', 'https://*', '*:*', 'https://*:*']) {
    t.same(credentials(option, 'https://evil.example:8443'), ['*', undefined], `${option} names nobody`);
  }
  t.same(credentials('https://*', 'http://evil.example'), [undefined, undefined]);
  for (const option of ['a.example', '*.a.example,*,a.example', 'https://a.example']) {
    t.same(credentials(option, 'https://a.example'), ['https://a.example', 'true'], option);
  }
});
