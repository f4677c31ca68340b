/**
 * What a person waits for in the console among a million devices: a browser with a processor four times slower, beside
 * the server on the same cores.
 */
import { chromium } from 'playwright-core';
import type { CDPSession, Page } from 'playwright-core';
import { MEASURED_DEVICES, MEASURED_FIRST, MEASURED_STEP_MS, fillMeasured } from '../lists/measured.ts';
import { fill } from '../lists/fill.ts';
import type { Context, Scenario } from '../scenario.ts';
import { Histogram, median } from '../statistics.ts';
import type { Millrace } from '../subjects/millrace.ts';

export const CHROMIUM = '/usr/bin/chromium';
const SLOWER = 4;
/** Opened again and again in a round; the median counts. */
const TIMES = 9;
/** Series of one chart; together a million points of the default 10 million. */
const CHART_SERIES = 3;
const CHART = 'chart of a million points';
const LIVE_VALUES = 100;
const LIVE_STEP_MS = 250;
const FAST_STEP_MS = 20;
const FAST_MS = 10_000;
const PATIENCE_MS = 60_000;

/**
 * In the page: what it takes until something is drawn. `untilDrawn` counts from a click; `watch` tells when a cell shows
 * each of the values.
 */
const IN_PAGE = `globalThis.bench = {
  drawn: () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))),
  async until(found) {
    for (;;) {
      if (found()) return;
      await new Promise((resolve) => {
        const observer = new MutationObserver(() => { observer.disconnect(); resolve(); });
        observer.observe(document, { childList: true, subtree: true, characterData: true, attributes: true });
      });
    }
  },
  async follow(path, selector) {
    const link = document.createElement('a');
    link.href = path;
    document.body.append(link);
    const begunMs = performance.now();
    link.click();
    link.remove();
    await bench.until(() => document.querySelector(selector) !== null);
    await bench.drawn();
    return performance.now() - begunMs;
  },
  async typed(text) {
    const field = document.querySelector('[role=dialog] [role=combobox], dialog [role=combobox]');
    const begunMs = performance.now();
    field.value = text;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    await bench.until(() => [...document.querySelectorAll('[role=option]')].some((one) => one.textContent.includes(text)));
    await bench.drawn();
    return performance.now() - begunMs;
  },
  seen: {},
  watch() {
    const look = () => {
      for (const cell of document.querySelectorAll('td')) {
        const value = parseFloat(cell.textContent);
        if (value >= 500 && bench.seen[value] === undefined) {
          bench.seen[value] = 0;
          bench.drawn().then(() => (bench.seen[value] = Date.now()));
        }
      }
    };
    new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true });
  },
  frames(ms) {
    return new Promise((resolve) => {
      let [begunMs, count] = [0, -1];
      const next = (nowMs) => {
        count += 1;
        if (count === 0) begunMs = nowMs;
        const pastMs = nowMs - begunMs;
        if (pastMs < ms) requestAnimationFrame(next);
        else resolve((count * 1000) / pastMs);
      };
      requestAnimationFrame(next);
    });
  },
};`;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** MB of the page's objects behind a collection of garbage. */
export async function heapMb(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / 1024 ** 2;
}

/** Sends a value of the device at every step. @returns when each was sent, by value; `onSent` ends it. */
export async function sendValues(
  subject: Millrace,
  { source, values, stepMs }: { source: number; values: readonly number[]; stepMs: number },
): Promise<Map<number, number>> {
  const sent = new Map<number, number>();
  let nextMs = performance.now();
  const answers: Promise<void>[] = [];
  for (const value of values) {
    sent.set(value, Date.now());
    const c8y_Temperature = { T: { value, unit: 'C' } };
    const body = { source: { id: String(source) }, time: new Date().toISOString(), type: 'bench', c8y_Temperature };
    answers.push(subject.send('/measurement/measurements', body));
    nextMs += stepMs;
    await sleep(Math.max(0, nextMs - performance.now()));
  }
  await Promise.all(answers);
  return sent;
}

/** With a cookie, as the page would log in itself. */
export async function logIn(page: Page, subject: Millrace): Promise<void> {
  const form = { grant_type: 'PASSWORD', username: subject.http.userName!, password: subject.http.password! };
  const answer = await page.request.post(`http://127.0.0.1:${subject.http.port}/tenant/oauth`, { form });
  if (!answer.ok()) throw new Error(`the login was answered with ${answer.status()}`);
}

