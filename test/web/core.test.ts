/** What the console is built on, without a browser: address, times, texts, shortcuts, queries, JSON, commands. */
import t from 'tap';
import { KeyReader, keyName } from '../../web/core/keys.ts';
import type { Shortcut } from '../../web/core/keys.ts';
import { connectPacket, publishPacket } from '../../web/core/live/mqtt.ts';
import { linkedZone, preferencesOf } from '../../web/core/preferences.ts';
import { href, queryText } from '../../web/core/route.ts';
import { rolesFor } from '../../web/core/server/offered.ts';
import { language, pseudoText, setLanguage } from '../../web/core/text/language.ts';
import { common } from '../../web/core/text/common.ts';
import { absoluteRange, lastOf, rangeQuery, resolveTime } from '../../web/core/time/range.ts';
import { ageText, fieldTime, fullTime, instantOf, offsetText, shortTime } from '../../web/core/time/time.ts';
import {
  choiceParameter,
  flagParameter,
  listParameter,
  numberParameter,
  readState,
  textParameter,
  writeState,
} from '../../web/core/url-state.ts';
import { clientCodeOf, curlOf } from '../../web/parts/copy.tsx';
import { jsonFault, prettyJson } from '../../web/parts/json.tsx';
import { hasGone } from '../../web/parts/list/list.ts';
import { completions } from '../../web/parts/query-field.tsx';
import { snippetOf } from '../../web/screens/devices/add/snippets.ts';

t.test('the state of a screen stands in its address', async (t) => {
  const shape = {
    q: textParameter(),
    page: numberParameter(1, { minimum: 1 }),
    severity: listParameter,
    status: choiceParameter(['ACTIVE', 'CLEARED']),
    live: flagParameter,
  };
  const otherwise = { q: '', page: 1, severity: [], status: 'ACTIVE', live: false };
  t.same(readState(shape, ''), otherwise);
  t.same(readState(shape, '?page=-3&status=NONE&page=x'), otherwise, 'what is wrong counts as absent');
  const search = writeState(shape, '?other=1', {
    q: "name eq 'a&b'",
    page: 7,
    severity: ['a,b', '50%'],
    live: true,
  });
  t.same(readState(shape, search), {
    ...otherwise,
    q: "name eq 'a&b'",
    page: 7,
    severity: ['a,b', '50%'],
    live: true,
  });
  t.same(readState(shape, '?severity=a,50%').severity, ['a', '50%']);
  t.match(search, /^\?other=1&/, 'names of others stay');
  t.equal(writeState(shape, '?q=a&page=2', { q: '', page: 1 }), '', 'defaults stay out');
  t.equal(href('/devices/:id/alarms', { id: 'a/b' }, { page: 2 }), '/console/devices/a%2Fb/alarms?page=2');
  t.equal(queryText({ a: undefined }), '');
  linkedZone.value = 'Asia/Tokyo';
  t.equal(href('/devices', undefined, { page: 2 }), '/console/devices?page=2&tz=Asia%2FTokyo', 'a link keeps its zone');
  linkedZone.value = '';
});

