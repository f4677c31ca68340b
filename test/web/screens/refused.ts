/**
 * Every row of the route table while the server is too busy, while it refuses, and for a user without any role: each
 * screen opens and says so. Each commit takes half of the rows with each. Links lead from one to the next: to
 * load the page for each would take five times as long.
 */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { isInTurn } from '../../helpers/rounds.ts';
import { TENANT } from '../../helpers/running/server.ts';
import { until } from '../../helpers/until.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';
import { follow, pathsOf } from '../helpers/rows.ts';

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

/** How the requests that follow are answered. */
const answerAs = (page: Page, answer: number | undefined): Promise<void> =>
  page.evaluate(`
    delete document.documentElement.dataset.refused;
    ${answer === undefined ? '' : `document.documentElement.dataset.answer = '${answer}';`}`);

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
  await console.logIn(roleless, `${TENANT}/roleless`, PASSWORD);
  const ways = [
    { name: 'a busy server', page: refused, answer: 503 },
    { name: 'a refusal', page: refused, answer: 403 },
    { name: 'no role', page: roleless, answer: undefined },
  ];
  for (const [index, path] of (await pathsOf(device)).entries())
    for (const [number, { name, page, answer }] of ways.entries()) {
      if (!isInTurn(index + number)) continue;
      await answerAs(page, answer);
      await follow(page, path);
      const isSilent = TELLS_LATER.includes(path);
      await console.settle(page);
      await until(`${path} with ${name} says what it has`, async () => {
        const { text, asked, isHere } = await told(page, path);
        return isHere && !UNFINISHED.test(text) && (isSilent || asked === undefined || text.includes(MESSAGE));
      }).catch(async (error: unknown) => t.fail(`${String(error)}: ${JSON.stringify(await told(page, path))}`));
      t.same(console.takeFaults(), [], `${path} with ${name} has no errors`);
    }
  await follow(roleless, '/devices');
  await roleless.getByRole('button', { name: 'Add a device' }).press('Enter');
  await roleless.getByText('Needs ROLE_DEVICE_CONTROL_ADMIN').first().waitFor();
  t.match(roleless.url(), /\/devices$/, 'what leads to a form that is refused leads nowhere');
}
