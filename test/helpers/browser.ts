/**
 * The browser of the tests: Chromium's engine without its windows, which takes a third less CPU time for the same pages
 * (79 s for 116 s in test/web/states.test.ts, of all its processes).
 */
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

/** For `missing`. */
export const BROWSER = 'chromium-headless-shell';

/** One process draws for all pages; the pages' own are children of the browser, as their CPU time is counted. */
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--in-process-gpu', '--no-zygote'];

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: `/usr/bin/${BROWSER}`, args: ARGUMENTS });
