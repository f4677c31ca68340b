/**
 * Whether the console grows while a chart stays open for an hour beside live data. The chart shows the last two
 * minutes, so each value comes and goes again.
 */
import { chromium } from 'playwright-core';
import type { Context, Scenario } from '../scenario.ts';
import type { Millrace } from '../subjects/millrace.ts';
import { CHROMIUM, heapMb, logIn, sendValues } from './console.ts';

const MINUTES = 60;
const STEP_MS = 20;
const VALUES = 60_000 / STEP_MS;

async function watch(context: Context, subject: Millrace): Promise<void> {
  const source = Number(await subject.createDevice('Live'));
  await sendValues(subject, { source, values: [1], stepMs: 0 });
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    const origin = `http://127.0.0.1:${subject.http.port}`;
    await logIn(page, subject);
    await page.goto(`${origin}/console/devices/${source}/measurements?from=now-2m`);
    await page.locator('.live[data-state=live]').waitFor();
    await page.getByRole('application').first().waitFor();
    const session = await page.context().newCDPSession(page);
    for (let minute = 0; minute <= MINUTES; minute += 1) {
      if (minute > 0) {
        const values = Array.from({ length: VALUES }, (_, index) => index % 50);
        await sendValues(subject, { source, values, stepMs: STEP_MS });
      }
      const { nodes } = await session.send('Memory.getDOMCounters');
      const values = { heapMb: await heapMb(session), nodes, sent: minute * VALUES };
      context.progress(`console-live: minute ${minute}: ${values.heapMb.toFixed(2)} MB, ${nodes} nodes`);
      context.record({ scenario: 'console-live', subject: `minute ${minute}`, round: 1, values });
    }
  } finally {
    await browser.close();
  }
}

export const consoleLive: Scenario = {
  name: 'console-live',
  standard: false,
  question: `Whether the page grows beside ${1_000 / STEP_MS} live values a second for ${MINUTES} minutes`,
  columns: ['heapMb', 'nodes', 'sent'],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const subject = (await context.start('millrace')) as Millrace;
    await watch(context, subject);
    await subject.stop();
  },
};
