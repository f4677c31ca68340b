/**
 * One-time codes of authenticator apps (RFC 6238): six digits, half a minute each, SHA-1, as all such apps understand
 * them.
 */
import { Secret, TOTP } from 'otpauth';
import qrcode from 'qrcode-generator';

export const STEP_SECONDS = 30;
/** 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20;
/** Steps before and after the current one whose codes are taken: clocks of telephones are not exact. */
const WINDOW_STEPS = 1;
const ISSUER = 'Millrace';
/** Pixels of a module and modules around the picture. */
const QR_CELL_PIXELS = 4;
const QR_MARGIN = 16;
/** Characters of the label: with more the URL has no room in a picture. */
const LABEL_LENGTH_MAX = 100;

/** @returns base32, as apps take it when it is typed in. */
export const newSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

const totpOf = (secret: string, label = ''): TOTP =>
  new TOTP({
    issuer: ISSUER,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: STEP_SECONDS,
    secret: Secret.fromBase32(secret),
  });

/**
 * @param label who it is for, as the app shows it. @returns a picture of the `otpauth` URL as data URL: the secret goes
 * to no other server.
 */
export function secretPicture(secret: string, label: string): string {
  const picture = qrcode(0, 'M');
  picture.addData(totpOf(secret, [...label].slice(0, LABEL_LENGTH_MAX).join('')).toString());
  picture.make();
  return picture.createDataURL(QR_CELL_PIXELS, QR_MARGIN);
}

/** @param now ms since 1970. @returns the step that the code belongs to; undefined for a wrong code. */
export function stepOfCode(secret: string, code: string, now: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const delta = totpOf(secret).validate({ token: code, timestamp: now, window: WINDOW_STEPS });
  return delta === null ? undefined : Math.floor(now / 1_000 / STEP_SECONDS) + delta;
}
