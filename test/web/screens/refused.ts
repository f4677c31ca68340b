/**
 * Every row of the route table while the server is too busy, while it refuses, and for a user without any role: each
 * screen opens and says so. At each commit a third of the rows meets each of them. Links lead from one to the next: to
 * load the page for each would take five times as long.
 */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { rounds } from '../../helpers/rounds.ts';
import { TENANT } from '../../helpers/running/server.ts';
import { until } from '../../helpers/until.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';
import { pathsOf } from './everywhere.ts';

const PASSWORD = 'Analytical-1';
const MESSAGE = 'Refused by the test';
/** What it asks for ahead it asks for again when it is needed, and tells then. */
const TELLS_LATER = ['/devices/new'];
const UNFINISHED = /This screen has failed|Loading …/;

/**
 * In the page: answers its requests, but those without which no page begins, as `data-answer` of the document says, and
 * notes the last one.
 */
const REFUSING = `
const send = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  const { pathname } = new URL(input instanceof Request ? input.url : String(input), location.href);
  if (/^\\/console\\/|\\/(?:currentUser|currentTenant|openapi\\.json)$/.test(pathname)) return send(input, init);
  const { dataset } = document.documentElement;
  dataset.refused = pathname;
  const body = { error: 'general/test', message: ${JSON.stringify(MESSAGE)} };
  return new Response(JSON.stringify(body), { status: Number(dataset.answer ?? 503) });
};`;

/** Follows a link to the path, for requests that are answered so. */
const follow = (page: Page, path: string, answer: number | undefined): Promise<void> =>
  page.evaluate(`
    delete document.documentElement.dataset.refused;
    ${answer === undefined ? '' : `document.documentElement.dataset.answer = '${answer}';`}
    (() => {
      const link = document.createElement('a');
      link.href = ${JSON.stringify(`/console${path}`)};
      document.body.append(link);
      link.click();
      link.remove();
    })()`);

interface Told {
  readonly text: string;
  readonly asked?: string;
  readonly isHere: boolean;
}

const told = (page: Page, path: string): Promise<Told> =>
  page.evaluate<Told>(`(() => {
    const main = document.querySelector('main');
    return {
      text: main?.textContent ?? '',
      asked: document.documentElement.dataset.refused,
      isHere: location.pathname === ${JSON.stringify(`/console${path}`)} && main?.querySelector('h1') !== null,
    };
  })()`);

export async function refusedScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const device = await rest.createDevice('Refused', { c8y_SupportedOperations: ['c8y_Restart'] });
  await rest.create(`/user/${TENANT}/users`, { userName: 'roleless', password: PASSWORD });
  const refused = await console.page(t);
  await refused.addInitScript({ content: REFUSING });
  await refused.goto(console.url('/'));
  await refused.getByText(MESSAGE).first().waitFor();
  const roleless = await console.page(t, { isLoggedOut: true });
  await roleless.goto(console.url('/'));
  await roleless.getByLabel('User name').fill(`${TENANT}/roleless`);
  await roleless.getByLabel('Password').fill(PASSWORD);
  await roleless.keyboard.press('Enter');
  await roleless.getByRole('button', { name: 'Account: roleless' }).waitFor();
  const ways = [
    { name: 'a busy server', page: refused, answer: 503 },
    { name: 'a refusal', page: refused, answer: 403 },
    { name: 'no role', page: roleless, answer: undefined },
  ];
  const begins = Math.floor(Math.random() * ways.length);
  const isAll = rounds(1, 2) === 2;
  for (const [index, path] of (await pathsOf(device)).entries())
    for (const [number, { name, page, answer }] of ways.entries()) {
      if (!isAll && (index + begins) % ways.length !== number) continue;
      await follow(page, path, answer);
      const isSilent = TELLS_LATER.includes(path);
      await console.settle(page);
      await until(`${path} with ${name} says what it has`, async () => {
        const { text, asked, isHere } = await told(page, path);
        return isHere && !UNFINISHED.test(text) && (isSilent || asked === undefined || text.includes(MESSAGE));
      }).catch(async (error: unknown) => t.fail(`${String(error)}: ${JSON.stringify(await told(page, path))}`));
      t.same(console.takeFaults(), [], `${path} with ${name} has no errors`);
    }
}
