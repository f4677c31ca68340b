/**
 * Every row of the route table in the order of a visit: a link leads there while answers are held back, the answers come,
 * Tab goes through all controls, Back returns from another screen, and reload shows the same.
 */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { isInTurn } from '../../helpers/rounds.ts';
import { until } from '../../helpers/until.ts';
import type { ConsoleBrowser } from '../helpers/browser.ts';
import { GALLERY, addressesOf, follow } from '../helpers/rows.ts';

/** Stops of Tab beside controls, in one screen. */
const SCROLLERS_MAX = 20;
/** Screens whose numbers run while they are looked at. */
const RUNNING = /^\/(?:admin\/server|connections|traffic|admin\/retention|admin\/tenants(?:\/\w+)?)?$/;

/** A device that the screen before has read tells its software at once. */
const KNOWN = /\/software/;

/** In the page: `hold()` keeps its requests, but those without which no page begins, until `letGo()`. */
const HOLDING = `
const send = globalThis.fetch;
let held;
globalThis.hold = () => {
  held = new Promise((resolve) => {
    globalThis.letGo = () => {
      held = undefined;
      resolve();
    };
  });
};
globalThis.fetch = async (input, init) => {
  const { pathname } = new URL(input instanceof Request ? input.url : String(input), location.href);
  if (!/\\/(?:currentUser|currentTenant|openapi\\.json)$/.test(pathname)) await held;
  return send(input, init);
};`;

interface View {
  readonly address: string;
  /** Undefined while there is no heading, or that of the screen before. */
  readonly title?: string;
  /** Of the main part, with what its fields hold; without ages, times of the clock and names that each opening proposes. */
  readonly text: string;
  readonly isLoading: boolean;
  /** What says that there is nothing: headings of empty states, and a count of 0. */
  readonly nothing: readonly string[];
}

const view = (page: Page): Promise<View> =>
  page.evaluate<View>(`(() => {
    const main = document.querySelector('main');
    const fields = [...main.querySelectorAll('input, select, textarea')];
    const values = fields.map((field) => (field.type === 'checkbox' || field.type === 'radio' ? field.checked : field.value));
    const leaves = [...main.querySelectorAll('*')].filter((element) => element.childElementCount === 0 && element.checkVisibility());
    return {
      address: location.pathname + location.search,
      title: main.querySelector('h1:not([data-before])')?.textContent,
      text: [main.innerText, ...values].join('\\n')
        .replace(/\\d+(?:s|m|h|d) ago|trial-\\w+|\\d{4}-\\d\\d-\\d\\dT[\\d:.%A]+Z|(?:\\d{4}-\\d\\d-\\d\\d )?\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?/g, ''),
      isLoading: main.querySelector('[aria-busy=true]') !== null || /Loading …|counting …/.test(main.textContent),
      nothing: [...main.querySelectorAll('.state h2'), ...leaves.filter(({ textContent }) => /^0(?: |$)/.test(textContent.trim()))]
        .map(({ textContent }) => textContent.trim()),
    };
  })()`);

/** What two views of one screen have in common. */
const lasting = ({ address, title, text }: View): object => ({
  address,
  title,
  text: RUNNING.test(address.replace(/^\/console|\?.*/g, '')) ? text.replace(/[\d.,]+|[KMG]i?B/g, '') : text,
});

/** Waits until the screen looks as before. */
async function looksLike(t: Test, page: Page, before: View, how: string): Promise<void> {
  let now = await view(page);
  const isSame = async (): Promise<boolean> => {
    now = await view(page);
    return JSON.stringify(lasting(now)) === JSON.stringify(lasting(before));
  };
  await until(how, isSame, 2_000).catch(() => t.same(lasting(now), lasting(before), `${before.address} ${how}`));
}

/** Goes there while answers are held back. */
async function load(t: Test, page: Page, console: ConsoleBrowser, path: string): Promise<View> {
  await page.evaluate(`hold(); document.querySelector('main h1').dataset.before = ''`);
  await follow(page, path);
  let waiting: View | undefined;
  const isWaiting = async (): Promise<boolean> => {
    waiting = await view(page);
    return `/console${path}` === waiting.address && waiting.title !== undefined && waiting.isLoading;
  };
  // A screen that asks for nothing has all at once.
  const hasWaited = await until('the screen says that it loads', isWaiting, 250).then(
    () => true,
    () => false,
  );
  await page.evaluate('letGo()');
  const isThere = async (): Promise<boolean> => {
    const { address, isLoading, title } = await view(page);
    return `/console${path}` === address && !isLoading && title !== undefined;
  };
  await until(`${path} has loaded`, isThere);
  await console.settle(page);
  const loaded = await view(page);
  if (hasWaited)
    t.same(
      KNOWN.test(path) ? [] : waiting?.nothing,
      [],
      `${path} says of nothing that it is not there before it knows`,
    );
  else t.same(waiting?.text, loaded.text, `${path} says that it loads`);
  return loaded;
}

