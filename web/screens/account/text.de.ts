/** German of text.ts. */
import type { AccountTexts } from './text.ts';

const de: AccountTexts = {
  profile: 'Profil',
  userName: 'Benutzername',
  tenant: 'Mandant',
  email: 'E-Mail',
  roles: 'Rollen',
  display: 'Darstellung',
  keys: 'Kürzel mit einer Taste',
  density: 'Höhe der Zeilen',
  densities: { normal: 'Normal', comfortable: 'Luftig', compact: 'Dicht' },
  kept: 'Bleibt in diesem Browser, und bei Ihrem Benutzer für andere Browser.',
  password: 'Passwort',
  codes: 'Einmalcodes',
  codesAreOn: 'Anmelden verlangt einen Einmalcode. Ein Administrator kann das zurücknehmen.',
  setUpCodes: 'Einmalcodes einrichten',
  sessions: 'Sitzungen',
  logOutEverywhere: 'Überall abmelden',
  logOutText:
    'Beendet Ihre Sitzungen hier, in anderen Browsern und Programmen. Programme, die Ihr Passwort senden, bleiben.',
  undoList: 'Was Sie rückgängig machen können',
  undoEmpty: 'Hier stehen Änderungen dieser Seite, die sich rückgängig machen lassen.',
  states: { open: 'lässt sich rückgängig machen', done: 'rückgängig gemacht', failed: 'nicht rückgängig gemacht' },
};

export default de;
