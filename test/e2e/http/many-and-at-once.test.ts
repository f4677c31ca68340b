/** Large bodies and collections, and read-your-writes. */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { CLUSTER_NODES, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const TIME = Date.parse('2024-05-02T10:00:00.000Z');
const at = (index: number): string => new Date(TIME + index).toISOString();
const MIB = 1_048_576;

t.test('10,000 measurements in one POST are one acknowledgement, and all there', async (t) => {
  const id = await rest.createDevice('Ten thousand');
  const measurements = Array.from({ length: 10_000 }, (_, index) => ({
    source: { id },
    time: at(index),
    type: 'bulk',
    f: { s: { value: index, unit: 'C' } },
  }));
  const reply = await rest.request('POST', '/measurement/measurements', {
    body: { measurements },
    headers: { accept: '' },
  });
  t.equal(reply.status, 201, reply.text);
  const values: number[] = [];
  for (let page = 1; page <= 5; page += 1) {
    const found = await rest.read(
      `/measurement/measurements?source=${id}&pageSize=2000&currentPage=${page}&withTotalElements=true`,
    );
    t.equal(found.statistics.totalElements, 10_000);
    for (const measurement of found.measurements) values.push(measurement.f.s.value);
  }
  t.same(
    values,
    measurements.map((_, index) => index),
  );
});

t.test('a collection with one bad element stores nothing', async (t) => {
  const id = await rest.createDevice('All or none');
  const measurements: object[] = Array.from({ length: 50 }, (_, index) => ({
    source: { id },
    time: at(index),
    type: 'bulk',
    f: { s: { value: index } },
  }));
  for (const bad of [
    { source: { id }, time: at(0), type: 'x', 'a.b': { s: { value: 1 } } },
    { source: { id }, type: 'x' },
    { source: { id: '987654321' }, time: at(0), type: 'x' },
  ]) {
    t.equal((await rest.post('/measurement/measurements', { measurements: [...measurements, bad] })).status, 422);
  }
  t.same((await rest.read(`/measurement/measurements?source=${id}`)).measurements, []);
});

t.test('a body of 10 MiB is taken, one beyond the limit answered with 413', async (t) => {
  const id = await rest.createDevice('Large');
  const filling = 'x'.repeat(10_000);
  const measurements = Array.from({ length: 1_040 }, (_, index) => ({
    source: { id },
    time: at(index),
    type: 'large',
    f: { s: { value: index } },
    filling,
  }));
  const body = JSON.stringify({ measurements });
  t.ok(body.length > 10 * MIB);
  t.equal((await rest.request('POST', '/measurement/measurements', { body, headers: { accept: '' } })).status, 201);
  const page = await rest.read(`/measurement/measurements?source=${id}&pageSize=1&withTotalElements=true`);
  t.equal(page.statistics.totalElements, 1_040);
  t.equal(page.measurements[0].filling, filling);
  const over = await rest
    .post('/inventory/managedObjects', `{"filling":"${'x'.repeat(MIB)}"}`)
    .catch((error: Error) => error);
  // The server may close while the body is still being sent.
  if (over instanceof Error) t.match(over.message, /ECONNRESET|EPIPE|socket hang up/);
  else t.equal(over.status, 413);
  t.equal((await rest.get('/platform')).status, 200);
});

t.test('an object that has grown beyond a body is changed through every node', async (t) => {
  const { id } = await rest.create('/inventory/managedObjects', { name: 'Grows', first: 'é'.repeat(430_000) });
  const path = `/inventory/managedObjects/${id}`;
  for (const [index, name] of ['second', 'third', 'third', 'third', 'third', 'third'].entries()) {
    const { status, text } = await rest.put(path, { [name]: String(index).repeat(300_000) });
    t.equal(status, 200, text.slice(0, 200));
    const answer = JSON.parse(text) as Record<string, string>;
    t.ok(
      answer.first === 'é'.repeat(430_000) && answer[name] === String(index).repeat(300_000),
      'the answer to this change',
    );
  }
  t.equal((await rest.read(path)).third, '5'.repeat(300_000));
});

t.test('the limit of a JSON body is the same on every node', async (t) => {
  const limit = CLUSTER_NODES > 0 ? 884 * 1024 : MIB;
  const bodyOf = (bytes: number): string => `{"filling":"${'x'.repeat(bytes - 14)}"}`;
  for (let node = 0; node < 3; node += 1) {
    t.equal((await rest.post('/inventory/managedObjects', bodyOf(limit))).status, 201);
    const over = await rest.post('/inventory/managedObjects', bodyOf(limit + 1)).catch((error: Error) => error);
    // The server may close while the body is still being sent.
    if (over instanceof Error) t.match(over.message, /ECONNRESET|EPIPE|socket hang up/);
    else t.match(over, { status: 413, text: new RegExp(`more than ${limit} bytes`) });
  }
});

t.test('what was posted is in the very next list, 100 times', async (t) => {
  const id = await rest.createDevice('Read your writes');
  for (let index = 0; index < 25; index += 1) {
    const source = { id };
    const measurement = await rest.create('/measurement/measurements', {
      source,
      time: at(index),
      type: 'm',
      f: { s: { value: index } },
    });
    const measurements = await rest.read(
      `/measurement/measurements?source=${id}&pageSize=1&revert=true&dateFrom=1970-01-01&dateTo=2099-01-01`,
    );
    if (measurements.measurements[0]?.id !== measurement.id) t.fail(`measurement ${index}`);
    const event = await rest.create('/event/events', { source, time: at(index), type: 'e', text: String(index) });
    if ((await rest.read(`/event/events?source=${id}&pageSize=1`)).events[0]?.id !== event.id) t.fail(`event ${index}`);
    const alarm = await rest.create('/alarm/alarms', {
      source,
      time: at(index),
      type: `a-${index}`,
      text: 't',
      severity: 'MINOR',
    });
    if ((await rest.read(`/alarm/alarms?source=${id}&pageSize=1`)).alarms[0]?.id !== alarm.id) t.fail(`alarm ${index}`);
    await rest.put(`/inventory/managedObjects/${id}`, { marker: { index }, type: `type-${index}` });
    if ((await rest.read(`/inventory/managedObjects?type=type-${index}`)).managedObjects[0]?.marker.index !== index)
      t.fail(`managed object ${index}`);
  }
  t.equal(Number((await rest.get(`/alarm/alarms/count?source=${id}`)).text), 25);
});

t.test('what a device got acknowledged is in the very next list, 50 times', async (t) => {
  const device = await connectDevice(t, server, 'acknowledged');
  await device.publish('s/us', '100');
  const id = await rest.idOf('acknowledged');
  for (let index = 0; index < 50; index += 1) {
    await device.publish('s/us', `200,f,s,${index}`);
    const { statistics } = await rest.read(`/measurement/measurements?source=${id}&pageSize=1&withTotalElements=true`);
    if (statistics.totalElements !== index + 1) t.fail(`measurement ${index}: ${statistics.totalElements}`);
    await device.publish('s/us', `110,${index},model,1`);
    if ((await rest.read(`/inventory/managedObjects/${id}`)).c8y_Hardware?.serialNumber !== String(index))
      t.fail(`110 ${index}`);
  }
});

t.test('many requests at once: each has its own answer, nothing is lost', async (t) => {
  const id = await rest.createDevice('At once');
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, index) =>
      rest.create('/measurement/measurements', {
        source: { id },
        time: at(index),
        type: 'm',
        f: { s: { value: index } },
      }),
    ),
  );
  t.equal(new Set(answers.map((answer) => answer.id)).size, 300);
  answers.forEach((answer, index) => {
    if (answer.f.s.value !== index) t.fail(`answer ${index}`);
  });
  const repeats = await Promise.all(
    Array.from({ length: 100 }, () =>
      rest.create('/alarm/alarms', { source: { id }, time: at(0), type: 'same', text: 't', severity: 'MINOR' }),
    ),
  );
  t.equal(new Set(repeats.map((alarm) => alarm.id)).size, 1, 'one alarm');
  t.same(
    repeats.map((alarm) => alarm.count).sort((one, other) => one - other),
    repeats.map((_, index) => index + 1),
  );
  t.equal(
    (await rest.read(`/measurement/measurements?source=${id}&pageSize=1&withTotalElements=true`)).statistics
      .totalElements,
    300,
  );
});

