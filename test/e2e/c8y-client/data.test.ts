/** `@c8y/client`, unmodified: measurements, alarms, events with their files, audit records. */
import { Client, EventBinaryService } from '@c8y/client';
import t from 'tap';
import { leftOut } from '../../helpers/clients/c8y-client-calls.ts';
import { PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
const TIME = '2024-05-02T10:00:00.000Z';
const LATER = '2024-05-02T10:01:00.000Z';
const RANGE = { dateFrom: TIME, dateTo: '2024-05-03T00:00:00.000Z' };

/** The error that the client throws. */
const failure = (answer: Promise<any>): Promise<any> =>
  answer.then(
    () => undefined,
    (error: unknown) => error,
  );
const statusOf = async (answer: Promise<any>): Promise<number> => (await failure(answer))?.res.status;
const createDevice = async (name: string): Promise<string> =>
  (await client.inventory.create({ name, c8y_IsDevice: {}, com_cumulocity_model_Agent: {} })).data.id;

t.test('MeasurementService', async (t) => {
  const id = await createDevice('Measured');
  const { data: created, res } = await client.measurement.create({
    sourceId: id,
    time: TIME,
    type: 'my_M',
    my_M: { T: { value: 21.5, unit: 'C' } },
  });
  t.equal(res.status, 201);
  t.match(created, { type: 'my_M', source: { id }, my_M: { T: { value: 21.5, unit: 'C' } } });
  await client.measurement.create({
    sourceId: id,
    time: new Date(LATER),
    type: 'my_M',
    my_M: { T: { value: 22, unit: 'C' } },
  });
  t.match((await client.measurement.detail(created.id)).data, { id: created.id, time: TIME });
  const { data, paging } = await client.measurement.list({ source: id, pageSize: 10, withTotalPages: true });
  t.same(
    data.map((measurement: any) => measurement.my_M.T.value),
    [21.5, 22],
  );
  t.equal(paging.totalPages, 1);
  t.same(
    (await client.measurement.list({ source: id, ...RANGE, revert: true, pageSize: 1 })).data.map(
      (measurement: any) => measurement.my_M.T.value,
    ),
    [22],
  );
  t.same(
    (await client.measurement.list({ source: id, valueFragmentType: 'my_M', valueFragmentSeries: 'other' })).data,
    [],
  );
  const series = (await client.measurement.listSeries({ source: id, ...RANGE, series: ['my_M.T'] })).data;
  t.match(series, { series: [{ unit: 'C', name: 'T', type: 'my_M' }], truncated: false });
  t.same(series.values, { [TIME]: [{ min: 21.5, max: 21.5 }], [LATER]: [{ min: 22, max: 22 }] });
  const daily = (await client.measurement.listSeries({ source: id, ...RANGE, aggregationType: 'DAILY' })).data;
  t.same(daily.values, { '2024-05-02T00:00:00.000Z': [{ min: 21.5, max: 22 }] });
  const file = await client.measurement.getMeasurementsFile({ source: id, ...RANGE }, { Accept: 'text/csv' });
  t.equal(file.status, 200);
  const lines = (await file.text()).trim().split('\n');
  t.equal(lines.length, 3);
  t.match(lines[1], /,Measured,my_M\.T,21\.5,C/);
  t.equal((await client.measurement.delete(created.id)).res.status, 204);
  t.equal((await client.measurement.list({ source: id })).data.length, 1);
  t.match(await failure(client.measurement.detail(created.id)), {
    res: { status: 404 },
    data: { error: 'measurement/Not Found' },
  });
  const { data: usual } = await client.measurement.create({ sourceId: id, my_M: { T: { value: 1 } } });
  t.match(usual, { type: 'c8y_Measurement', time: /^\d{4}-/ }, 'type and time of the client');
});

t.test('AlarmService', async (t) => {
  const id = await createDevice('Alarmed');
  const { data: created, res } = await client.alarm.create({
    source: { id },
    type: 'my_A',
    text: 'text',
    severity: 'MAJOR',
    time: TIME,
  });
  t.equal(res.status, 201);
  t.match(created, { status: 'ACTIVE', count: 1, severity: 'MAJOR' });
  t.match(
    (await client.alarm.create({ source: { id }, type: 'my_A', text: 'text', severity: 'MAJOR', time: TIME })).data,
    { id: created.id, count: 2 },
  );
  t.match((await client.alarm.update({ id: created.id, status: 'ACKNOWLEDGED' })).data, { status: 'ACKNOWLEDGED' });
  const { data: detail } = await client.alarm.detail(created.id);
  t.match(detail, { id: created.id, status: 'ACKNOWLEDGED', history: { auditRecords: { length: 2 } } });
  t.match(
    (await client.alarm.update({ ...detail, severity: 'MINOR' })).data,
    { status: 'ACKNOWLEDGED', severity: 'MINOR' },
    'as it was read',
  );
  t.equal((await client.alarm.list({ source: id, status: 'ACKNOWLEDGED', severity: 'MINOR' })).data.length, 1);
  t.equal((await client.alarm.list({ source: id, resolved: true })).data.length, 0);
  t.equal((await client.alarm.count({ source: id })).data, 1);
  t.equal((await client.alarm.count({ source: id, severity: 'CRITICAL' })).data, 0);
  t.equal((await client.alarm.updateBulk({ status: 'CLEARED' }, { source: id, resolved: false })).status, 200);
  t.same(
    (await client.alarm.list({ source: id, resolved: true })).data.map(({ id: one }: any) => one),
    [created.id],
  );
  t.match((await client.alarm.detail(created)).data, { status: 'CLEARED' });
  const { data: device } = await client.inventory.detail(id);
  const { data: other } = await client.alarm.create({
    source: device,
    type: 'my_B',
    text: 'text',
    severity: 'MAJOR',
    time: '2018-05-02T10:08:00Z',
  });
  t.match(
    (await client.alarm.update({ id: other.id, source: device, severity: 'MINOR', text: 'changed' })).data,
    { severity: 'MINOR', text: 'changed', source: { id } },
    'with the whole device',
  );
  const bulk = await client.alarm.updateBulk({ status: 'ACKNOWLEDGED' }, { resolved: false, severity: 'MINOR' });
  t.ok([200, 202].includes(bulk.status), 'done, or under way on a busy machine');
  await eventually(
    'alarms without a source are acknowledged',
    async () => (await client.alarm.detail(other)).data.status === 'ACKNOWLEDGED',
  );
  t.match(await failure(client.alarm.create({ source: { id }, type: 'my_A' })), {
    res: { status: 422 },
    data: { error: 'undefined/validationError', message: /severity,text,time/ },
  });
});

t.test('EventService and EventBinaryService', async (t) => {
  const id = await createDevice('Eventful');
  const { data: created, res } = await client.event.create({
    source: { id },
    type: 'my_E',
    text: 'text',
    time: TIME,
    more: { a: 1 },
  });
  t.equal(res.status, 201);
  t.match((await client.event.detail(created.id)).data, { id: created.id, more: { a: 1 } });
  t.match((await client.event.update({ id: created.id, text: 'changed' })).data, { text: 'changed', more: { a: 1 } });
  t.match(
    (await client.event.update({ id: created.id, source: (await client.inventory.detail(id)).data, text: 'again' }))
      .data,
    { text: 'again', source: { id } },
    'with the whole device',
  );
  t.equal((await client.event.list({ source: id, type: 'my_E', fragmentType: 'more' })).data.length, 1);
  t.equal((await client.event.list({ source: id, dateFrom: LATER })).data.length, 0);
  const binaries: any = new EventBinaryService(client.core);
  const { data: attached } = await binaries.upload(Buffer.from('hello'), created.id);
  t.match(attached, { source: created.id, length: 5 });
  t.ok((await client.event.detail(created.id)).data.c8y_IsBinary, 'the event tells of it');
  const downloaded = await binaries.download({ id: created.id });
  t.match({ status: downloaded.status, text: await downloaded.text() }, { status: 200, text: 'hello' });
  t.equal(await statusOf(binaries.upload(Buffer.from('again'), created.id)), 409);
  t.equal((await binaries.delete(created)).res.status, 204);
  t.equal(await statusOf(binaries.download(created.id)), 404);
  t.equal((await client.event.list({ source: id })).data.length, 1, 'the event stays');
  t.equal((await client.event.delete(created.id)).res.status, 204);
  t.equal((await client.event.list({ source: id })).data.length, 0);
});

t.test('AuditService', async (t) => {
  const source = { id: await createDevice('Audited') };
  const { data: record, res } = await client.audit.create({
    activity: 'c',
    source,
    text: 't',
    time: TIME,
    type: 'Client',
    severity: 'MINOR',
  });
  t.equal(res.status, 201);
  t.match((await client.audit.detail(record.id)).data, { id: record.id, user: 'admin', activity: 'c', source });
  t.same(
    (await client.audit.list({ type: 'Client', pageSize: 10 })).data.map(({ id }: any) => id),
    [record.id],
  );
  t.same((await client.audit.list({ type: 'Client', user: 'nobody' })).data, []);
});

t.test('every method of these classes was called', async (t) => {
  t.same(leftOut('data'), []);
});
