/** Documents come back exactly as they were sent, over HTTP and MQTT, from single reads, lists and answers. */
import t from 'tap';
import { shapedTime } from '../../../src/model/documents/iso-time.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const TIME = '2024-05-02T10:00:00.000Z';

/** Members that a parser and a new text would change: order, integer-like names, numbers, unicode, nesting. */
const MEMBERS = [
  '"zeta":1',
  '"10":"ten"',
  '"9":"nine"',
  '"alpha":{}',
  '"list":[]',
  '"one":1.0',
  '"large":9007199254740993',
  '"exponent":1E+2',
  '"small":0.10',
  '"negative":-0',
  '"tiny":1e-400',
  '"words":"ä 日本語 😀 \\u0041 \\/ \\n \\"q\\""',
  '"deep":{"b":{"2":{},"1":[[],{},[1.0,{"x":null}]]},"a":true}',
  '"nothing":"null"',
  '"c8y_Flag":{}',
  '"__proto__":{"a":1}',
  '"constructor":1',
  `"long":"${'x'.repeat(5_000)}"`,
];
const BODY = MEMBERS.join(',');

/** JSON without blanks between its tokens. */
function compact(text: string): string {
  return text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, (_match, quoted: string | undefined) => quoted ?? '');
}

/** @returns '' when all members are in the text in their order, else the first that is not there as it was sent. */
function lost(text: string): string {
  const found = compact(text);
  if (found.includes(BODY)) return '';
  return MEMBERS.find((member) => !found.includes(member)) ?? 'the order of the members';
}

t.test('managed objects', async (t) => {
  const posted = await rest.post('/inventory/managedObjects', `{${BODY},"name":"Exact","type":"exact"}`);
  t.equal(posted.status, 201, posted.text);
  t.equal(lost(posted.text), '', 'POST');
  const { id } = posted.json;
  t.equal(lost((await rest.get(`/inventory/managedObjects/${id}`)).text), '', 'GET');
  t.equal(lost((await rest.get('/inventory/managedObjects?type=exact')).text), '', 'list');
  await rest.put(`/inventory/managedObjects/${id}`, '{"name":"Still exact"}');
  t.equal(lost((await rest.get(`/inventory/managedObjects/${id}`)).text), '', 'after a PUT of another member');
  await rest.put(`/inventory/managedObjects/${id}`, '{"deep":{"new":1.50},"zeta":null,"9":{}}');
  const changed = compact((await rest.get(`/inventory/managedObjects/${id}`)).text);
  t.ok(changed.includes('"deep":{"new":1.50}'), 'a fragment is replaced as a whole');
  t.notOk(changed.includes('"zeta"'), 'null removes');
  t.ok(changed.includes('"10":"ten","9":{},"alpha":{}'), 'in its place');
});

t.test('events, alarms and operations', async (t) => {
  const id = await rest.createDevice('Source');
  const source = `"source":{"id":"${id}"}`;
  const check = async (path: string, own: string, list: string): Promise<void> => {
    const posted = await rest.post(path, `{${own},${BODY}}`);
    t.equal(posted.status, 201, posted.text);
    t.equal(lost(posted.text), '', `POST ${path}`);
    t.equal(lost((await rest.get(`${path}/${posted.json.id}`)).text), '', `GET ${path}`);
    t.equal(lost((await rest.get(`${path}?${list}`)).text), '', `list ${path}`);
  };
  await check('/event/events', `${source},"type":"e","time":"${TIME}","text":"t"`, `source=${id}`);
  await check('/alarm/alarms', `${source},"type":"a","time":"${TIME}","text":"t","severity":"MINOR"`, `source=${id}`);
  await check('/devicecontrol/operations', `"deviceId":"${id}"`, `deviceId=${id}`);
});