t.test('an orderly stop ends with 0 and the next start has everything', async (t) => {
  const device = await connectDevice(t, server, 'restarted');
  await device.publish('s/us', '100,Restarted,my_Type\n200,f,s,1\n301,my_A,text');
  await device.publish('s/us', '102,restarted-service,systemd,db,up', 2);
  await device.end();
  const persistent = await connectDevice(t, server, 'persistent', { clean: false });
  await persistent.publish('s/us', '100');
  await persistent.subscribe('s/ds');
  await persistent.end();
  await rest.create('/devicecontrol/operations', { deviceId: await rest.idOf('persistent'), c8y_Restart: {} });
  t.equal(await server.stop(), 0);
  t.same(
    server.complaints.filter((line) => !line.includes('http/body-bytes')),
    [],
    'no warning but that of the body above',
  );
  const second = await startServer(t, { data: server.data });
  t.match(await second.rest.deviceOf('restarted'), { name: 'Restarted' });
  t.match(await second.rest.deviceOf('restarted-service'), { status: 'up' });
  const id = await second.rest.idOf('restarted');
  t.equal((await second.rest.read(`/measurement/measurements?source=${id}`)).measurements.length, 1);
  t.equal((await second.rest.read(`/alarm/alarms?source=${id}`)).alarms.length, 1);
  const back = await connectDevice(t, second, 'persistent', { clean: false });
  t.equal(back.sessionPresent, true);
  await back.row('s/ds', '510,persistent');
  t.same(back.rows('s/ds'), ['510,persistent']);
  const device2 = await connectDevice(t, second, 'restarted');
  await device2.publish('s/us', '100');
  t.equal(await second.rest.idOf('restarted'), id);
});
