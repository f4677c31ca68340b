/**
 * README.md and docs/guide are what a newcomer types, in the order of docs/guide/README.md, against one server after
 * the other on one data directory; what is printed is compared with the page. Blocks: test/guide/blocks.ts.
 */
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { freePort } from '../helpers/free-port.ts';
import { ROOT } from '../helpers/root.ts';
import { cleanEnvironment, scratchDirectory } from '../helpers/setup-command.ts';
import { missing } from '../helpers/tools.ts';
import { MAIN, pageOf, patternOf } from './blocks.ts';
import type { Step } from './blocks.ts';
import { Mismatch, Terminal } from './terminal.ts';
import type { Place } from './terminal.ts';

const GUIDE = 'docs/guide';
const PROGRAMS = missing('npm', 'curl', 'mosquitto_pub', 'mosquitto_rr', 'openssl');

/** Pages on which nothing runs, with the reason. */
const NOTHING_RUNS: Readonly<Record<string, string>> = {
  'docs/guide/README.md': 'it lists the others',
  'docs/guide/console.md': 'a person clicks; test/web does it in a browser',
  'docs/guide/service.md': 'systemd, Docker and Kubernetes change the machine',
};

/** First lines of the blocks `sh`, which are not run, with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'git clone <address of the repository> millrace && cd millrace': 'the test has a clone',
  'git pull && npm start': 'the clone of the test has no newer version',
  'git checkout <version before>': 'the clone of the test has no older version',
  'useradd --system --home-dir /var/lib/millrace --shell /usr/sbin/nologin millrace': 'systemd changes the machine',
  'docker build -t millrace .': 'no container engine',
  'cp -r examples/web-application ~/fleet && cd ~/fleet': 'test/sdk does it: 750 MB of packages',
  "npx ng deploy --url http://localhost:8080 --tenant t1 --user admin --password '<password>' --zip-path dist/fleet.zip":
    'test/sdk does it',
  'npm start -- --smtp smtp://mailer:secret@mail.example.com:587 --mail-from platform@example.com --base-url https://platform.example.com':
    'no mail server',
};

/** The terminal in which the server runs; it goes on to the next page. */
const SERVER = 'server';

const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

/** Pages of the guide in the order of its index. */
const GUIDE_PAGES = [...textOf(`${GUIDE}/README.md`).matchAll(/\]\(([a-z-]+\.md)\)/g)].map(
  ([, name]) => `${GUIDE}/${name}`,
);

const port = async (): Promise<string> => String(await freePort());

/** A directory that looks like a clone, with ports of its own. */
async function clone(t: Test): Promise<Place> {
  const directory = scratchDirectory(t);
  for (const name of ['bin', 'deploy', 'docs', 'examples', 'package.json'])
    symlinkSync(join(ROOT, name), join(directory, name));
  const [http, https, mqtt, mqttTls] = [await port(), await port(), await port(), await port()];
  // The port that these programs have by themselves is a free one here.
  const tools = join(directory, '.tools');
  mkdirSync(tools);
  for (const name of ['mosquitto_pub', 'mosquitto_sub', 'mosquitto_rr'])
    writeFileSync(join(tools, name), `#!/bin/sh\nPATH=\${PATH#*:}\nexec ${name} -p ${mqtt} "$@"\n`, { mode: 0o755 });
  return {
    directory,
    ports: new Map([
      ['8080', http],
      ['8443', https],
      ['1883', mqtt],
      ['8883', mqttTls],
    ]),
    environment: {
      ...cleanEnvironment({
        MILLRACE_HOST: '127.0.0.1',
        MILLRACE_HTTP_PORT: http,
        MILLRACE_HTTPS_PORT: https,
        MILLRACE_MQTT_PORT: mqtt,
        MILLRACE_MQTT_TLS_PORT: mqttTls,
        MILLRACE_URL: `http://localhost:${http}`,
        MILLRACE_METRICS_ACCESS: 'operators',
      }),
      LC_ALL: 'C.UTF-8',
      HOME: directory,
      PATH: `${tools}:${dirname(process.execPath)}:${process.env['PATH']}`,
    },
  };
}

