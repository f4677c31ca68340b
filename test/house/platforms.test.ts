/** The lock holds the native packages of every platform that the README names. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { UWS_BINARIES, UWS_VERSION } from '../../src/api/http/engines/uws-binaries.ts';
import { ROOT } from '../helpers/root.ts';

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

const PLATFORMS: readonly (readonly [os: string, cpu: string])[] = [
  ['linux', 'x64'],
  ['linux', 'arm64'],
  ['darwin', 'x64'],
  ['darwin', 'arm64'],
];
/** Packages whose native part is a package for each platform. */
const ENGINES = ['chdb', 'lmdb'];
/**
 * Not in the registry that the lock was made with: on these platforms no single node starts, since it takes no other
 * engine than its own (`--clickhouse` is for nodes of a cluster). `npm run platforms` says so.
 */
const WITHOUT_DIGEST = ['darwin-arm64', 'darwin-x64', 'linux-arm64-gnu'].map(
  (platform) => `node_modules/@chdb/lib-${platform}`,
);
/** ABI versions of Node 20, 22 and 24. */
const ABIS = ['115', '127', '137'];

const locked: Readonly<Record<string, LockedPackage>> = JSON.parse(
  readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
).packages;

for (const [os, cpu] of PLATFORMS) {
  t.test(`${os} on ${cpu}`, (t) => {
    for (const engine of ENGINES) {
      const found = Object.entries(locked).filter(
        ([path, one]) => path.startsWith(`node_modules/@${engine}/`) && one.os?.includes(os) && one.cpu?.includes(cpu),
      );
      t.equal(found.length, 1, `${engine} has a package`);
      t.ok(found[0]?.[1].optional, 'other platforms go without it');
    }
    t.end();
  });
}

t.test('what is installed is checked against the lock', (t) => {
  t.same(
    Object.entries(locked)
      .filter(([path, { integrity }]) => path !== '' && !integrity?.startsWith('sha512-'))
      .map(([path]) => path),
    WITHOUT_DIGEST,
  );
  t.end();
});

t.test('the HTTP engine on Linux', (t) => {
  t.same(
    Object.keys(UWS_BINARIES).sort(),
    ['arm64', 'x64'].flatMap((cpu) => ABIS.map((abi) => `linux_${cpu}_${abi}`)),
    'elsewhere node:http serves',
  );
  t.equal(locked['node_modules/uWebSockets.js']?.version, UWS_VERSION);
  t.end();
});
