import t from 'tap';
import { parseMembers } from '../../src/model/documents/json-document.ts';
import { operationResult } from '../../src/model/entities/operation-result.ts';
import { softwareListInPlace, withSoftwareList } from '../../src/model/entities/software-in-place.ts';
import { childrenRow, managedObjectIdRow, operationRows, versionRow } from '../../src/smartrest/rows/operation-rows.ts';
import { templatesRow } from '../../src/smartrest/static/templates.ts';

const rows = (operation: object, hasSoftwareTypes = false): string[] =>
  operationRows(parseMembers(JSON.stringify(operation)), { serial: 'dev1', hasSoftwareTypes });

t.test('operations as rows (docs/spec/smartrest.md#rows-to-devices)', (t) => {
  const packages = [
    { name: 'a', version: '1', url: 'u', softwareType: 'apt', action: 'install' },
    { name: 'b', version: '2', action: 'delete' },
  ];
  const cases: readonly (readonly [object, string[]])[] = [
    [{ c8y_Restart: {} }, ['510,dev1']],
    [{ c8y_Command: { text: 'echo "a", b' } }, ['511,dev1,"echo ""a"", b"']],
    [{ c8y_Configuration: { config: 'a=1\nb=2' } }, ['513,dev1,"a=1\nb=2"']],
    [{ c8y_Firmware: { name: 'fw', version: '1', url: 'u' } }, ['515,dev1,fw,1,u']],
    [{ c8y_Firmware: { name: 'fw', version: '1', url: 'u', isPatch: false } }, ['515,dev1,fw,1,u']],
    [
      { c8y_Firmware: { name: 'fw', version: '1', url: 'u', isPatch: true, dependency: '0.9' } },
      ['525,dev1,fw,1,u,0.9'],
    ],
    [{ c8y_SoftwareList: packages }, ['516,dev1,a,1,u,b,2,']],
    [{ c8y_MeasurementRequestOperation: { requestName: 'LOG' } }, ['517,dev1,LOG']],
    [{ c8y_Relay: { relayState: 'OPEN' } }, ['518,dev1,OPEN']],
    [{ c8y_RelayArray: ['OPEN', { relayState: 'CLOSED' }] }, ['519,dev1,OPEN,CLOSED']],
    [{ c8y_UploadConfigFile: {} }, ['520,dev1']],
    [{ c8y_UploadConfigFile: { type: 'app' } }, ['526,dev1,app']],
    [{ c8y_DownloadConfigFile: { url: 'u' } }, ['521,dev1,u']],
    [{ c8y_DownloadConfigFile: { url: 'u', type: 'app' } }, ['524,dev1,u,app']],
    [
      {
        c8y_LogfileRequest: {
          logFile: 'sys',
          dateFrom: '2013-06-22T17:03:14.000+02:00',
          dateTo: '2013-06-23T00:00:00Z',
          searchText: '',
          maximumLines: 1000,
        },
      },
      ['522,dev1,sys,2013-06-22T17:03:14.000+02:00,2013-06-23T00:00:00Z,,1000'],
    ],
    [{ c8y_CommunicationMode: { mode: 'SMS' } }, ['523,dev1,SMS']],
    [{ c8y_SoftwareUpdate: packages }, ['528,dev1,a,1,u,install,b,2,,delete']],
    [{ c8y_SoftwareList: [{ name: 'a', version: '1', url: ' ' }] }, ['516,dev1,a,1,']],
    [{ c8y_RemoteAccessConnect: { hostname: 'h', port: 22, connectionKey: 'k' } }, ['530,dev1,h,22,k']],
    [
      {
        profileName: 'p',
        c8y_DeviceProfile: {
          firmware: { name: 'fw', version: '1', url: 'u', isPatch: true, dependency: 'd' },
          software: packages,
          configuration: [{ name: 'n', url: 'cu', type: 'ct' }],
        },
      },
      ['527,dev1,$FW,fw,1,u,true,d,$SW,a,1,u,install,b,2,,delete,$CONF,cu,ct'],
    ],
    [{ c8y_DeviceProfile: { software: [], configuration: [{ url: 'cu', type: 'ct' }] } }, ['527,dev1,$CONF,cu,ct']],
    [{ id: '7', status: 'PENDING', description: 'x', my_Operation: { a: 1 } }, []],
    [{ c8y_Restart: {}, my_Other: {}, c8y_Command: { text: 'x' } }, ['510,dev1', '511,dev1,x']],
    [{ c8y_Restart: null }, []],
    [
      { c8y_Command: 'x', c8y_SoftwareList: {}, c8y_Relay: [1], c8y_SoftwareUpdate: [1, null] },
      ['511,dev1,', '516,dev1', '518,dev1,', '528,dev1'],
    ],
  ];
  for (const [operation, want] of cases) t.same(rows(operation), want, JSON.stringify(operation));
  t.equal(versionRow('1017.0.0'), '601,1017.0.0');
  t.match(
    templatesRow(),
    /^603,100,101,102,104,105,106,107,.*,407,408,500,.*,507,510,511,513,515,.*,530,600,601,602,603$/,
  );
  t.same(rows({ c8y_SoftwareUpdate: packages }, true), ['529,dev1,a,1,apt,u,install,b,2,,,delete']);
  t.equal(childrenRow(['c1', 'c,2']), '106,c1,"c,2"');
  t.equal(childrenRow([]), '106');
  t.equal(managedObjectIdRow('251'), '124,251');
  t.end();
});