t.test('times are in ISO order and in one zone, over changes of the clock', async (t) => {
  const ms = Date.parse('2026-11-21T14:03:07.250Z');
  t.equal(fullTime(ms, 'Europe/Berlin'), '2026-11-21 15:03:07.250');
  t.equal(fullTime(ms - 250, 'UTC'), '2026-11-21 14:03:07');
  t.equal(shortTime(ms, { zone: 'UTC', now: ms + 1_000 }), '14:03:07');
  t.equal(shortTime(ms, { zone: 'UTC', now: ms + 86_400_000 }), '2026-11-21 14:03');
  t.same(
    ['UTC', 'Asia/Kolkata', 'America/St_Johns'].map((zone) => offsetText(ms, zone)),
    ['UTC', 'UTC+05:30', 'UTC−03:30'],
  );
  t.equal(fullTime(0, 'Africa/Monrovia'), '1969-12-31 23:15:30', 'an offset with seconds');
  const change = Date.parse('2026-10-25T01:00:00Z');
  t.same(
    [shortTime(change - 1, { zone: 'Europe/Berlin', now: change }), fullTime(change, 'Europe/Berlin')],
    ['02:59:59', '2026-10-25 02:00:00'],
  );
  const iso = (text: string, zone: string): string | undefined => {
    const instant = instantOf(text, zone);
    return instant === undefined ? undefined : new Date(instant).toISOString();
  };
  t.equal(iso('2026-10-25 02:30', 'Europe/Berlin'), '2026-10-25T00:30:00.000Z', 'the first of two');
  t.equal(iso('2026-03-29 02:30', 'Europe/Berlin'), '2026-03-29T01:30:00.000Z', 'a time that is skipped');
  t.equal(iso('2026-11-21', 'Asia/Kolkata'), '2026-11-20T18:30:00.000Z');
  t.equal(iso('2026-11-21T14:03:07+02:00', 'UTC'), '2026-11-21T12:03:07.000Z');
  t.same(
    ['21.11.2026', '2026-13-01 00:00', ''].map((text) => iso(text, 'UTC')),
    [undefined, undefined, undefined],
  );
  for (let hour = 0; hour < 24 * 365; hour += 7) {
    const at = Date.parse('2026-01-01T00:00:00Z') + hour * 3_600_000;
    const back = instantOf(fieldTime(at, 'America/New_York'), 'America/New_York') as number;
    if (back !== at && back !== at - 3_600_000) t.fail(`${new Date(at).toISOString()} comes back as ${back}`);
  }
  t.same(
    [59_000, 61_000, 7_200_000].map((age) => ageText(0, age)),
    ['59s ago', '1m ago', '2h ago'],
  );
});

t.test('ranges move with the clock until they are copied', async (t) => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  t.equal(resolveTime('now-6h', now), now - 21_600_000);
  t.equal(resolveTime('now', now), now);
  t.equal(resolveTime('nonsense', now), undefined);
  t.same(rangeQuery({ from: 'now-1h', to: '' }, now), { dateFrom: '2026-11-21T11:00:00.000Z' });
  t.same(absoluteRange({ from: 'now-1h', to: '' }, now), {
    from: '2026-11-21T11:00:00.000Z',
    to: '2026-11-21T12:00:00.000Z',
  });
  t.same([lastOf({ from: 'now-6h', to: '' }), lastOf({ from: 'now-6h', to: 'now-1h' })], ['6h', undefined]);
});

t.test('texts have every language, and the pseudo language marks all of them', async (t) => {
  t.equal(common().save, 'Save');
  await setLanguage('de');
  t.equal(common().save, 'Speichern');
  await setLanguage('pseudo');
  t.match(common().newRows(3), /^⟦.*3.*⟧$/);
  t.equal(pseudoText('Save'), '⟦Sávé··⟧');
  await setLanguage('en');
  t.equal(language.value, 'en');
  const wrong = preferencesOf({ theme: 'pink', zone: 'Mars/Olympus', density: 'compact', hasKeys: 'yes' });
  t.match(wrong, { theme: 'system', zone: '', density: 'compact', hasKeys: true });
});

t.test('shortcuts of two keys, and of one', async (t) => {
  const shortcuts = ['g d', '?', 'Ctrl K'].map((keys): Shortcut => ({ keys, text: () => keys, run: () => undefined }));
  const reader = new KeyReader();
  const read = (name: string, ms: number): string | undefined => reader.read(name, ms, shortcuts)?.keys;
  t.same([read('g', 1_000), read('d', 1_200)], [undefined, 'g d']);
  t.same([read('g', 2_000), read('d', 9_000)], [undefined, undefined], 'too late');
  t.same([read('?', 9_100), read('Ctrl K', 9_200)], ['?', 'Ctrl K']);
  t.equal(keyName({ key: 'k', ctrlKey: false, metaKey: true, altKey: false }), 'Ctrl K');
});

t.test('queries are completed, JSON keeps its digits, faults have their place', async (t) => {
  const names = ['name', 'c8y_Hardware.model'];
  const values = (text: string): string[] => completions(text, text.length, names).map(({ value }) => value);
  t.same(values('has(c8y'), ['has(c8y_Hardware.model']);
  t.same(values("name eq 'nam"), [], 'not in quotes');
  t.same(values("name eq 'a' an"), ["name eq 'a' and"]);
  t.equal(
    prettyJson('{"a":[1.50,{"b":"x, {y}: \\"z\\""}],"c":{},"d":12345678901234567890}'),
    '{\n  "a": [\n    1.50,\n    {\n      "b": "x, {y}: \\"z\\""\n    }\n  ],\n  "c": {},\n  "d": 12345678901234567890\n}',
  );
  t.equal(prettyJson('{"list":[1,2.0, null]}'), '{\n  "list": [1, 2.0, null]\n}');
  const many = Array.from({ length: 1_000 }, (_, index) => index);
  const shown = prettyJson(JSON.stringify([many]));
  t.same([JSON.parse(shown), shown.split('\n').length < 60], [[many], true], 'a list of numbers fills its lines');
  t.match(jsonFault('{\n  "a": }'), /^Line 2, column \d+: /);
  t.equal(jsonFault('[]'), common().jsonObject);
  t.equal(jsonFault('{}'), undefined);
});

