/**
 * One server and one browser for all tests of screens. Every page watches itself: errors of scripts, reports of the
 * policy and requests to elsewhere are failures of the test that opened it.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Test } from 'tap';
import { launchBrowser } from '../../helpers/browser.ts';
import { PASSWORD, TENANT, startServer } from '../../helpers/running/server.ts';
import type { RunningServer, Teardown } from '../../helpers/running/server.ts';
import { PATIENCE, until } from '../../helpers/until.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The browser's own word for an answer that is an error; the page shows what the server said. */
const OF_ANSWERS = /^Failed to load resource: the server responded with a status of 4\d\d/;

/** Of `management/devicebootstrap`, with which devices ask for credentials. */
export const BOOTSTRAP_PASSWORD = 'Boot-strap-9';

type Session = Awaited<ReturnType<BrowserContext['storageState']>>;

/** Without a request in that time a page has what it asked for. */
const QUIET_MS = 150;

export interface PageOptions {
  readonly scheme?: 'light' | 'dark';
  readonly width?: number;
  readonly language?: 'en' | 'de' | 'pseudo';
  /** Before the login. */
  readonly isLoggedOut?: boolean;
}

interface AxeResult {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

export class ConsoleBrowser {
  readonly server: RunningServer;
  readonly #browser: Browser;
  #session: Session | undefined;
  /** Errors of scripts, reports of the policy, requests to elsewhere, of all pages since they were looked at. */
  #faults: string[] = [];
  /** Requests under way, by page. */
  readonly #open = new WeakMap<Page, Set<unknown>>();

  constructor(server: RunningServer, browser: Browser) {
    this.server = server;
    this.#browser = browser;
  }

  /** @param path below `/console`, for instance `/devices?name=pump`. */
  url(path: string): string {
    return `${this.server.url}/console${path}`;
  }

  /** Faults of pages since the last time; a test has none. */
  takeFaults(): readonly string[] {
    return this.#faults.splice(0);
  }

  /** A page with its own context, logged in as the administrator, until the test ends. */
  async page(t: Test, options: PageOptions = {}): Promise<Page> {
    const { scheme = 'light', width = 1280, language = 'en', isLoggedOut = false } = options;
    const context = await this.#browser.newContext({
      colorScheme: scheme,
      viewport: { width, height: 800 },
      reducedMotion: 'reduce',
      ...(isLoggedOut ? {} : { storageState: await this.#login() }),
    });
    context.setDefaultTimeout(10_000 * PATIENCE);
    const preferences = JSON.stringify({ language });
    await context.addInitScript(`localStorage.setItem('millrace.preferences', ${JSON.stringify(preferences)})`);
    const page = await context.newPage();
    const faults = this.#faults;
    page.on('pageerror', (error) => faults.push(String(error.stack)));
    page.on('console', (message) => {
      if (message.type() === 'error' && !OF_ANSWERS.test(message.text())) faults.push(message.text());
    });
    const open = new Set<unknown>();
    this.#open.set(page, open);
    page.on('requestfinished', (request) => open.delete(request));
    page.on('requestfailed', (request) => open.delete(request));
    page.on('request', (request) => {
      if (request.resourceType() === 'fetch') open.add(request);
      if (!request.url().startsWith(this.server.url) && !/^(?:data|blob):/.test(request.url()))
        faults.push(`a request to ${request.url()}`);
    });
    t.teardown(() => context.close());
    return page;
  }

  /** Opens a screen and waits until it is there. */
  async open(page: Page, path: string): Promise<void> {
    await page.goto(this.url(path));
    await page.locator('main h1').first().waitFor();
    await this.settle(page);
  }

  /** Logs in by the form, in a page that is logged out. @param user with its tenant. */
  async logIn(page: Page, user: string, password: string): Promise<void> {
    await page.goto(this.url('/'));
    await page.getByLabel('User name').fill(user);
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: `Account: ${user.slice(user.indexOf('/') + 1)}` }).waitFor();
  }

  /** Waits until the page has its answers. A shared worker's connection never ends, so `networkidle` never comes. */
  async settle(page: Page): Promise<void> {
    const open = this.#open.get(page) as Set<unknown>;
    let quietSinceMs = Date.now();
    await until('the page has its answers', () => {
      if (open.size > 0) quietSinceMs = Date.now();
      return Date.now() - quietSinceMs >= QUIET_MS;
    });
  }

  /** Violations of WCAG 2.2 AA. @param but a rule that is left out. */
  async violations(page: Page, but?: string): Promise<string[]> {
    // Beside the policy of the page, as a script of the debugger.
    await page.evaluate(AXE);
    const found = await page.evaluate(async (left) => {
      const run = (globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: AxeResult[] }> } })
        .axe.run;
      const values = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
      const rules = left === undefined ? {} : { [left]: { enabled: false } };
      const { violations } = await run({ runOnly: { type: 'tag', values }, rules, resultTypes: ['violations'] });
      return violations;
    }, but);
    return found.flatMap(({ id, nodes }) =>
      nodes.map(
        ({ target, failureSummary = '' }) => `${id}: ${target.join(' ')}: ${failureSummary.replace(/\s+/g, ' ')}`,
      ),
    );
  }

  async #login(): Promise<Session> {
    if (this.#session === undefined) {
      const context = await this.#browser.newContext();
      const form = { grant_type: 'PASSWORD', username: `${TENANT}/admin`, password: PASSWORD };
      const answer = await context.request.post(`${this.server.url}/tenant/oauth`, { form });
      if (!answer.ok()) throw new Error(`the login was answered with ${answer.status()}`);
      this.#session = await context.storageState();
      await context.close();
    }
    return this.#session;
  }
}

/** Starts both, until the test ends. */
export async function startConsole(t: Teardown): Promise<ConsoleBrowser> {
  const [server, browser] = await Promise.all([
    startServer(t, { flags: ['--bootstrap-password', BOOTSTRAP_PASSWORD] }),
    launchBrowser(),
  ]);
  t.teardown(() => browser.close());
  return new ConsoleBrowser(server, browser);
}
