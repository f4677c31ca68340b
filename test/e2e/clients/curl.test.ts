/** curl against the server: what the README shows, status codes and bodies of errors, media types, paging. */
import { spawn } from 'node:child_process';
import t from 'tap';
import { PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('curl');
const server = await startServer(t);
const { rest } = server;
const TIME = '2024-05-02T10:00:00.000Z';
const LOGIN = `${TENANT}/admin:${PASSWORD}`;

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
  json: any;
}

/** Runs `curl -i` with further arguments; the last one is the path. */
async function curl(...args: string[]): Promise<Answer> {
  const path = args.pop() as string;
  const child = spawn(
    'curl',
    ['-s', '-i', '--http1.1', '-m', '20', ...args, path.startsWith('http') ? path : server.url + path],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`curl ended with ${code}: ${args.join(' ')} ${path}`);
  let text = Buffer.concat(chunks).toString('utf8');
  while (/^HTTP\/1\.1 1\d\d/.test(text)) text = text.slice(text.indexOf('\r\n\r\n') + 4);
  const end = text.indexOf('\r\n\r\n');
  const [first, ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = text.slice(end + 4);
  return {
    status: Number(first.split(' ')[1]),
    headers,
    body,
    get json() {
      return JSON.parse(body);
    },
  };
}
const asAdmin = (...args: string[]): Promise<Answer> => curl('-u', LOGIN, ...args);

const device = skip === false ? await rest.createDevice('Curled, "quoted"') : '';

t.test('post a measurement, list it, as JSON and as CSV', { skip }, async (t) => {
  const body = JSON.stringify({
    source: { id: device },
    time: TIME,
    type: 'c8y_Env',
    c8y_Env: { T: { value: 21.5, unit: 'C' } },
  });
  const posted = await asAdmin(
    '-H',
    'Content-Type: application/json',
    '-H',
    'Accept: application/json',
    '-d',
    body,
    '/measurement/measurements',
  );
  t.equal(posted.status, 201);
  t.equal(posted.headers['location'], `${server.url}/measurement/measurements/${posted.json.id}`);
  t.match(posted.json, {
    self: posted.headers['location'],
    source: { id: device },
    time: TIME,
    type: 'c8y_Env',
    c8y_Env: { T: { value: 21.5, unit: 'C' } },
  });
  t.equal((await asAdmin(posted.headers['location'])).json.id, posted.json.id);
  const list = await asAdmin(`/measurement/measurements?source=${device}`);
  t.match(list.json, {
    measurements: [{ id: posted.json.id }],
    statistics: { currentPage: 1, pageSize: 5 },
    self: /\/measurement\/measurements\?/,
  });
  const csv = await asAdmin('-H', 'Accept: text/csv', `/measurement/measurements?source=${device}`);
  t.match(csv.headers['content-type'], /^text\/csv/);
  t.equal(
    csv.body,
    `time,source,device_name,fragment.series,value,unit\r\n${TIME},${device},"Curled, ""quoted""",c8y_Env.T,21.5,C\r\n`,
  );
});

t.test('POST without Accept has no body, with any has one', { skip }, async (t) => {
  const silent = await asAdmin(
    '-H',
    'Accept:',
    '-H',
    'Content-Type: application/json',
    '-d',
    '{"name":"a"}',
    '/inventory/managedObjects',
  );
  t.match(silent, { status: 201, body: '' });
  t.match(silent.headers['location'], /\/inventory\/managedObjects\/\d+$/);
  const spoken = await asAdmin(
    '-H',
    'Content-Type: application/json',
    '-d',
    '{"name":"a"}',
    '/inventory/managedObjects',
  );
  t.equal(spoken.json.name, 'a', 'curl sends */*');
  const changed = await asAdmin(
    '-X',
    'PUT',
    '-H',
    'Accept:',
    '-H',
    'Content-Type: application/json',
    '-d',
    '{"name":"b"}',
    silent.headers['location'],
  );
  t.match(changed, { status: 200, body: '' });
});

t.test('401: with wrong credentials, without any, and for the login dialog', { skip }, async (t) => {
  const wrong = await curl('-u', `${TENANT}/admin:wrong`, '/inventory/managedObjects');
  t.match(wrong, {
    status: 401,
    json: { error: 'security/Unauthorized', message: 'Invalid credentials! : Bad credentials' },
  });
  t.match(wrong.headers['www-authenticate'], /^Basic realm=/);
  t.match(wrong.headers['content-type'], /application\/vnd\.com\.nsn\.platform\.error\+json/);
  const none = await curl('/inventory/managedObjects');
  t.match(none, { status: 401, json: { error: 'general/internalError', message: 'No auth information found' } });
  const silent = await curl('-H', 'UseXBasic: true', '/inventory/managedObjects');
  t.match(silent.headers['www-authenticate'], /^XBasic/);
  for (const authorization of ['Basic', 'Basic !!!', 'Bearer x', 'Basic dDE=']) {
    t.equal(
      (await curl('-H', `Authorization: ${authorization}`, '/inventory/managedObjects')).status,
      401,
      authorization,
    );
  }
  t.equal((await curl('-u', `admin:${PASSWORD}`, '/user/currentUser')).status, 200, 'the user without tenant');
});

t.test('unknown paths and ids, methods, media types', { skip }, async (t) => {
  t.match(await asAdmin('/nothing/here'), { status: 404, json: { error: /./, message: /./ } });
  for (const [path, error] of [
    ['/measurement/measurements/999', 'measurement/Not Found'],
    ['/event/events/999', 'event/Not Found'],
    ['/alarm/alarms/999', 'alarm/Not Found'],
    ['/inventory/managedObjects/999999', 'inventory/Not Found'],
    ['/inventory/managedObjects/abc', 'inventory/Not Found'],
    ['/devicecontrol/operations/999', 'devicecontrol/Not Found'],
    ['/identity/externalIds/c8y_Serial/none', 'identity/Not Found'],
  ] as const) {
    t.match(await asAdmin(path), { status: 404, json: { error } }, path);
  }
  const method = await asAdmin(
    '-X',
    'PUT',
    '-H',
    'Content-Type: application/json',
    '-d',
    '{}',
    '/measurement/measurements/1',
  );
  t.equal(method.status, 405);
  t.match(method.headers['allow'], /GET/);
  t.equal((await asAdmin('-X', 'PATCH', '/inventory/managedObjects')).status, 405);
  t.equal((await asAdmin('-H', 'Content-Type: text/xml', '-d', '<a/>', '/inventory/managedObjects')).status, 415);
  t.equal((await asAdmin('-d', 'a=b', '/inventory/managedObjects')).status, 415, 'a form');
  t.equal(
    (await asAdmin('-H', 'Content-Type: application/json;charset=latin1', '-d', '{}', '/inventory/managedObjects'))
      .status,
    415,
  );
  t.equal((await asAdmin('-H', 'Accept: image/png', '/inventory/managedObjects')).status, 406);
  t.equal(
    (await asAdmin('-H', 'Content-Type: application/json', '-d', '{"name":', '/inventory/managedObjects')).status,
    400,
  );
  t.equal(
    (await asAdmin('-H', 'Content-Type: application/json', '-d', '[]', '/inventory/managedObjects')).status >= 400,
    true,
  );
  t.match(await asAdmin('-H', 'Content-Type: application/json', '-d', '{}', '/alarm/alarms'), {
    status: 422,
    json: { error: 'undefined/validationError', message: /^Following mandatory fields should be included: .*severity/ },
  });
  t.equal(
    (
      await asAdmin(
        '-X',
        'POST',
        '-H',
        'X-HTTP-METHOD: PUT',
        '-H',
        'Content-Type: application/json',
        '-d',
        '{"name":"by override"}',
        `/inventory/managedObjects/${device}`,
      )
    ).json.name,
    'by override',
  );
});

t.test('media types: both spellings, any letter case, ver and charset', { skip }, async (t) => {
  for (const type of [
    'application/vnd.com.nsn.platform.managedObject+json',
    'application/vnd.com.nsn.cumulocity.managedObject+json',
    'APPLICATION/VND.COM.NSN.CUMULOCITY.MANAGEDOBJECT+JSON;VER=0.9;CHARSET=UTF-8',
    'application/vnd.com.nsn.platform.managedobject+json; charset="utf-8"; ver=0.9',
    'application/json;charset=UTF-8;ver=0.9',
    'Application/Json',
    'application/json ; charset=utf8',
  ]) {
    const { status, json } = await asAdmin(
      '-H',
      `Content-Type: ${type}`,
      '-d',
      '{"name":"ä"}',
      '/inventory/managedObjects',
    );
    t.equal(status, 201, type);
    t.equal(json.name, 'ä');
  }
  const answerTo = async (accept: string): Promise<string> =>
    (await asAdmin('-H', `Accept: ${accept}`, `/inventory/managedObjects/${device}`)).headers['content-type'];
  t.match(
    await answerTo('application/vnd.com.nsn.cumulocity.managedObject+json'),
    /^application\/vnd\.com\.nsn\.cumulocity\.managedObject\+json/i,
  );
  t.match(
    await answerTo('APPLICATION/VND.COM.NSN.CUMULOCITY.MANAGEDOBJECT+JSON;ver=0.9'),
    /^application\/vnd\.com\.nsn\.cumulocity\.managedObject\+json/i,
  );
  t.match(
    await answerTo('application/vnd.com.nsn.platform.managedObject+json'),
    /^application\/vnd\.com\.nsn\.platform\.managedObject\+json/i,
  );
  t.match(await answerTo('application/json'), /^application\/json/);
  t.match(await answerTo('*/*'), /json/);
  const collection = {
    measurements: [
      { source: { id: device }, time: TIME, type: 'x' },
      { source: { id: device }, time: TIME, type: 'x' },
    ],
  };
  const bulk = await asAdmin(
    '-H',
    'Content-Type: application/vnd.com.nsn.cumulocity.measurementCollection+json;ver=0.9',
    '-d',
    JSON.stringify(collection),
    '/measurement/measurements',
  );
  t.equal(bulk.status, 201);
  t.equal(bulk.json.measurements.length, 2);
  t.equal(bulk.headers['location'], undefined);
});

t.test('HEAD, OPTIONS, trailing slash', { skip }, async (t) => {
  const head = await asAdmin('-I', `/inventory/managedObjects/${device}`);
  t.match(head, { status: 200, body: '' });
  const options = await curl(
    '-X',
    'OPTIONS',
    '-H',
    'Origin: http://example.com',
    '-H',
    'Access-Control-Request-Method: PUT',
    '/inventory/managedObjects',
  );
  t.ok([200, 204].includes(options.status));
  t.match(options.headers['access-control-allow-methods'], /PUT/);
  t.match(options.headers['access-control-allow-headers'], /authorization/i);
  t.equal((await asAdmin('-H', 'Origin: http://example.com', '/platform')).headers['access-control-allow-origin'], '*');
  t.equal(
    (
      await asAdmin(
        '-H',
        'Content-Type: application/json',
        '-d',
        JSON.stringify({ source: { id: device }, type: 'e', time: TIME, text: 't' }),
        '/event/events/',
      )
    ).status,
    201,
  );
});

t.test('root resources and the description', { skip }, async (t) => {
  const platform = (await asAdmin('/platform')).json;
  for (const area of ['alarm', 'deviceControl', 'event', 'identity', 'inventory', 'measurement', 'tenant', 'user'])
    t.match(platform[area], { self: /^http/ }, area);
  for (const area of ['measurement', 'inventory', 'event', 'alarm', 'identity', 'devicecontrol'])
    t.match(await asAdmin(`/${area}`), { status: 200, json: { self: `${server.url}/${area}` } }, area);
  const description = await curl('/openapi.json');
  t.equal(description.status, 200);
  t.match(description.json.openapi, /^3\.1\./);
  t.ok(description.json.paths['/inventory/managedObjects/{id}'].get);
  for (const [accept, target] of [
    ['text/html,*/*;q=0.8', '/console/'],
    ['*/*', '/openapi'],
  ])
    t.match(await curl('-H', `Accept: ${accept}`, '/'), { status: 302, headers: { location: server.url + target } });
  t.match(await curl('-H', 'Accept: text/html', '/openapi'), { status: 200, body: /<html/i });
  t.equal((await curl('/tenant/loginOptions')).status, 200);
  t.equal((await asAdmin('/tenant/currentTenant')).json.name, TENANT);
  t.equal((await asAdmin('/user/currentUser')).json.userName, 'admin');
  t.match((await asAdmin('/tenant/system/options/system/version')).json.value, /^10\d\d\./);
  t.equal((await curl('/health')).status, 200);
  t.equal((await curl('/health/ready')).status, 200);
  const metrics = (await curl('/metrics')).body;
  t.match(metrics, /^# TYPE millrace_messages_total counter/m);
});

t.test('percent encodings', { skip }, async (t) => {
  const check = async (type: string, externalId: string): Promise<void> => {
    await rest.create(`/identity/globalIds/${device}/externalIds`, { type, externalId });
    const path = `/identity/externalIds/${encodeURIComponent(type)}/${encodeURIComponent(externalId)}`;
    t.match((await asAdmin('--path-as-is', path)).json, { type, externalId, managedObject: { id: device } }, path);
    t.match(
      (await asAdmin('--path-as-is', (await asAdmin('--path-as-is', path)).json.self)).json,
      { externalId },
      'its own link',
    );
  };
  await check('my type', 'a/b c?d#e&f=g%h+i');
  await check('ünïcode', '日本語 😀');
  await check('dots', '..');
  t.equal((await asAdmin('/identity/externalIds/my%20type/%zz')).status >= 400, true);
  await rest.create('/inventory/managedObjects', { type: 'a+b c', name: 'plus' });
  t.equal((await asAdmin('/inventory/managedObjects?type=a%2Bb%20c')).json.managedObjects.length, 1);
  t.equal((await asAdmin('/inventory/managedObjects?type=a%2Bb+c')).json.managedObjects.length, 1);
  await rest.create('/event/events', {
    source: { id: device },
    type: 'dated',
    time: '2024-05-02T12:00:00.000+02:00',
    text: 't',
  });
  const dated = async (from: string, to: string): Promise<number> =>
    (await asAdmin(`/event/events?type=dated&dateFrom=${from}&dateTo=${to}`)).json.events.length;
  t.equal(await dated('2024-05-02T12:00:00.000%2B02:00', '2024-05-02T10:00:00.000Z'), 1, 'both ends inclusive');
  t.equal(await dated('2024-05-02T12:00:00.000+02:00', '2024-05-03'), 1, 'a plus that was not encoded');
  t.equal(await dated('2024-05-02T10:00:00.001Z', '2024-05-03'), 0);
});

t.test('pages: the next links lead through everything once, to the end', { skip }, async (t) => {
  const source = await rest.createDevice('Paged');
  const measurements = Array.from({ length: 23 }, (_, index) => ({
    source: { id: source },
    time: new Date(Date.parse(TIME) + index).toISOString(),
    type: 'p',
    f: { s: { value: index } },
  }));
  await rest.create('/measurement/measurements', { measurements });
  const seen: number[] = [];
  let pages = 0;
  let previous: string | undefined;
  for (
    let link: string | undefined = `${server.url}/measurement/measurements?source=${source}&pageSize=5&type=p`;
    link !== undefined;
  ) {
    const page: any = (await asAdmin(link)).json;
    pages += 1;
    t.equal(page.statistics.currentPage, pages);
    t.equal(page.prev !== undefined, pages > 1);
    if (page.prev !== undefined) t.equal((await asAdmin(page.prev)).json.self, previous);
    previous = page.self;
    for (const measurement of page.measurements) seen.push(measurement.f.s.value);
    link = page.measurements.length === 0 ? undefined : page.next;
    t.ok(pages < 10);
  }
  t.same(
    seen,
    measurements.map((_, index) => index),
  );
  const counted = (
    await asAdmin(`/measurement/measurements?source=${source}&pageSize=5&withTotalPages=true&withTotalElements=true`)
  ).json;
  t.match(counted.statistics, { totalPages: 5, totalElements: 23, pageSize: 5, currentPage: 1 });
  const newest = (
    await asAdmin(
      `/measurement/measurements?source=${source}&dateFrom=1970-01-01&dateTo=2099-01-01&revert=true&pageSize=1`,
    )
  ).json;
  t.equal(newest.measurements[0].f.s.value, 22);
  t.equal((await asAdmin(`/measurement/measurements?source=${source}&pageSize=5000`)).json.statistics.pageSize, 2000);
  t.equal((await asAdmin(`/measurement/measurements?source=${source}&pageSize=0`)).status, 422);
});

t.test('deleting measurements: one by its id, then by filters', { skip }, async (t) => {
  const source = await rest.createDevice('Deleted');
  const ids: string[] = [];
  for (const value of [1, 2, 3])
    ids.push(
      (
        await rest.create('/measurement/measurements', {
          source: { id: source },
          time: TIME,
          type: `d${value}`,
          f: { s: { value } },
        })
      ).id,
    );
  t.equal((await asAdmin('-X', 'DELETE', `/measurement/measurements/${ids[0]}`)).status, 204);
  t.equal((await asAdmin(`/measurement/measurements/${ids[0]}`)).status, 404);
  t.equal((await asAdmin('-X', 'DELETE', `/measurement/measurements?source=${source}&type=d2`)).status, 204);
  // A slow engine may take more than the two seconds that readers wait for.
  await eventually('only d3 is there', async () => {
    const { measurements } = (await asAdmin(`/measurement/measurements?source=${source}`)).json;
    return measurements.map(({ type }: any) => type).join() === 'd3';
  });
});

t.test('processing modes by header, in both spellings', { skip }, async (t) => {
  const source = await rest.createDevice('Modes');
  const post = async (mode: string, header = 'X-Platform-Processing-Mode'): Promise<Answer> =>
    asAdmin(
      '-H',
      `${header}: ${mode}`,
      '-H',
      'Content-Type: application/json',
      '-d',
      JSON.stringify({ source: { id: source }, time: TIME, type: mode, text: 't' }),
      '/event/events',
    );
  for (const mode of ['PERSISTENT', 'TRANSIENT', 'QUIESCENT', 'CEP']) t.equal((await post(mode)).status, 201, mode);
  t.equal((await post('TRANSIENT', 'X-Cumulocity-Processing-Mode')).status, 201);
  t.ok((await post('SOMETHING')).status >= 400);
  t.same((await asAdmin(`/event/events?source=${source}`)).json.events.map((event: any) => event.type).sort(), [
    'PERSISTENT',
    'QUIESCENT',
  ]);
  const measurement = await asAdmin(
    '-H',
    'X-Cumulocity-Processing-Mode: transient',
    '-H',
    'Content-Type: application/json',
    '-d',
    JSON.stringify({ source: { id: source }, time: TIME, type: 'm', f: { s: { value: 1 } } }),
    '/measurement/measurements',
  );
  t.equal(measurement.status, 201);
  t.same((await asAdmin(`/measurement/measurements?source=${source}`)).json.measurements, []);
});