t.test('commands are complete, and their texts cannot leave their quotes', async (t) => {
  const request = { method: 'POST', path: '/alarm/alarms', body: { text: "it's hot" } } as const;
  const command = curlOf(request, 't1/admin', 'http://host:8080');
  t.match(command, "curl -u 't1/admin' 'http://host:8080/alarm/alarms'");
  t.match(command, `-d '{"text":"it'\\''s hot"}'`);
  t.match(
    clientCodeOf(request, 'http://host:8080'),
    /method: 'POST'[\s\S]*body: JSON\.stringify\(\{"text":"it's hot"\}\)/,
  );
  const several = [{ path: '/a' }, { path: '/limits.md', file: 'limits.md' }];
  t.equal(
    curlOf(several, 't1/ada', 'http://h'),
    "curl -u 't1/ada' 'http://h/a' \\\n  -H 'Accept: application/json'\n\n" +
      "curl -u 't1/ada' 'http://h/limits.md' \\\n  -o 'limits.md'",
  );
  t.match(
    clientCodeOf(several, 'http://h'),
    /import \{ writeFile \}[\s\S]*const response2 =[\s\S]*writeFile\("limits.md"/,
  );
  const upload = { method: 'POST', path: '/b', upload: "it's.csv" } as const;
  t.match(curlOf(upload, 't1/ada', 'http://h'), `-F 'file=@it'\\''s.csv'`);
  t.match(clientCodeOf(upload, 'http://h'), /import \{ readFile \}[\s\S]*form\.set\('file', [\s\S]*body: form,/);
  t.equal(curlOf(undefined, 't1/ada'), '');
  const access = {
    host: 'h',
    mqttPort: 1,
    url: 'http://h:2',
    tenant: 't1',
    clientId: "a'b",
    password: 'p',
    source: '9',
  };
  t.match(snippetOf('mosquitto', access).text, `-u 't1/device_a'\\''b'`);
});

t.test('the roles of a request stand in what the server offers', async (t) => {
  const paths = {
    '/alarm/alarms/{id}': { put: { 'x-roles': ['ROLE_ALARM_ADMIN'] }, get: {} },
    '/alarm/alarms/count': { get: { 'x-roles': ['ROLE_ALARM_READ'] } },
  };
  const roles = (method: string, path: string): readonly string[] =>
    rolesFor(paths, method, `http://a/b${path}`, 'http://a/b');
  t.same(roles('PUT', '/alarm/alarms/7'), ['ROLE_ALARM_ADMIN']);
  t.same(roles('GET', '/alarm/alarms/count?source=1'), ['ROLE_ALARM_READ']);
  t.same([...roles('GET', '/alarm/alarms/7'), ...roles('GET', '/none')], []);
});

t.test('MQTT packets of a page that plays a device', async (t) => {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  t.equal(
    hex(connectPacket({ clientId: 'c', user: 'u', password: 'p' })),
    `101300044d51545404c2003c${'000163'}${'000175'}${'000170'}`,
  );
  t.equal(hex(publishPacket('s/us', 'ä', 258)), '320a0004732f75730102c3a4');
  t.equal(hex(publishPacket('t', 'x'.repeat(200), 1)).slice(0, 6), '32cd01', 'a length of two bytes');
});

t.test('a row that was deleted is told from one that new ones push off the page', async (t) => {
  const keys = (text: string): string[] => text.split('');
  for (const [before, now, gone] of [
    ['abc', 'abc', false],
    ['abc', 'xab', false],
    ['abc', 'xyz', false],
    ['abc', 'axb', false],
    ['abc', 'acd', true],
    ['abc', 'abd', true],
    ['abc', 'ab', true],
    ['abc', 'xac', true],
  ] as const)
    t.equal(hasGone(keys(before), keys(now)), gone, `${before} ${now}`);
});
