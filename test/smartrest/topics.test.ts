import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import { parseJsonTopic } from '../../src/smartrest/json-topics.ts';
import { classifyPublish, RECEIVE, receivedBy, RECEIVES_OPERATIONS } from '../../src/smartrest/topics.ts';
import { ROOT } from '../helpers/root.ts';

const { PERSISTENT, TRANSIENT, QUIESCENT, CEP } = PROCESSING_MODE;

t.test('what is published (docs/spec/mqtt.md#topics)', (t) => {
  const cases: readonly (readonly [string, object])[] = [
    ['s/us', { kind: 'static', mode: PERSISTENT }],
    ['t/us', { kind: 'static', mode: TRANSIENT }],
    ['q/us', { kind: 'static', mode: QUIESCENT }],
    ['c/us/child:1', { kind: 'static', mode: CEP, child: 'child:1' }],
    ['s/ud', { kind: 'default', mode: PERSISTENT }],
    ['t/ud/c', { kind: 'default', mode: TRANSIENT, child: 'c' }],
    ['s/uc/x', { kind: 'custom', mode: PERSISTENT, xid: 'x' }],
    ['q/uc/x/c', { kind: 'custom', mode: QUIESCENT, xid: 'x', child: 'c' }],
    ['s/ul/x', { kind: 'smartRest1', mode: PERSISTENT, xid: 'x' }],
    ['s/ut/x', { kind: 'templates', xid: 'x' }],
    ['s/ucr', { kind: 'credentials' }],
    ['s/uat', { kind: 'token' }],
    ['measurement/measurements/create', { kind: 'json', mode: PERSISTENT, area: 'measurements', action: 'create' }],
    [
      '/t/measurement/measurements/createBulk',
      { kind: 'json', mode: TRANSIENT, area: 'measurements', action: 'createBulk' },
    ],
    [
      'measurement/measurements/delete/7',
      { kind: 'json', mode: PERSISTENT, area: 'measurements', action: 'delete', id: '7' },
    ],
    ['q/event/events/create', { kind: 'json', mode: QUIESCENT, area: 'events', action: 'create' }],
    ['event/events/createBulk', { kind: 'json', mode: PERSISTENT, area: 'events', action: 'createBulk' }],
    ['alarm/alarms/create', { kind: 'json', mode: PERSISTENT, area: 'alarms', action: 'create' }],
    ['event/events/update/7', { kind: 'json', mode: PERSISTENT, area: 'events', action: 'update', id: '7' }],
    ['event/events/delete/7', { kind: 'json', mode: PERSISTENT, area: 'events', action: 'delete', id: '7' }],
    ['c/alarm/alarms/createBulk', { kind: 'json', mode: CEP, area: 'alarms', action: 'createBulk' }],
    ['alarm/alarms/update/7', { kind: 'json', mode: PERSISTENT, area: 'alarms', action: 'update', id: '7' }],
    ['inventory/managedObjects/create', { kind: 'json', mode: PERSISTENT, area: 'managedObjects', action: 'create' }],
    [
      'inventory/managedObjects/update/dev:1',
      { kind: 'json', mode: PERSISTENT, area: 'managedObjects', action: 'update', id: 'dev:1' },
    ],
    [
      'inventory/managedObjects/7/childDevices/create',
      { kind: 'json', mode: PERSISTENT, area: 'managedObjects', action: 'createChildDevice', id: '7' },
    ],
  ];
  for (const [topic, want] of cases) {
    t.strictSame(classifyPublish(topic), want, topic);
    t.strictSame(classifyPublish(Buffer.from(topic)), want, topic);
  }
  t.end();
});

t.test('what is ignored', (t) => {
  for (const topic of [
    's/us/',
    's/us/a/b',
    's/uc',
    's/uc/',
    's/uc/x/c/d',
    's/ul',
    's/ul/x/y',
    't/ut/x',
    't/ucr',
    's/uat/x',
    's/ux',
  ]) {
    t.strictSame(classifyPublish(topic), { kind: 'unknown' }, topic);
  }
  for (const topic of [
    '',
    '/',
    's',
    's/',
    's/ds',
    's/e',
    'x/us',
    '/s/us',
    'foo/bar',
    'measurement/measurements',
    's/measurement/measurements/create',
    'measurement/measurements/create/7',
    'measurement/measurements/update/7',
    'measurement/events/create',
    'alarm/alarms/delete/7',
    'alarm/alarms/update',
    'alarm/alarms/update/',
    'alarm/alarms/constructor',
    'event/events/toString',
    'inventory/managedObjects//childDevices/create',
    't/t/event/events/create',
    '//event/events/create',
    'devicecontrol/notifications',
    'error',
  ]) {
    t.strictSame(classifyPublish(topic), { kind: 'unknown' }, topic);
  }
  t.equal(parseJsonTopic('s/us'), undefined);
  t.end();
});