async function follow(step: Step, place: Place, terminal: (name: string) => Terminal): Promise<void> {
  if (step.kind === 'file') writeFileSync(join(place.directory, step.name), step.text);
  else if (step.kind === 'interrupt') await terminal(step.terminal).interrupt();
  else if (step.kind === 'printed') await terminal(step.terminal).printed(step.output);
  else if (step.terminal === MAIN) await terminal(MAIN).run(step.text, step.output);
  else await terminal(step.terminal).begin(step.text, step.output);
}

/** Does what the pages say, one after the other. */
async function read(t: Test, pages: readonly string[]): Promise<void> {
  const place = await clone(t);
  const server = new Terminal(place);
  t.teardown(() => server.interrupt('SIGTERM'));
  for (const page of pages) {
    const { steps, notRun } = pageOf(textOf(page));
    const terminals = new Map([[SERVER, server]]);
    const terminal = (name: string): Terminal => {
      const found = terminals.get(name) ?? new Terminal(place);
      terminals.set(name, found);
      return found;
    };
    for (const step of steps) {
      try {
        await follow(step, place, terminal);
      } catch (error) {
        t.fail(`${page}: ${(error as Error).message}`);
        if (!(error instanceof Mismatch)) break;
      }
    }
    terminals.delete(SERVER);
    for (const one of terminals.values()) await one.interrupt('SIGTERM');
    const count = steps.filter(({ kind }) => kind === 'command').length;
    t.equal(
      count > 0,
      NOTHING_RUNS[page] === undefined,
      `${page}: ${count} commands run, ${notRun.length} blocks do not`,
    );
  }
}

t.test('blocks of a page', async (t) => {
  const { steps, notRun } = pageOf(
    '```console\n$ one \\\n  more\nprinted\n$ two\n```\ntext\n```csv a.csv\nx\n```\n```console server\n^C\n$ three\n```\n' +
      '```console server\nlater\n```\n```sh\nsystemctl\n```\n```json\n{}\n```\n',
  );
  t.same(steps, [
    { kind: 'command', terminal: MAIN, text: 'one \\\n  more', output: ['printed'] },
    { kind: 'command', terminal: MAIN, text: 'two', output: [] },
    { kind: 'file', name: 'a.csv', text: 'x\n' },
    { kind: 'interrupt', terminal: SERVER },
    { kind: 'command', terminal: SERVER, text: 'three', output: [] },
    { kind: 'printed', terminal: SERVER, output: ['later'] },
  ]);
  t.same(notRun, ['systemctl']);
  t.throws(() => pageOf('```\ncurl\n```\n'), { message: /begins with curl/ });
  const pattern = patternOf(['a … (c)', '…', 'd']);
  t.match('a 12 (c)\nb\nd\n', pattern);
  t.match('a 12 (c)\nd\n', pattern);
  t.notMatch('a 12 (c)\nb\n', pattern);
  t.notMatch('a 12 c\nd\n', pattern);
});

t.test('the index names each page once', async (t) => {
  t.same(
    [...GUIDE_PAGES].sort(),
    readdirSync(join(ROOT, GUIDE))
      .filter((name) => name.endsWith('.md') && name !== 'README.md')
      .map((name) => `${GUIDE}/${name}`)
      .sort(),
  );
});

t.test('a block that is not run has a reason', async (t) => {
  const notRun = ['README.md', ...GUIDE_PAGES].flatMap((page) => pageOf(textOf(page)).notRun);
  t.same(notRun.sort(), Object.keys(NOT_RUN).sort());
});

t.test('what ssh is told to run is a program, not a function of the shell', async (t) => {
  const commands = GUIDE_PAGES.flatMap((page) => [...textOf(page).matchAll(/ProxyCommand='(.*? connect) /g)]);
  t.ok(commands.length > 0, 'there is one');
  for (const [, command] of commands)
    t.match(execFileSync('sh', ['-c', `${command} --help`], { cwd: ROOT, encoding: 'utf8' }), /^Usage: /, command);
});

t.test('README.md does what it says', { skip: PROGRAMS }, async (t) => read(t, ['README.md']));
t.test('docs/guide does what it says', { skip: PROGRAMS }, async (t) => read(t, GUIDE_PAGES));
