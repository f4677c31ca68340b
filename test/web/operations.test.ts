/** What the screens of operations compute, without a browser: rows that devices send, differences, files, filters. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { commandOf, memberText, repeatOf } from '../../web/screens/operations/operation.ts';
import type { Operation } from '../../web/screens/operations/operation.ts';
import { isWanted } from '../../web/screens/operations/list.ts';
import { isCapable, supportRow } from '../../web/screens/operations/device/capability.ts';
import { differenceOf } from '../../web/parts/difference/difference.tsx';
import { operationFault } from '../../web/screens/operations/json.ts';
import { ownPath } from '../../web/screens/operations/device/own-file.tsx';
import { connectCommand, listenCommand } from '../../web/screens/operations/device/remote.tsx';
import { words } from '../../web/screens/operations/text.ts';
import { memberQuery } from '../../web/screens/groups/group-object.ts';
import { boxQuery, clustersOf, viewOf, viewText } from '../../web/screens/map/places.ts';
import { csvCells, failedFile, meaningOf, readCsv } from '../../web/screens/registration/csv.ts';

const run = promisify(execFile);
const OPERATION: Operation = {
  id: '7',
  deviceId: '42',
  status: 'FAILED',
  creationTime: '2026-11-21T14:03:00.000Z',
  description: 'Once',
  failureReason: 'no power',
  bulkOperationId: '3',
  deviceName: 'Pump',
  deviceExternalIDs: {},
  c8y_Command: { text: 'uptime', result: 'up' },
};

t.test('an operation is known by its fragment, and repeated without what the server set', async (t) => {
  t.equal(commandOf(OPERATION), 'c8y_Command');
  t.equal(memberText(OPERATION, 'c8y_Command', 'result'), 'up');
  t.same(repeatOf(OPERATION), { description: 'Once', c8y_Command: { text: 'uptime', result: 'up' } });
  t.ok(isWanted(OPERATION, { deviceId: '42', status: 'FAILED', fragmentType: 'c8y_Command' }));
  for (const filter of [
    { deviceId: '43' },
    { status: 'PENDING' },
    { fragmentType: 'c8y_Restart' },
    { bulkOperationId: '4' },
  ])
    t.notOk(isWanted(OPERATION, filter), JSON.stringify(filter));
});

t.test('what a device has to send keeps what it takes already', async (t) => {
  const device = { c8y_SupportedOperations: ['c8y_Restart', 'a,b'] };
  t.notOk(isCapable(device, 'shell'));
  t.ok(isCapable({ c8y_SupportedOperations: ['c8y_SoftwareList'] }, 'software'));
  t.equal(supportRow(device, ['c8y_Command']), '114,c8y_Restart,"a,b",c8y_Command');
});

t.test('a JSON operation says what is missing or not allowed in it', async (t) => {
  const text = words();
  t.equal(operationFault('{"c8y_Restart": {}}', text), undefined);
  t.match(operationFault('{"c8y_Restart": ', text), /Line 1, column \d+/);
  t.match(operationFault('{"deviceId": "1", "c8y_Restart": {}}', text), /deviceId is set/);
  t.match(operationFault('{"description": "x"}', text), /fragment/);
});

t.test('the difference of two texts leaves out what is far from a change', async (t) => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  const changed = lines.map((line, index) => (index === 10 ? 'other' : line));
  t.same(differenceOf('same\n', 'same\n'), []);
  const found = differenceOf(lines.join('\n'), changed.join('\n')) ?? [];
  t.same(
    found.filter(({ kind }) => kind !== 'same').map(({ kind, count }) => [kind, count]),
    [
      ['skipped', 7],
      ['removed', 1],
      ['added', 1],
      ['skipped', 6],
    ],
  );
});

t.test('files are read from this server alone', async (t) => {
  const device = { id: '1', self: 'https://iot.example/inventory/managedObjects/1' };
  t.equal(ownPath('https://iot.example/event/events/5/binaries', device), '/event/events/5/binaries');
  t.equal(ownPath('http://localhost/inventory/binaries/5', device), '/inventory/binaries/5');
  t.equal(ownPath('https://evil.example/event/events/5/binaries', device), undefined);
  t.equal(ownPath('https://iot.example/user/t1/users', device), undefined);
});

t.test('a CSV file is read with its separator, quotes and line breaks in cells', async (t) => {
  const csv = readCsv('\uFEFFID;NAME;ID;external-tag;c8y_Hardware.model\r\n1;"Pump; ""1""\nfront";;;\n\n2;;;;\n');
  t.equal(csv.separator, ';');
  t.equal(csv.lines.length, 2);
  t.same(csvCells(csv.lines[0], ';'), ['1', 'Pump; "1"\nfront', '', '', '']);
  t.same(
    csv.columns.map((_, index) => meaningOf(csv.columns, index)),
    ['known', 'known', 'twice', 'external', 'member'],
  );
  t.equal(failedFile('ID', [{ deviceId: '', failureReason: 'it has no ID', line: ';x' }]), 'ID\n;x\n');
});

t.test('the members of a dynamic group are found by its query and a name', async (t) => {
  t.equal(memberQuery("$filter=(type eq 'a') $orderby=name asc", ''), "$filter=(type eq 'a')");
  t.equal(memberQuery('a eq 1 or b eq 2', "O'"), "$filter=(a eq 1 or b eq 2) and name eq 'O''*'");
});

t.test('the map: views in the address, boxes as queries, near places as one', async (t) => {
  t.equal(viewText(viewOf('48.1,11.5,6')), '48.1000,11.5000,6');
  t.equal(viewOf('x,y').zoom, 2);
  t.match(boxQuery({ south: -100, west: -10, north: 10, east: 10 }), /lat ge -90\.000000 and .*lng ge -10/);
  t.notMatch(boxQuery({ south: -1, west: -300, north: 1, east: 300 }), /lng/);
  const places = [1, 1.5, 40].map((lat, index) => ({ id: String(index), name: 'x', lat, lng: 5 }));
  t.same(
    clustersOf(places, 10).map((cluster) => cluster.places.length),
    [2, 1],
  );
});

t.test('the command of remote access fits the protocol, whatever stands in its words', async (t) => {
  const login = { url: 'http://iot', tenant: 't1', user: "o'k" };
  const ssh = connectCommand('7', { hostname: '127.0.0.1', port: 22, protocol: 'SSH' }, login);
  t.match(ssh, /^ssh -o ProxyCommand="millrace connect 7 .*" 'root@7'$/);
  t.match(connectCommand('7', { hostname: 'plc', port: 5900, protocol: 'VNC' }, login), /--port 5900 .*--listen 5900$/);
  t.match(listenCommand('7', { hostname: 'plc', port: 23, protocol: 'TELNET' }, login), /--listen 10023$/);
  const hostile = connectCommand('7', { hostname: '$(id)`id`"%h', port: 22, protocol: 'SSH' }, login);
  // What the shell hands to ssh, with `millrace` and `ssh` replaced by echo.
  const { stdout } = await run('sh', ['-c', hostile.replace(/^ssh/, 'printf "%s\\n"')]);
  t.match(stdout, /^-o\nProxyCommand=millrace connect 7 --host '\$\(id\)`id`"%%h' .*--user 'o'\\''k'\nroot@7\n$/);
});
