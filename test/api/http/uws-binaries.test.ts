/**
 * The builds of uWebSockets.js: what is in the package, what the build makes of it for older glibc, and what the server
 * loads.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { GLIBC_OLDEST, forOlderGlibc, takenSymbols, versionNeeds } from '../../../src/api/http/engines/elf-glibc.ts';
import { withOwnAnswers } from '../../../src/api/http/engines/own-answers.ts';
import { UWS_BINARIES, UWS_VERSION, uwsFileName } from '../../../src/api/http/engines/uws-binaries.ts';
import { loadUws } from '../../../src/api/http/engines/uws.ts';
import { ROOT } from '../../helpers/root.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { PATIENCE } from '../../helpers/until.ts';

const PACKAGE = join(ROOT, 'node_modules', 'uWebSockets.js');
const NATIVE = join(ROOT, 'dist', 'native');
const HERE = `${process.platform}_${process.arch}_${process.versions.modules}`;
const isHere = HERE in UWS_BINARIES ? {} : { skip: `there is no build for ${HERE}` };
const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const source = (key: string): Buffer => readFileSync(join(PACKAGE, uwsFileName(key)));
const isNew = (version = ''): boolean => /^GLIBC_2\.(?:3[2-9]|[4-9]\d)$/.test(version);

/** Sends a request in pieces to a server on the file that it is given, and prints the status line. */
const ANSWER = `
  const { connect } = require('node:net');
  const uws = require(process.argv[1]);
  uws.App().any('/*', (response, request) => { response.end(request.getUrl()); }).listen('127.0.0.1', 0, 1, (listening) => {
    const socket = connect(uws.us_socket_local_port(listening), '127.0.0.1', async () => {
      for (const piece of ['GET /a/lo', 'ng/path HT', 'TP/1.1\\r\\nHo', 'st: h\\r\\n\\r\\n']) {
        socket.write(piece);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    socket.setNoDelay();
    socket.on('data', (chunk) => { console.log(chunk.toString().split('\\r\\n')[0]); process.exit(0); });
  });`;

/** In a process of its own: loading a broken file may end it. */
function answerOf(file: string): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', ANSWER, file], {
    encoding: 'utf8',
    timeout: 30_000 * PATIENCE,
    killSignal: 'SIGKILL',
  });
  return { status, stdout, stderr };
}

/** The hash of a version's name in the table of needs. */
function elfHash(name: string): Buffer {
  let hash = 0;
  for (const character of Buffer.from(name)) {
    hash = (hash << 4) + character;
    const high = hash & 0xf0000000;
    if (high !== 0) hash ^= high >>> 24;
    hash &= ~high;
  }
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(hash >>> 0);
  return bytes;
}

/**
 * Renames versions above the oldest so that the glibc of this machine lacks them, as an old one does; with them all
 * symbols that still want one.
 */
function asOnOldGlibc(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (const { version } of versionNeeds(bytes)) {
    if (!isNew(version)) continue;
    const unknown = version.replace('GLIBC_2', 'GLIBC_9');
    for (const [old, other] of [
      [Buffer.from(`${version}\0`), Buffer.from(`${unknown}\0`)],
      [elfHash(version), elfHash(unknown)],
    ]) {
      let at = copy.indexOf(old);
      t.ok(at > 0 && at < 2 ** 20, `${version} is in the tables at the start of the file`);
      for (; at >= 0 && at < 2 ** 20; at = copy.indexOf(old, at + 1)) other.copy(copy, at);
    }
  }
  return copy;
}

t.test('the table names what is in the package, and what the build makes of it', async (t) => {
  const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { version: string };
  t.equal(version, UWS_VERSION);
  t.same(
    Object.keys(UWS_BINARIES).sort(),
    ['arm64', 'x64'].flatMap((arch) => [115, 127, 137].map((abi) => `linux_${arch}_${abi}`)),
  );
  for (const [key, binary] of Object.entries(UWS_BINARIES)) {
    t.equal(digestOf(source(key)), binary.source, `${key} in the package`);
    t.equal(digestOf(withOwnAnswers(forOlderGlibc(source(key)))), binary.digest, `the copy of ${key}`);
  }
});

