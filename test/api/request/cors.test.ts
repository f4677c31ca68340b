/** Which origins an option `access.control/allow.origin` allows, and that no option makes the answer slow. */
import t from 'tap';
import { Cors } from '../../../src/api/request/cors.ts';
import { areOriginEntriesBounded, originRules } from '../../../src/api/request/origin-rules.ts';

type Allowed = 'named' | 'any' | 'no';
function allowed(option: string, origin: string): Allowed {
  const headers = new Cors(option).headers(origin);
  const value = headers[headers.indexOf('Access-Control-Allow-Origin') + 1];
  return !headers.includes('Access-Control-Allow-Origin') ? 'no' : value === '*' ? 'any' : 'named';
}

t.test('domains, origins, wildcards', async (t) => {
  const rows: [option: string, origin: string, want: Allowed][] = [
    ['*', 'https://a.example', 'any'],
    ['**', 'https://a.example', 'any'],
    ['*:*', 'https://a.example:1', 'any'],
    ['https://*', 'https://a.example', 'any'],
    ['https://*', 'http://a.example', 'no'],
    ['https://*:8443', 'https://a.example:8443', 'any'],
    ['https://*:8443', 'https://a.example', 'no'],
    ['example.com', 'https://example.com', 'named'],
    ['example.com', 'http://example.com:8080', 'named'],
    ['Example.COM', 'https://eXample.com', 'named'],
    ['example.com', 'https://a.example.com', 'no'],
    ['example.com', 'https://example.com.evil.org', 'no'],
    ['example.com', 'https://notexample.com', 'no'],
    ['example.com:8443', 'https://example.com:8443', 'named'],
    ['example.com:8443', 'https://example.com', 'no'],
    ['example.com', 'example.com', 'no'],
    ['*.example.com', 'https://a.b.example.com:1', 'named'],
    ['*.example.com', 'https://example.com', 'no'],
    ['*.example.com', 'https://a.example.com.evil', 'no'],
    ['app*.example.*', 'https://app1.example.org', 'named'],
    ['a*a', 'https://a', 'no'],
    ['a*a', 'https://aa', 'named'],
    ['https://app.example.org, https://*.example.com', 'https://app.example.org', 'named'],
    ['https://app.example.org', 'http://app.example.org', 'no'],
    ['a.b', 'https://axb', 'no'],
    ['', 'https://a', 'no'],
    ['a, *', 'https://a', 'named'],
    ['a, *', 'https://b', 'any'],
    ['*', `https://${'a'.repeat(300)}`, 'no'],
    ['*', 'https://a b', 'no'],
    ['*', '', 'no'],
  ];
  for (const [option, origin, want] of rows) t.equal(allowed(option, origin), want, `${option} and ${origin}`);
});

t.test('an option of many wildcards costs no more than its length', async (t) => {
  const origin = `https://${'a'.repeat(290)}`;
  t.equal(allowed(`https://${'*a'.repeat(30)}*b`, origin), 'no');
  t.equal(allowed(`${'*a'.repeat(40)}*b`, origin), 'no');
  t.equal(allowed(`https://${'*a'.repeat(140)}`, origin), 'named');
});

t.test('entries of an option are bounded', async (t) => {
  const entries = Array.from({ length: 101 }, (_, index) => `a${index}.example`);
  t.equal(areOriginEntriesBounded(entries.slice(1).join(',')), true);
  t.equal(areOriginEntriesBounded(entries.join(',')), false);
  t.equal(areOriginEntriesBounded(`a,${'b'.repeat(301)}`), false);
  t.equal(originRules(entries.join(',')).length, 100, 'of a stored one the rest is ignored');
  t.equal(allowed(`${'b'.repeat(301)},https://a`, 'https://a'), 'named');
});
