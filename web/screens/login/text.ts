/** Texts of the login and of passwords. */
import { defineTexts } from '../../core/text/language.ts';

const en = {
  title: 'Log in',
  again: 'Your session has ended. Log in to go on: nothing on the page is lost.',
  user: 'User name',
  userHint: 'As tenant/user where several tenants share this address',
  password: 'Password',
  code: 'One-time code',
  codeHint: 'From your authenticator app',
  setup: 'Logging in takes one-time codes. Add the secret to your authenticator app, then enter a code of the app.',
  qr: 'QR code of the secret',
  secret: 'Secret',
  logIn: 'Log in',
  basicOnly:
    'This tenant allows no sessions. Your password stays in the memory of this page: after a reload you log in again.',
  forgot: 'Forgot your password?',
  email: 'E-mail address',
  tenant: 'Tenant',
  sendLink: 'Mail me a link',
  linkSent: 'If the address belongs to a user, a link is on its way.',
  back: 'Back to the login',
  changeTitle: 'Set a new password',
  changeText: 'Your password has to be changed before you go on.',
  currentPassword: 'Current password',
  newPassword: 'New password',
  repeatPassword: 'New password again',
  differ: 'The two passwords differ',
  change: 'Set password',
  changed: 'Your password is set',
};

export type LoginTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
