/**
 * `npm run screenshots`: twelve pictures of the console into docs/pictures, of a server of its own with a small plant and
 * simulated devices. It needs Debian's chromium (`apt-get install chromium`).
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { checkNode, ensureBuilt, ensureInstalled, root, say } from '../setup.mjs';
import { encodePalette } from './png.mjs';
import { furnish } from './scene.mjs';

const FOLDER = join(root, 'docs', 'pictures');
const BYTES_MAX = 150_000;
const WIDTH = 1_280;
const HEIGHT = 800;
const USER = 't1/admin';
/** Sees lag, queues and refusals. */
const OPERATOR = 'management/admin';
const PASSWORD = 'mill-Race-7';
/** Live data come for so long before a picture is taken. */
const SETTLE_MS = 2_500;
const LOOK_EVERY_MS = 200;
const LOOKS_MAX = 300;
const DEVICES = 12;
const MESSAGES_A_SECOND = 8;

const MAIN = join(root, 'dist', 'src', 'main.js');

/** Name, path, colours, and who looks. `{0}`: id of the first device. */
const PICTURES = [
  ['home', '/'],
  ['devices', '/devices'],
  ['add-device', '/devices/new'],
  ['device', '/devices/{0}', 'dark'],
  ['measurements', '/devices/{0}/measurements?from=now-6h'],
  ['timeline', '/devices/{0}/timeline'],
  ['shell', '/devices/{0}/shell', 'dark'],
  ['alarms', '/alarms'],
  ['explore', '/explore?s={0}:c8y_Temperature.T,{1}:c8y_Temperature.T,{2}:c8y_Temperature.T', 'dark'],
  ['map', '/map'],
  ['traffic', '/traffic'],
  ['server', '/admin/server', 'dark', OPERATOR],
];

/** Starts the server on free ports. @returns its URL, and what ends it. */
async function startServer(data) {
  const ports = ['http', 'mqtt', 'https', 'mqtt-tls'].flatMap((name) => [`--${name}-port`, '0']);
  const child = spawn(process.execPath, [MAIN, 'serve', ...ports, '--data', data], {
    env: { ...process.env, MILLRACE_ADMIN_PASSWORD: PASSWORD, MILLRACE_MANAGEMENT_PASSWORD: PASSWORD },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const found = await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const ports = /URL\s+http:\/\/[^:]+:(\d+)[\s\S]*MQTT port\s+(\d+)/.exec(output);
      if (ports !== null) resolve({ http: ports[1], mqtt: ports[2] });
    });
    void ended.then((code) => reject(new Error(`the server ended with exit code ${code}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return { url: `http://127.0.0.1:${found.http}`, mqttPort: found.mqtt, stop };
}

const apiOf = (url) => async (method, path, body) => {
  const answer = await fetch(url + path, {
    method,
    headers: {
      Authorization: `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`,
      'Content-Type': 'application/json',
      Accept: 'application/json',
    },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
};

/** Devices that send all the time. @returns ends them. */
function simulate({ url, mqttPort }) {
  const flags = { url, host: '127.0.0.1', 'mqtt-port': mqttPort, devices: DEVICES, rate: MESSAGES_A_SECOND };
  const given = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, [MAIN, 'simulate', ...given, '--password', PASSWORD], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return async () => {
    const ended = new Promise((resolve) => child.once('close', resolve));
    if (child.exitCode !== null) return;
    child.kill('SIGTERM');
    await ended;
  };
}

/** Pixels of a picture: the browser knows its own files. */
async function pixelsOf(browser, png) {
  const page = await browser.newPage();
  const read = await page.evaluate(async (base64) => {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob());
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext('2d');
    context.drawImage(bitmap, 0, 0);
    const { data, width, height } = context.getImageData(0, 0, bitmap.width, bitmap.height);
    let text = '';
    for (let at = 0; at < data.length; at += 0x8000) text += String.fromCharCode(...data.subarray(at, at + 0x8000));
    return { width, height, base64: btoa(text) };
  }, png.toString('base64'));
  await page.close();
  return { width: read.width, height: read.height, pixels: Buffer.from(read.base64, 'base64') };
}

/** Waits until no part of the page waits for the server. @throws Error after a while. */
async function loaded(page, name) {
  for (let looks = 0; (await page.getByText('Loading …').count()) > 0; looks += 1) {
    if (looks === LOOKS_MAX) throw new Error(`${name} is still loading`);
    await page.waitForTimeout(LOOK_EVERY_MS);
  }
}

async function take(browser, { url, ids }) {
  for (const [name, path, scheme = 'light', user = USER] of PICTURES) {
    const context = await browser.newContext({
      colorScheme: scheme,
      viewport: { width: WIDTH, height: HEIGHT },
      reducedMotion: 'reduce',
    });
    const form = { grant_type: 'PASSWORD', username: user, password: PASSWORD };
    await context.request.post(`${url}/tenant/oauth`, { form });
    const page = await context.newPage();
    await page.goto(`${url}/console${path.replace(/\{(\d)\}/g, (_, at) => ids[at])}`);
    await page.locator('main h1').first().waitFor();
    await page.waitForTimeout(SETTLE_MS);
    await loaded(page, name);
    const picture = encodePalette(await pixelsOf(browser, await page.screenshot()));
    if (picture.length > BYTES_MAX) throw new Error(`${name}.png has ${picture.length} of ${BYTES_MAX} bytes`);
    writeFileSync(join(FOLDER, `${name}.png`), picture);
    say(`${name}.png, ${picture.length} bytes`);
    await context.close();
  }
}

checkNode();
await ensureInstalled();
if (!(await ensureBuilt())) process.exit(1);
mkdirSync(FOLDER, { recursive: true });
const data = mkdtempSync(join(tmpdir(), 'millrace-pictures-'));
const closing = [() => rmSync(data, { recursive: true, force: true })];
try {
  const server = await startServer(data);
  closing.unshift(server.stop);
  const ids = await furnish(apiOf(server.url));
  closing.unshift(simulate(server));
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  closing.unshift(() => browser.close());
  await take(browser, { url: server.url, ids });
} finally {
  for (const close of closing) await close();
}
