/** Manifests of microservices, row by row of docs/spec/microservices.md#manifest. */
import t from 'tap';
import {
  manifestSettings,
  manifestText,
  requireMicroserviceManifest,
} from '../../../src/api/applications/microservice-manifest.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import { MANIFEST } from '../../helpers/zip.ts';

const check = (manifest: object): string => {
  try {
    requireMicroserviceManifest(JSON.stringify(manifest));
    return '';
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return error.message;
  }
};
const http = (httpGet: object): object => ({ httpGet });

/** Member, values that are taken, values that are not. */
const ROWS: [member: string, taken: unknown[], refused: unknown[]][] = [
  ['apiVersion', ['1', 'v1', 'v2', 'anything', 1], [{}, [], true]],
  ['name', ['a', 'a-1', 'a'.repeat(23)], ['', 'A', 'a_b', 'a'.repeat(24), 1]],
  [
    'version',
    ['1.0.0', '0.0.1', '1.0.0-SNAPSHOT', '1.0.0-rc.1'],
    ['1', '1.0', '01.0.0', '1.0.0+1', '1.0.0-', 'v1.0.0', 1],
  ],
  ['contextPath', ['hello', 'a.b-c'], ['', '/a', 'a/b', 1]],
  [
    'provider',
    [{ name: 'x' }, { name: 'x', domain: 'd', support: 's' }],
    [{}, { name: '' }, { name: 1 }, { name: 'x', domain: 1 }, 'x'],
  ],
  ['isolation', ['MULTI_TENANT', 'PER_TENANT'], ['', 'multi_tenant', 1]],
  ['scale', ['NONE', 'AUTO'], ['', 'SOME', 1]],
  ['replicas', [1, 5], [0, 6, 1.5, '1']],
  ['billingMode', ['RESOURCES', 'SUBSCRIPTION'], ['', 'FREE']],
  [
    'resources',
    [{}, { cpu: '1' }, { cpu: '0.5', memory: '512M' }, { memory: '1Gi' }],
    [{ cpu: 1 }, { cpu: 'x' }, { cpu: '0.5m' }, { memory: '1X' }, { memory: 512 }, 'x'],
  ],
  ['requestedResources', [{ cpu: '250m', memory: '256M' }], [{ cpu: '-1' }, { memory: 'M' }]],
  ['requiredRoles', [[], ['ROLE_A_READ']], ['ROLE_A', ['a'], [1], ['ROLE_SYSTEM'], ['ROLE_SERVICE_BOOTSTRAP']]],
  ['roles', [[], ['ROLE_MY_ADMIN']], [['role_my'], ['ROLE_DEVICE_BOOTSTRAP']]],
  [
    'settings',
    [
      [],
      [{ key: 'k' }],
      [
        {
          key: 'k',
          defaultValue: 'v',
          editable: true,
          overwriteOnUpdate: false,
          inheritFromOwner: false,
          valueSchema: { type: 'string' },
        },
      ],
    ],
    [
      [{}],
      [{ key: '' }],
      [{ key: 'k', defaultValue: 1 }],
      [{ key: 'k', editable: 'true' }],
      [{ key: 'k', valueSchema: 'x' }],
      {},
    ],
  ],
  ['settingsCategory', ['c'], ['', 1]],
  ...['livenessProbe', 'readinessProbe'].map(
    (probe) =>
      [
        probe,
        [
          {},
          http({ path: '/' }),
          http({ path: '/', port: 80, host: 'h', scheme: 'HTTPS', headers: [{ name: 'a', value: 'b' }] }),
          { exec: { command: ['a'] } },
          { tcpSocket: { port: 80 } },
          { initialDelaySeconds: 200, periodSeconds: 10, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3 },
        ],
        [
          http({ port: '80' }),
          http({ port: 0 }),
          http({ scheme: 'FTP' }),
          http({ headers: [{}] }),
          { exec: {} },
          { tcpSocket: {} },
          { periodSeconds: 0 },
          { failureThreshold: 0 },
          { initialDelaySeconds: -1 },
          'x',
        ],
      ] as [string, unknown[], unknown[]],
  ),
  ['extensions', [[], [{ type: 'a' }]], [[{}], {}]],
  ['unknown', [1, null, {}], []],
];
for (const [member, taken, refused] of ROWS) {
  t.test(member, async (t) => {
    for (const value of taken) t.equal(check({ ...MANIFEST, [member]: value }), '', JSON.stringify(value));
    for (const value of refused)
      t.match(check({ ...MANIFEST, [member]: value }), new RegExp(`${member}|ROLE_`), JSON.stringify(value));
  });
}

t.test('every wrong field is named', async (t) => {
  const message = check({
    name: 'A B',
    replicas: 9,
    scale: 'X',
    provider: {},
    settings: [{ key: 'k' }, {}],
    resources: { cpu: 'x' },
    livenessProbe: { httpGet: { port: 0 } },
  });
  for (const field of [
    'name',
    'replicas',
    'scale',
    'provider.name',
    'settings.1.key',
    'resources.cpu',
    'livenessProbe.httpGet.port',
  ])
    t.ok(message.includes(field), field);
});

t.test('nothing is mandatory at the top', async (t) => t.equal(check({}), ''));

t.test('text: compact, also with a byte order mark', async (t) => {
  t.equal(manifestText(Buffer.from('\uFEFF{ "a": 1.0 }')), '{"a":1.0}');
  for (const text of ['', '{', '[]', '1', 'null'])
    t.throws(() => manifestText(Buffer.from(text)), { code: 'applications/manifest' });
});

t.test('defaults of settings', async (t) => {
  t.same(manifestSettings('{"settings":[{"key":"k","defaultValue":null}]}'), [
    { key: 'k', defaultValue: undefined, editable: false, overwriteOnUpdate: true, inheritFromOwner: true },
  ]);
  t.same(manifestSettings(undefined), []);
});