t.test('measurements with several fragments and other properties', async (t) => {
  const id = await rest.createDevice('Measured');
  const fragments =
    '"f_2":{"9":{"value":1.0,"unit":"C"},"10":{"value":9007199254740993},"a":{"unit":"x","value":1e2}},"f_1":{"s":{"value":-0.10,"unit":""}},' +
    '"other":{"b":{},"a":[1.0,{}]},"flag":{},"words":"ä \\u0041","many":{"s1":{"value":1},"s2":{"value":2},"extra":"kept"}';
  const posted = await rest.post(
    '/measurement/measurements',
    `{"source":{"id":"${id}"},"time":"${TIME}","type":"exact",${fragments}}`,
  );
  t.equal(posted.status, 201, posted.text);
  t.ok(compact(posted.text).includes(fragments), `POST: ${posted.text}`);
  const read = (await rest.get(`/measurement/measurements/${posted.json.id}`)).text;
  t.ok(compact(read).includes(fragments), `GET: ${read}`);
  t.ok(compact((await rest.get(`/measurement/measurements?source=${id}`)).text).includes(fragments), 'list');
  const stream = await rest.request('GET', `/measurement/measurements?source=${id}`, {
    headers: { accept: 'application/json-stream' },
  });
  t.ok(compact(stream.text).includes(fragments), 'stream');
  const single = '"c8y_T":{"T":{"value":1.0,"unit":"C"}}';
  const simple = await rest.post(
    '/measurement/measurements',
    `{"source":{"id":"${id}"},"time":"${TIME}","type":"single",${single}}`,
  );
  t.ok(compact((await rest.get(`/measurement/measurements/${simple.json.id}`)).text).includes(single), 'one value');
});

/** The text with its time as it is shown: the rest comes back as it was sent. */
const shaped = (text: string): string =>
  text.replace(/"time":( ?)"([^"]+)"/, (_all, space: string, time: string) => `"time":${space}"${shapedTime(time)}"`);

t.test('measurements of one series, as clients write them: member for member, number for number', async (t) => {
  const id = await rest.createDevice('Single');
  const parts = (time: string, value: string): string[] => [
    `"c8y_Temperature": {"T": {"value": ${value}, "unit": "°C"}}`,
    `"time": "${time}"`,
    `"source": {"id": "${id}"}`,
    '"type": "c8y_Temperature"',
  ];
  const [fragment, time, source, type] = parts('2026-01-01T00:00:00.000Z', '21.5');
  const sent = [
    [fragment, time, source, type],
    [source, time, type, fragment],
    [time, source, type, fragment],
    [type, fragment, source, time],
    parts('2026-01-01T00:00:01Z', '20.0'),
    parts('2026-01-01T00:00:02+01:00', '21.50'),
    parts('2026-01-01T00:00:03.123456Z', '-0.10'),
    parts('2026-01-01T00:00:04.000000+00:00', '1e3'),
    parts('2026-01-01T00:00:05.123456789-0330', '1.0E+2'),
    parts('2026-01-01 00:00:06.5', '12345678901234567890'),
    parts('2026-01-01T00:00Z', '-0'),
    [`"c8y_Temperature": {"T": {"unit": "°C", "value": 1.0}}`, time, type, source],
    [`"none": null, "empty": {}, "list": []`, fragment, '"words": "\\u00e4 \\/ ä"', source, type, time],
    ['"c8y_Temperature": {"T": {"value": 1, "min": 0.10}}', source, type, time],
  ].map((members) => `{${members.join(', ')}}`);
  const self = (measurement: string): string =>
    `"self":"${server.url}/measurement/measurements/${measurement}","id":"${measurement}",`;
  const linked = (text: string, measurement: string): string =>
    `{${self(measurement)}${compact(shaped(text)).slice(1)}`.replace(
      `"source":{"id":"${id}"}`,
      `"source":{"id":"${id}","self":"${server.url}/inventory/managedObjects/${id}"}`,
    );
  for (const text of sent) {
    const posted = await rest.post('/measurement/measurements', text);
    t.equal(posted.status, 201, posted.text);
    t.equal(posted.text, linked(text, posted.json.id), 'POST');
    t.equal((await rest.get(`/measurement/measurements/${posted.json.id}`)).text, linked(text, posted.json.id), 'GET');
  }
  const bulk = await rest.post('/measurement/measurements', `{"measurements": [${sent.join(', ')}]}`);
  t.equal(bulk.status, 201, bulk.text);
  const list = (await rest.get(`/measurement/measurements?source=${id}&pageSize=100`)).text;
  for (const measurement of bulk.json.measurements) {
    t.ok(bulk.text.includes(JSON.stringify(measurement.id)));
    t.ok(list.includes(self(measurement.id)), 'listed');
  }
  for (const [index, text] of sent.entries())
    t.ok(list.includes(linked(text, bulk.json.measurements[index].id)), `list: ${text}`);
  const several = `{"source": {"id": "${id}"}, "time": "2026-01-01T00:00:00Z", "type": "x", "f": {"a": {"value": 1.0}, "b": {"value": 2}}}`;
  const posted = await rest.post('/measurement/measurements', several);
  t.equal(posted.text, linked(several, posted.json.id), 'white space between the tokens of several series');
  t.equal((await rest.get(`/measurement/measurements/${posted.json.id}`)).text, linked(several, posted.json.id));
});