t.test('changes of software as the list that the device is to have (docs/spec/software.md#operations)', async (t) => {
  const device: Record<string, unknown> = {
    c8y_SoftwareList: [
      { name: 'a', version: '0', url: 'old', softwareType: 'apt' },
      { name: 'b', version: '2' },
      { name: 'b', version: '3' },
      { name: 'c', version: 4 },
    ],
  };
  const objects: Record<string, unknown> = { 5: device };
  const documents = {
    get: (collection: string, _tenant: number, id: string) => {
      const value = collection === 'softwareList' ? objects['list'] && '6' : JSON.stringify(objects[id]);
      return value as string | undefined;
    },
  };
  const wanted = async (update: unknown, further: object = {}): Promise<string | undefined> => {
    const operation = parseMembers(
      JSON.stringify({ deviceId: '5', status: 'PENDING', c8y_SoftwareUpdate: update, ...further }),
    );
    const list = await softwareListInPlace(documents, 1, operation);
    if (list === undefined) return undefined;
    return operationRows(withSoftwareList(operation, list), { serial: 's', hasSoftwareTypes: true }).join('\n');
  };
  const action = (name: string, version: string, how: string, softwareType = ''): object => ({
    name,
    version,
    url: ' ',
    action: how,
    softwareType,
  });
  const all = 'a,0,old,b,2,,b,3,,c,4,';
  t.equal(await wanted('x'), `516,s,${all}`);
  t.equal(
    await wanted([action('a', '1', 'install'), action('b', '2', 'delete'), action('d', '1', 'install')]),
    '516,s,a,0,old,a,1,,b,3,,c,4,,d,1,',
    'name and version tell packages from each other',
  );
  t.equal(await wanted([action('c', '4', 'install')]), `516,s,${all}`, 'in its place');
  t.equal(await wanted([action('d', '1', 'install'), action('d', '1', 'delete')]), `516,s,${all}`, 'in their order');
  t.equal(await wanted([action('a', '0', 'delete', 'snap')]), `516,s,${all}`, 'another kind');
  t.equal(await wanted([action('b', '', 'delete')]), '516,s,a,0,old,c,4,', 'every version');
  t.equal(await wanted([], { status: 'SUCCESSFUL' }), undefined, 'what is over stays as it was');
  objects['list'] = true;
  objects['6'] = { c8y_SoftwareList: [{ name: 'advanced', version: '1' }] };
  t.equal(await wanted([]), '516,s,advanced,1,', 'the list beside the device');
  device['c8y_SupportedOperations'] = ['c8y_SoftwareUpdate'];
  t.equal(await wanted([]), undefined);
  const many = Array.from({ length: 20_000 }, (_, index) => action('x', String(index % 10_000), 'delete', 'k'));
  delete device['c8y_SupportedOperations'];
  t.equal(await wanted([...many, ...many.map((one) => ({ ...one, version: '' }))]), '516,s,advanced,1,');
});