t.test('topic filters that are granted', (t) => {
  const cases: readonly (readonly [string, number])[] = [
    ['s/ds', RECEIVE.STATIC],
    ['s/e', RECEIVE.ERRORS],
    ['s/dt', RECEIVE.TEMPLATES],
    ['s/dd', RECEIVE.DEFAULT],
    ['s/dat', RECEIVE.TOKEN],
    ['s/dcr', RECEIVE.CREDENTIALS],
    ['s/dc/x', RECEIVE.CUSTOM],
    ['s/dc/#', RECEIVE.CUSTOM],
    ['s/dc/+', RECEIVE.CUSTOM],
    ['s/dl', RECEIVE.SMARTREST1_RESPONSES],
    ['s/dl/x', RECEIVE.SMARTREST1_RESPONSES],
    ['s/dl/#', RECEIVE.SMARTREST1_RESPONSES],
    ['s/ol', RECEIVE.SMARTREST1_DEFAULT],
    ['s/ol/x', RECEIVE.SMARTREST1_OPERATIONS],
    ['s/ol/#', RECEIVE.SMARTREST1_OPERATIONS | RECEIVE.SMARTREST1_DEFAULT],
    ['devicecontrol/notifications', RECEIVE.JSON_OPERATIONS],
    ['devicecontrol/#', RECEIVE.JSON_OPERATIONS],
    ['error', RECEIVE.JSON_ERRORS],
    ['error/#', RECEIVE.JSON_ERRORS],
    ['s/ds/#', RECEIVE.STATIC],
  ];
  for (const [filter, want] of cases)
    for (const time of ['first', 'again']) t.equal(receivedBy(filter), want, `${filter}, asked ${time}`);
  t.ok(receivedBy('s/ds') & RECEIVES_OPERATIONS);
  t.notOk(receivedBy('s/e') & RECEIVES_OPERATIONS);
  t.end();
});

t.test('topic filters that are refused', (t) => {
  for (const filter of [
    '#',
    '+/#',
    's/#',
    's/+',
    's/+/x',
    '+/+',
    '+/+/#',
    's/us',
    's/us/#',
    's/us/+',
    's/uc/x',
    's/ut/x',
    't/ds',
    't/us',
    's/ds/x',
    's/dc',
    's/dc/x/y',
    'measurement/measurements/create',
    'measurement/#',
    'event/+/create',
    '/error',
    'foo',
    'foo/#',
    '',
    's/dc/#/x',
    's/dc/x#',
    's/d+',
    's/dc/a+',
    '$share/g/s/ds',
    '$SYS/#',
  ]) {
    t.equal(receivedBy(filter), 0, filter);
  }
  t.end();
});

t.test('docs/reference/mqtt-topics.md tells what topics mean', (t) => {
  const [, published, subscribed] = readFileSync(join(ROOT, 'docs/reference/mqtt-topics.md'), 'utf8').split(/^## /m);
  const rowsOf = (part: string): { topics: string[]; last: string }[] =>
    [...part.matchAll(/^\| (`.*)\|$/gm)].map(([, row]) => {
      const cells = row.split(' | ');
      const names = [...cells[0].matchAll(/`([^`]+)`/g)].map(([, name]) => name.replace(/<\w+>/g, 'x'));
      return { topics: names, last: cells[cells.length - 1].trim() };
    });
  const kinds = new Set<string>();
  for (const { topics, last } of rowsOf(published))
    for (const topic of topics) {
      t.equal(classifyPublish(topic).kind, last, topic);
      kinds.add(last);
    }
  t.same(
    [...kinds].sort(),
    ['credentials', 'custom', 'default', 'json', 'smartRest1', 'static', 'templates', 'token'],
    'each kind has its topics',
  );
  const received = rowsOf(subscribed).flatMap(({ topics }) => topics.map(receivedBy));
  t.notOk(received.includes(0), 'each is granted');
  const all = Object.values(RECEIVE).reduce((sum, bit) => sum | bit, 0);
  t.equal(
    received.reduce((sum, bit) => sum | bit, 0),
    all,
    'and none is left out',
  );
  t.end();
});
