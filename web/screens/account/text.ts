/** Texts of the account. */
import { defineTexts } from '../../core/text/language.ts';

const en = {
  profile: 'Profile',
  userName: 'User name',
  tenant: 'Tenant',
  email: 'E-mail',
  roles: 'Roles',
  display: 'Display',
  keys: 'Shortcuts of single keys',
  density: 'Height of rows',
  densities: { normal: 'Normal', comfortable: 'Comfortable', compact: 'Compact' },
  kept: 'Kept in this browser, and with your user for other browsers.',
  password: 'Password',
  codes: 'One-time codes',
  codesAreOn: 'Logging in takes a one-time code. An administrator can take it away.',
  setUpCodes: 'Set up one-time codes',
  sessions: 'Sessions',
  logOutEverywhere: 'Log out everywhere',
  logOutText: 'Ends your sessions here, in other browsers and in other clients. Clients that send your password stay.',
  undoList: 'What you can undo',
  undoEmpty: 'Changes of this page that can be undone appear here.',
  states: { open: 'can be undone', done: 'undone', failed: 'not undone' },
};

export type AccountTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
