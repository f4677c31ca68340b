/** The deployment files name settings and metrics that exist. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { environmentName } from '../../src/config/settings.ts';
import { loadConfig, SETTINGS } from '../../src/config/config.ts';
import { canSyncAlways } from '../helpers/stores/nats-server.ts';
import { ROOT } from '../helpers/root.ts';
import { scratchDirectory } from '../helpers/setup-command.ts';
import { missing } from '../helpers/tools.ts';

const FOLDER = join(ROOT, 'deploy');
const files = (folder: string, ending: RegExp): { name: string; text: string }[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));

const source = files(join(ROOT, 'src'), /\.ts$/)
  .map(({ text }) => text)
  .join('\n');

t.test('environment variables are settings', async (t) => {
  const known = new Set(SETTINGS.map((setting) => environmentName(setting)));
  const used = files(FOLDER, /(\.(ya?ml|example|md|service|conf|cfg)|Caddyfile)$/).flatMap(({ name, text }) =>
    [...text.matchAll(/\bMILLRACE_[A-Z_]+[A-Z]\b/g)].map(([variable]) => ({ name, variable })),
  );
  t.ok(used.length > 10, 'some were found');
  t.same(
    used.filter(({ variable }) => !known.has(variable)),
    [],
  );
});

t.test('no placeholder is taken at the start', async (t) => {
  for (const name of ['compose/.env.example', 'kubernetes/secret.yaml']) {
    const secrets = [
      ...readFileSync(join(FOLDER, name), 'utf8').matchAll(/^ *(MILLRACE_[A-Z_]+)(?:=|: )(.*change-me.*)$/gm),
    ].map(([, variable, value]) => ({ variable, value }));
    t.ok(secrets.length >= 4, `some are in ${name}`);
    for (const { variable, value } of secrets)
      t.throws(
        () => loadConfig({ flags: {}, environment: { [variable]: value } }),
        { message: /contains change-me/ },
        variable,
      );
  }
});

t.test('metrics exist', async (t) => {
  const used = files(FOLDER, /\.(ya?ml|json)$/).flatMap(({ name, text }) =>
    [...text.matchAll(/\bmillrace_[a-z_]+[a-z]\b/g)].map(([metric]) => ({
      name,
      metric: metric.replace(/_bucket$/, ''),
    })),
  );
  t.ok(used.length > 10, 'some were found');
  t.same(
    used.filter(({ metric }) => !source.includes(`'${metric}'`)),
    [],
  );
});

t.test('the dashboard is JSON with panels', async (t) => {
  const dashboard = JSON.parse(readFileSync(join(FOLDER, 'grafana/millrace.json'), 'utf8')) as {
    panels: { targets: { expr: string }[] }[];
  };
  t.ok(dashboard.panels.length > 5);
  for (const { targets } of dashboard.panels) t.ok(targets.every(({ expr }) => expr.includes('millrace_')));
});

t.test('HAProxy takes its file', { skip: missing('haproxy') }, async (t) => {
  t.doesNotThrow(() => execFileSync('haproxy', ['-c', '-f', join(FOLDER, 'compose/haproxy.cfg')], { stdio: 'pipe' }));
});

t.test('HAProxy bounds what strangers hold: a time for each head, and places for each frontend', async (t) => {
  const [head, ...parts] = readFileSync(join(FOLDER, 'compose/haproxy.cfg'), 'utf8').split(/^(?=backend |frontend )/m);
  const frontends = parts.filter((part) => part.startsWith('frontend '));
  const placesOf = (text: string): number => Number(/^ {2}maxconn (\d+)$/m.exec(text)?.[1]);
  t.same(
    frontends.map((part) => part.split('\n', 1)[0]),
    ['frontend http', 'frontend mqtt'],
  );
  t.match(frontends[0], /^ {2}timeout http-request 10s$/m);
  t.equal(
    frontends.map(placesOf).reduce((sum, places) => sum + places),
    placesOf(head),
    'neither can take the places of the other',
  );
});

t.test('HAProxy asks nodes in HTTP/1.1, which both HTTP engines speak', async (t) => {
  const backends = readFileSync(join(FOLDER, 'compose/haproxy.cfg'), 'utf8')
    .split(/^(?=backend |frontend )/m)
    .filter((part) => part.startsWith('backend '));
  t.equal(backends.length, 3);
  for (const backend of backends)
    t.match(
      backend,
      /^ {2}option httpchk\n {2}http-check send meth GET uri \/health\/ready ver HTTP\/1\.1 hdr Host \S+\n/m,
    );
});

t.test('HAProxy removes or replaces every header of a client that the nodes believe', (t) => {
  const frontend =
    /^frontend http\n(?: .*\n)+/m.exec(readFileSync(join(FOLDER, 'compose/haproxy.cfg'), 'utf8'))?.[0] ?? '';
  const believed = ['api/http/base-url.ts', 'api/request/login-caller.ts'].flatMap((file) =>
    [...readFileSync(join(ROOT, 'src', file), 'utf8').matchAll(/'(x-forwarded-[a-z]+|forwarded)'/g)].map(
      ([, name]) => name,
    ),
  );
  t.ok(new Set(believed).size >= 6, 'some were found');
  for (const name of new Set(believed))
    t.match(frontend, new RegExp(`^ {2}http-request (?:del|set)-header ${name}(?: |$)`, 'im'), name);
  t.end();
});

t.test('nats-server takes its file', { skip: missing('nats-server') }, async (t) => {
  const shipped = readFileSync(join(FOLDER, 'compose/nats.conf'), 'utf8');
  t.match(shipped, /^ {2}sync_interval: always$/m, 'an acknowledgement survives a power failure');
  // Older servers do not know it; compose takes a newer one.
  const file = join(scratchDirectory(t), 'nats.conf');
  writeFileSync(file, canSyncAlways() ? shipped : shipped.replace('sync_interval: always', ''));
  t.doesNotThrow(() => execFileSync('nats-server', ['-t', '-c', file], { stdio: 'pipe' }));
});

/** Bytes of a file, or of all files below a folder but those that are passed over. */
function bytesOf(path: string, isKept: (path: string) => boolean = () => true): number {
  if (!isKept(path)) return 0;
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name), isKept), 0);
}