t.test('what a device answers with 503 and 506 (docs/spec/smartrest.md#results)', (t) => {
  const result = (operation: object, ...parameters: string[]): unknown => {
    const { members, managedObjectDoc } = operationResult(
      parseMembers(JSON.stringify(operation)),
      parameters,
      Date.UTC(2024, 4, 2),
    );
    return [Object.fromEntries(members), managedObjectDoc];
  };
  t.same(result({ c8y_Command: { text: 'ls' } }, 'a\nb'), [
    { c8y_Command: '{"text":"ls","result":"a\\nb"}' },
    undefined,
  ]);
  t.same(result({ c8y_Command: { text: 'cd' } }), [{ c8y_Command: '{"text":"cd","result":""}' }, undefined]);
  t.same(result({ c8y_Command: { text: 'ls', result: 'a' } }), [{}, undefined], 'told before');
  t.same(result({ c8y_LogfileRequest: { logFile: 'x', file: 'old' } }, 'http://x'), [
    { c8y_LogfileRequest: '{"logFile":"x","file":"http://x"}' },
    undefined,
  ]);
  t.same(result({ c8y_RelayArray: ['OPEN'] }, 'CLOSED'), [{}, '{"c8y_RelayArray":["CLOSED"]}']);
  t.same(result({ c8y_Relay: { relayState: 'OPEN' } }, 'OPEN'), [{}, '{"c8y_Relay":{"relayState":"OPEN"}}']);
  t.same(result({ c8y_CommunicationMode: {} }, 'IP'), [{}, '{"c8y_CommunicationMode":{"mode":"IP"}}']);
  t.same(result({ c8y_DownloadConfigFile: { url: 'u', 'c8y_ConfigurationDump.id': '9' } }), [
    {},
    '{"c8y_ConfigurationDump":{"id":"9","time":"2024-05-02T00:00:00.000Z"}}',
  ]);
  t.same(result({ c8y_DownloadConfigFile: { url: 'u', c8y_ConfigurationDump: { id: '9' } } }, '2024-01-01'), [
    {},
    '{"c8y_ConfigurationDump":{"id":"9","time":"2024-01-01T00:00:00.000Z"}}',
  ]);
  for (const time of ['tomorrow', '1899-12-31T00:00:00Z'])
    t.throws(() => result({ c8y_DownloadConfigFile: { 'c8y_ConfigurationDump.id': '9' } }, time), {
      message: `The field time has the value ${time}; it takes an ISO 8601 timestamp from 1900 to 2299`,
    });
  t.same(result({ c8y_DownloadConfigFile: { url: 'u', type: 'app' } }, 'x'), [{}, undefined]);
  t.same(result({ c8y_Firmware: {} }, 'x'), [{}, undefined]);
  t.same(result({ c8y_CommunicationMode: { mode: 'SMS' } }), [{}, '{"c8y_CommunicationMode":{"mode":"SMS"}}']);
  t.same(result({ c8y_Relay: { relayState: 'OPEN' }, c8y_RelayArray: ['OPEN'] }), [{}, undefined]);
  t.same(
    result(
      { c8y_Command: { text: 'ls' }, c8y_Relay: {}, c8y_DownloadConfigFile: { 'c8y_ConfigurationDump.id': '9' } },
      'a',
    ),
    [
      { c8y_Command: '{"text":"ls","result":"a"}' },
      '{"c8y_ConfigurationDump":{"id":"9","time":"2024-05-02T00:00:00.000Z"}}',
    ],
    'the parameters are about one fragment',
  );
  const named = operationResult(parseMembers('{"c8y_Command":{},"c8y_Relay":{}}'), ['OPEN'], 0, 'c8y_Relay');
  t.same([[...named.members], named.managedObjectDoc], [[], '{"c8y_Relay":{"relayState":"OPEN"}}'], 'of 503 its own');
  t.end();
});
