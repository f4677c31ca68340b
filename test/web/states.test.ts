/** The states of every screen in a browser, over one server: empty, loading, Back, reload, keyboard, live changes. */
import t from 'tap';
import { BROWSER } from '../helpers/browser.ts';
import { missing } from '../helpers/tools.ts';
import { startConsole } from './helpers/browser.ts';
import { emptyScreens } from './screens/empty.ts';
import { liveScreens } from './screens/live.ts';
import { screenStates } from './screens/states.ts';

t.test('the states of every screen', { skip: missing(BROWSER) }, async (t) => {
  const console = await startConsole(t);
  for (const [name, tests] of [
    ['empty', emptyScreens],
    ['live', liveScreens],
    ['loading, by Tab, Back, reload', screenStates],
  ] as const)
    await t.test(name, async (t) => {
      await tests(t, console);
      t.same(console.takeFaults(), [], 'errors of scripts, reports of the policy, requests to elsewhere');
    });
});