const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
/** Packages that the image does not have: only the build needs them. */
const removed = /cd node_modules && rm -r ([^)]+)\)/.exec(dockerfile)?.[1].split(' ') ?? [];
const isRemoved = (name: string): boolean => removed.some((one) => name === one || name.startsWith(`${one}/`));
const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Readonly<
    Record<
      string,
      {
        readonly dev?: boolean;
        readonly dependencies?: Readonly<Record<string, string>>;
        readonly optionalDependencies?: Readonly<Record<string, string>>;
      }
    >
  >;
};
const dependenciesOf = (path: string): string[] =>
  Object.keys({ ...packages[path]?.dependencies, ...packages[path]?.optionalDependencies });

/** Beside them: Node 127 MB, its base 75, the built program 21. */
const PACKAGES_BYTES_MAX = 672e6;

t.test('the packages of the image leave it below 900 MB', (t) => {
  const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
  const copied = [...last.matchAll(/^COPY --from=build (\S+) /gm)].map(([, path]) => path.replace(/^\/app\//, ''));
  t.same(copied, ['/usr/local/bin/node', 'package.json', 'node_modules', 'dist/src', 'dist/native', 'dist/web']);
  t.ok(removed.length > 5, 'packages that only the build needs are removed');
  const here = join(process.platform, process.arch);
  const isKept = (path: string): boolean => {
    const [, platform] = /onnxruntime-node\/bin\/napi-v6\/([^/]+\/[^/]+)/.exec(path) ?? [];
    const isForOtherNode = /@lmdb\/.+\.node$/.test(path) && !path.endsWith('.napi.glibc.node');
    return (platform === undefined || platform === here) && !isForOtherNode && !/\.(?:map|d\.[cm]?ts)$/.test(path);
  };
  const production = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !path.slice(1).includes('node_modules/') && dev !== true)
    .map(([path]) => path.slice('node_modules/'.length))
    .filter((name) => !isRemoved(name))
    .map((name) => join(ROOT, 'node_modules', name))
    .filter((path) => existsSync(path));
  t.ok(production.length > 30, 'some were found');
  const bytes = production.reduce((sum, path) => sum + bytesOf(path, isKept), 0);
  t.ok(bytes < PACKAGES_BYTES_MAX, `${Math.round(bytes / 1e6)} MB`);
  t.end();
});

t.test('the image has each package that the server imports, and what that needs', (t) => {
  const needed = new Set(
    dependenciesOf('').filter((name) => source.includes(`'${name}'`) || source.includes(`'${name}/`)),
  );
  // A set tells of names that are added while it is walked.
  for (const name of needed) for (const one of dependenciesOf(`node_modules/${name}`)) needed.add(one);
  t.ok(needed.size > 30, 'some were found');
  t.same([...needed].filter(isRemoved), []);
  t.end();
});