t.test(`nothing above glibc ${GLIBC_OLDEST} is left that the loader insists on`, async (t) => {
  for (const key of Object.keys(UWS_BINARIES)) {
    const hard = (bytes: Buffer): string[] =>
      versionNeeds(bytes)
        .filter(({ version, isWeak }) => isNew(version) && !isWeak)
        .map((one) => one.version);
    const wanted = (bytes: Buffer): string[] =>
      takenSymbols(bytes)
        .filter(({ version }) => isNew(version))
        .map(({ name, isLazy }) => `${name}${isLazy ? '' : ' at once'}`)
        .sort();
    const before = source(key);
    t.ok(hard(before).includes('GLIBC_2.38'), `${key}: the reader sees what the package wants`);
    t.ok(wanted(before).includes('__libc_single_threaded at once'), key);
    const copy = forOlderGlibc(before);
    t.same(hard(copy), [], key);
    t.same(
      wanted(copy),
      ['_dl_find_object', 'arc4random', 'fstat'],
      `${key}: these are looked up when they are called, and they are not`,
    );
    const names = (bytes: Buffer): Set<string> =>
      new Set(
        takenSymbols(bytes)
          .filter(({ version }) => version === undefined)
          .map(({ name }) => name),
      );
    for (const name of ['strtol', 'strtoul', 'error_one_per_line', 'pthread_once', 'pthread_rwlock_wrlock'])
      t.ok(names(copy).has(name), `${key} ${name}`);
    t.same(
      [...names(copy)].filter((name) => name.includes('isoc23')),
      [],
      key,
    );
    t.equal(copy.length, before.length);
  }
});

t.test(
  'the copy runs where glibc has none of the newer versions; what is in the package does not',
  isHere,
  async (t) => {
    const directory = scratchDirectory(t);
    const write = (name: string, bytes: Buffer): string => {
      writeFileSync(join(directory, name), bytes);
      return join(directory, name);
    };
    const original = answerOf(write('original.node', asOnOldGlibc(source(HERE))));
    t.not(original.status, 0);
    t.match(original.stderr, /version `GLIBC_9\.\d+' not found/);
    t.match(answerOf(write('copy.node', asOnOldGlibc(forOlderGlibc(source(HERE))))), {
      status: 0,
      stdout: 'HTTP/1.1 200 OK\n',
    });
  },
);

t.test('the copy of this machine takes a request in pieces', isHere, async (t) => {
  t.match(answerOf(join(NATIVE, uwsFileName(HERE))), { status: 0, stdout: 'HTTP/1.1 200 OK\n' });
});

t.test('what is not known is refused by the maker of copies', async (t) => {
  const key = 'linux_x64_137';
  const renamed = Buffer.from(source(key));
  renamed.write('pthread_twice', renamed.indexOf('pthread_once\0'));
  t.throws(() => forOlderGlibc(renamed), /wants pthread_twice.* of GLIBC_2\.34, and no rule/);
  t.throws(() => forOlderGlibc(Buffer.from('MZ')), /not an ELF file/);
  t.throws(() => forOlderGlibc(Buffer.alloc(100)), /not an ELF file/);
  t.throws(() => withOwnAnswers(Buffer.from('HTTP/1.1 505')), /not once in the file/);
});

t.test('the server loads what has the digest, and says why it does not', isHere, async (t) => {
  const folder = join(scratchDirectory(t), 'native');
  mkdirSync(folder);
  t.throws(() => loadUws({ folder }), new RegExp(`${uwsFileName(HERE)} is missing: npm run build`));
  const changed = readFileSync(join(NATIVE, uwsFileName(HERE)));
  changed[changed.length - 1] ^= 1;
  writeFileSync(join(folder, uwsFileName(HERE)), changed);
  t.throws(
    () => loadUws({ folder }),
    new RegExp(`is refused: its SHA-256 digest is ${digestOf(changed)}, not ${UWS_BINARIES[HERE].digest}`),
  );
  const rubbish = Buffer.from('\x7fELF and nothing else');
  writeFileSync(join(folder, uwsFileName(HERE)), rubbish);
  t.throws(
    () => loadUws({ folder, binaries: { [HERE]: { source: '', digest: digestOf(rubbish) } } }),
    /does not load: /,
  );
  t.throws(() => loadUws({ platform: 'darwin' }), /uWebSockets.js has no build for darwin/);
  t.throws(() => loadUws({ abi: '141' }), /\(ABI 141\), only for Node 20, Node 22, Node 24/);
  t.equal(typeof loadUws().App, 'function');
});
