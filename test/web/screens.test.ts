/**
 * The console in a browser, over one server: every screen by its URL, and what each area promises. A new area adds its
 * file of test/web/screens/ to AREAS.
 */
import t from 'tap';
import type { Test } from 'tap';
import { BROWSER } from '../helpers/browser.ts';
import { missing } from '../helpers/tools.ts';
import { startConsole } from './helpers/browser.ts';
import type { ConsoleBrowser } from './helpers/browser.ts';
import { accountScreens } from './screens/account.ts';
import { adminScreens } from './screens/admin.ts';
import { dataScreens } from './screens/data.ts';
import { deviceScreens } from './screens/devices.ts';
import { everyScreen } from './screens/everywhere.ts';
import { operationScreens } from './screens/operations.ts';
import { keyboardWalk } from './screens/keyboard.ts';
import { loginScreens } from './screens/login.ts';
import { trafficScreens } from './screens/traffic.ts';
import { templateScreens } from './screens/templates.ts';
import { refusedScreens } from './screens/refused.ts';
import { scoringScreens } from './screens/scoring.ts';
import { undoScreens } from './screens/undo.ts';

const AREAS: readonly (readonly [name: string, tests: (t: Test, console: ConsoleBrowser) => Promise<void>])[] = [
  ['login', loginScreens],
  ['devices', deviceScreens],
  ['administration', adminScreens],
  ['operations', operationScreens],
  ['data', dataScreens],
  ['traffic', trafficScreens],
  ['templates', templateScreens],
  ['files of lists, and undo', undoScreens],
  ['keyboard', keyboardWalk],
  ['scoring', scoringScreens],
  ['every screen', everyScreen],
  ['every screen, refused', refusedScreens],
  // Last: the language that it keeps with the user would be that of all pages.
  ['account', accountScreens],
];

const skip = missing(BROWSER);

t.test('the console', { skip }, async (t) => {
  const console = await startConsole(t);
  for (const [name, tests] of AREAS)
    await t.test(name, async (t) => {
      await tests(t, console);
      t.same(console.takeFaults(), [], 'errors of scripts, reports of the policy, requests to elsewhere');
    });
});