interface Walk {
  /** Controls that Tab does not reach. */
  readonly missed: readonly string[];
  /** Controls that show no focus. */
  readonly unseen: readonly string[];
  /** Pairs of stops against the order of the document. */
  readonly disordered: readonly string[];
  /** The walk has not left the main part. */
  readonly isTrapped: boolean;
}

/** In the page: notes where the focus comes, from the head of the main part on. @returns how many controls there are. */
const BEGIN_WALK = `(() => {
  const main = document.querySelector('main');
  const nameOf = (element) => element.localName + ' ' + (element.getAttribute('aria-label') || element.textContent.trim() || element.name || element.id).slice(0, 60);
  const controls = () => [...main.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled && element.closest('[inert]') === null);
  const stops = [];
  const unseen = [];
  const note = ({ target }) => {
    if (!main.contains(target) || target === main || stops.includes(target)) return;
    stops.push(target);
    const isSeen = (element) => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
      return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none';
    };
    if (![target, target.parentElement, ...target.querySelectorAll(':scope > *')].some(isSeen)) unseen.push(nameOf(target));
  };
  document.addEventListener('focusin', note);
  main.focus();
  globalThis.endWalk = () => {
    document.removeEventListener('focusin', note);
    // One stop stands for a group that arrows move in.
    const groupOf = (element) => element.type === 'radio' ? element.closest('form, main').querySelectorAll('input[name="' + CSS.escape(element.name) + '"]')
      : element.tabIndex < 0 ? element.closest('[role=tablist], [role=toolbar], [role=menu], [role=group], [role=application], [role=tree], [role=listbox]')?.querySelectorAll('*') ?? [] : [];
    const isReached = (element) => stops.includes(element) || [...groupOf(element)].some((one) => stops.includes(one));
    return {
      missed: controls().filter((element) => !isReached(element)).map(nameOf),
      unseen,
      disordered: stops.flatMap((stop, index) => index > 0 && !(stops[index - 1].compareDocumentPosition(stop) & 4) ? [nameOf(stop)] : []),
      isTrapped: main.contains(document.activeElement) && document.activeElement !== main,
    };
  };
  return controls().length;
})()`;

/** Tab through the main part, and out of it. */
async function walk(page: Page): Promise<Walk> {
  const count = await page.evaluate<number>(BEGIN_WALK);
  for (let tabs = 0; tabs <= count; tabs += 1) await page.keyboard.press('Tab');
  // Parts that scroll are stops too.
  for (let tabs = 0; tabs < SCROLLERS_MAX && (await page.locator('main :focus').count()) > 0; tabs += 1)
    await page.keyboard.press('Tab');
  return page.evaluate<Walk>('endWalk()');
}

export async function screenStates(t: Test, console: ConsoleBrowser): Promise<void> {
  const { rest } = console.server;
  const c8y_SupportedOperations = [
    ...['c8y_Restart', 'c8y_Command', 'c8y_UploadConfigFile', 'c8y_SoftwareList', 'c8y_SoftwareUpdate', 'c8y_Firmware'],
    ...['c8y_LogfileRequest', 'c8y_RemoteAccessConnect'],
  ];
  const device = await rest.createDevice('States', { type: 'pump', c8y_SupportedOperations });
  const source = { id: device };
  const time = new Date().toISOString();
  await rest.create('/alarm/alarms', { source, time, type: 'c8y_Hot', text: 'Hot', severity: 'MAJOR' });
  await rest.create('/event/events', { source, time, type: 'c8y_Door', text: 'Door opened' });
  await rest.create('/measurement/measurements', {
    source,
    time,
    type: 'pump',
    c8y_Flow: { F: { value: 3, unit: 'l' } },
  });
  const page = await console.page(t);
  await page.addInitScript({ content: HOLDING });
  await console.open(page, '/');
  const addresses = (await addressesOf(device)).filter((path) => path !== GALLERY);
  for (const path of addresses.filter((_, index) => isInTurn(index))) {
    // Not the screen that the link leads to.
    const other = path.startsWith('/account') ? '/data/export' : '/account';
    if (path === '/') await follow(page, other);
    const loaded = await load(t, page, console, path);
    t.same(await walk(page), { missed: [], unseen: [], disordered: [], isTrapped: false }, `${path} by Tab`);
    await follow(page, other);
    await page.waitForURL((url) => url.pathname === `/console${other}`);
    await page.goBack();
    await looksLike(t, page, loaded, 'is the same after Back');
    await page.reload();
    await looksLike(t, page, loaded, 'is the same after a reload');
    t.same(console.takeFaults(), [], `${path} has no errors`);
  }
}
