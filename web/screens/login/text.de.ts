/** German of text.ts. */
import type { LoginTexts } from './text.ts';

const de: LoginTexts = {
  title: 'Anmelden',
  again: 'Ihre Sitzung ist zu Ende. Melden Sie sich an, dann geht es weiter: auf der Seite bleibt alles, wie es ist.',
  user: 'Benutzername',
  userHint: 'Als Mandant/Benutzer, wo sich mehrere Mandanten diese Adresse teilen',
  password: 'Passwort',
  code: 'Einmalcode',
  codeHint: 'Aus Ihrer Authenticator-App',
  setup:
    'Die Anmeldung braucht Einmalcodes. Fügen Sie das Geheimnis in Ihre Authenticator-App ein und geben Sie einen Code der App ein.',
  qr: 'QR-Code des Geheimnisses',
  secret: 'Geheimnis',
  logIn: 'Anmelden',
  basicOnly:
    'Dieser Mandant erlaubt keine Sitzungen. Ihr Passwort bleibt im Speicher dieser Seite: nach dem Neuladen melden Sie sich wieder an.',
  forgot: 'Passwort vergessen?',
  email: 'E-Mail-Adresse',
  tenant: 'Mandant',
  sendLink: 'Link mailen',
  linkSent: 'Wenn die Adresse zu einem Benutzer gehört, ist ein Link unterwegs.',
  back: 'Zurück zur Anmeldung',
  changeTitle: 'Neues Passwort setzen',
  changeText: 'Ihr Passwort muss geändert werden, bevor es weitergeht.',
  currentPassword: 'Jetziges Passwort',
  newPassword: 'Neues Passwort',
  repeatPassword: 'Neues Passwort noch einmal',
  differ: 'Die beiden Passwörter sind verschieden',
  change: 'Passwort setzen',
  changed: 'Ihr Passwort ist gesetzt',
};

export default de;