async function round(context: Context, subject: Millrace, page: Page, number: number): Promise<void> {
  const record = (name: string, values: Record<string, number>): void =>
    context.record({ scenario: 'console', subject: name, round: number, values });
  const url = (path: string): string => `http://127.0.0.1:${subject.http.port}/console${path}`;
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  const measured = async (name: string, measure: (time: number) => Promise<number>): Promise<void> => {
    const times: number[] = [];
    for (let time = 0; time < TIMES; time++) times.push(await measure(time));
    context.progress(`console: ${name}: ${times.map((ms) => Math.round(ms)).join(', ')} ms`);
    record(name, { p50Ms: median(times), maximumMs: Math.max(...times) });
  };
  const evaluate = (script: string): Promise<number> => page.evaluate(script);

  await measured('first paint', async () => {
    await page.goto(url('/'));
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    return evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime");
  });
  await measured('first rows of the device list', async () => {
    await page.goto(url('/'));
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await sleep(1_000);
    return evaluate(`bench.follow('/console/devices', 'main tbody tr')`);
  });
  await measured('key to search result', async (time) => {
    await page.goto(url('/'));
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await sleep(1_000);
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').waitFor();
    return evaluate(`bench.typed('Object ${1_234 + time * 1_111}')`);
  });
  const perDevice = Math.ceil(context.options.storedMeasurements / MEASURED_DEVICES);
  const from = new Date(Date.now() - perDevice * MEASURED_STEP_MS - 3_600_000).toISOString();
  const series = Array.from({ length: CHART_SERIES }, (_, index) => `${MEASURED_FIRST + index}:c8y_Temperature.T`);
  await measured(CHART, async () => {
    await page.goto(url('/'));
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await sleep(1_000);
    return evaluate(
      `bench.follow('/console/explore?s=${series.join(',')}&from=${from}', 'main [role=application] canvas')`,
    );
  });

  const source = MEASURED_FIRST + 5;
  await page.goto(url(`/devices/${source}/measurements?from=now-1h`));
  await page.locator('.live[data-state=live]').waitFor();
  await page.getByRole('application').first().waitFor();
  await evaluate('bench.watch()');
  const values = Array.from({ length: LIVE_VALUES }, (_, index) => 500 + number * LIVE_VALUES + index);
  const sent = await sendValues(subject, { source, values, stepMs: LIVE_STEP_MS });
  await sleep(2_000);
  const seen = await page.evaluate<Record<string, number>>('bench.seen');
  const latency = new Histogram();
  for (const [value, atMs] of sent) if (seen[value]) latency.add((seen[value] - atMs) * 1_000);
  record('message to pixel', { ...latency.summary(), seen: latency.summary().count, sent: sent.size });

  const before = await heapMb(session);
  const frames = (ms: number): Promise<number> => evaluate(`bench.frames(${ms})`);
  // Before and behind: what other work on these cores takes of the frames is not the console's.
  const restBefore = await frames(FAST_MS / 2);
  const fast = Array.from({ length: FAST_MS / FAST_STEP_MS }, (_, index) => 100 + (index % 50));
  const sending = sendValues(subject, { source, values: fast, stepMs: FAST_STEP_MS });
  const framesPerSecond = await frames(FAST_MS);
  await sending;
  const framesAtRest = (restBefore + (await frames(FAST_MS / 2))) / 2;
  record('50 values a second', {
    framesPerSecond,
    framesAtRest,
    ratio: framesPerSecond / framesAtRest,
    heapBeforeMb: before,
    heapAfterMb: await heapMb(session),
  });
  await session.detach();
}

export const console: Scenario = {
  name: 'console',
  standard: false,
  question: `What a person waits for in the console, in a browser ${SLOWER} × slower, among --list-objects devices and --stored measurements`,
  columns: [
    ...['p50Ms', 'p99Ms', 'maximumMs', 'framesPerSecond', 'framesAtRest', 'ratio'],
    ...['seen', 'sent', 'heapBeforeMb', 'heapAfterMb'],
  ],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const subject = (await context.start('millrace')) as Millrace;
    await subject.stop();
    const endMs = Date.now();
    const { objects } = context.options.lists;
    await fill(
      subject.data,
      { objects, alarms: 0, events: 0, others: 0, areAllDevices: true },
      endMs,
      context.progress,
    );
    await fillMeasured(subject.data, context.options.storedMeasurements, endMs, context.progress);
    await subject.startProcess();
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    try {
      for (let number = 1; number <= context.rounds; number++) {
        context.progress(`console: round ${number}`);
        const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
        page.setDefaultTimeout(PATIENCE_MS);
        await page.addInitScript(IN_PAGE);
        await logIn(page, subject);
        await round(context, subject, page, number);
        await page.context().close();
      }
    } finally {
      await browser.close();
    }
    await subject.stop();
  },
};