t.test('times are shown with milliseconds and the offset that was sent', async (t) => {
  const id = await rest.createDevice('Timed');
  const rows: [sent: string, shown: string][] = [
    ['2024-05-02T12:00:00.123+02:00', '2024-05-02T12:00:00.123+02:00'],
    ['2024-05-02T12:00:00+0200', '2024-05-02T12:00:00.000+02:00'],
    ['2024-05-02T10:00:00.123456Z', '2024-05-02T10:00:00.123Z'],
    ['2024-05-02T10:00', '2024-05-02T10:00:00.000Z'],
    ['2024-05-02', '2024-05-02T00:00:00.000Z'],
  ];
  for (const [index, [time, shown]] of rows.entries()) {
    const about = { source: { id }, type: `timed_${index}`, text: 't', time };
    for (const [path, more] of [
      ['/event/events', {}],
      ['/alarm/alarms', { severity: 'MAJOR' }],
      ['/audit/auditRecords', { activity: 'a' }],
      ['/measurement/measurements', {}],
      ['/measurement/measurements', { c8y_T: { T: { value: 1 } } }],
      ['/measurement/measurements', { c8y_T: { T: { value: 1 }, U: { value: 2 } } }],
    ] as const) {
      const made = await rest.create(path, { ...about, ...more });
      t.equal(made.time, shown, `POST ${path} ${time}`);
      t.equal((await rest.read(`${path}/${made.id}`)).time, shown, `GET ${path} ${time}`);
    }
    const repeated = await rest.create('/alarm/alarms', { ...about, severity: 'MAJOR' });
    t.match(repeated, { count: 2, time: shown, firstOccurrenceTime: shown });
    const device = await rest.create('/devicecontrol/bulkoperations', {
      groupId: id,
      startDate: time.replace('2024', '2200'),
      creationRamp: 1,
      operationPrototype: { c8y_Restart: {} },
    });
    t.equal(device.startDate, shown.replace('2024', '2200'));
  }
});

t.test('JSON over MQTT', async (t) => {
  const device = await connectDevice(t, server, 'exact-1');
  await device.publish('event/events/create', `{"type":"e","text":"t","time":"${TIME}",${BODY}}`);
  await device.publish('inventory/managedObjects/update/exact-1', `{${BODY}}`);
  const id = await rest.idOf('exact-1');
  t.equal(lost((await rest.get(`/event/events?source=${id}`)).text), '', 'event');
  t.equal(lost((await rest.get(`/inventory/managedObjects/${id}`)).text), '', 'managed object');
  await device.subscribe('devicecontrol/notifications');
  await rest.create('/devicecontrol/operations', `{"deviceId":"${id}",${BODY}}`);
  t.equal(lost(await device.row('devicecontrol/notifications', /deviceId/)), '', 'operation');
  for (const [type, text] of [
    ['m1', '"f":{"s":{"unit":"C","value":20.0}},"time":"2026-01-01T00:00:00+01:00","type":"m1"'],
    ['m2', '"type":"m2","n":null,"time":"2026-01-01T00:00:00.123456Z","f":{"s":{"value":1e3}}'],
  ]) {
    await device.publish('measurement/measurements/create', `{${text}}`);
    const found = await rest.get(`/measurement/measurements?source=${id}&type=${type}`);
    t.ok(compact(found.text).includes(shaped(text)), `measurement: ${found.text}`);
  }
});
