/** Password hashes: scrypt with a salt of its own for each user, slow on purpose. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** About 20 ms and 16 MiB on one core of 2026. */
const COST = 16_384;
const KEY_BYTES = 32;
const SALT_BYTES = 16;

const derive = (password: string, salt: Buffer): Promise<Buffer> => new Promise((resolve, reject) => {
  scrypt(password, salt, KEY_BYTES, { N: COST, r: 8, p: 1 }, (error, key) => { if (error) reject(error); else resolve(key); });
});

/** @returns `scrypt$<salt>$<key>`, base64. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return `scrypt$${salt.toString('base64')}$${(await derive(password, salt)).toString('base64')}`;
}

export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [scheme, salt, key] = stored.split('$');
  if (scheme !== 'scrypt' || !salt || !key) return false;
  const expected = Buffer.from(key, 'base64');
  const actual = await derive(password, Buffer.from(salt, 'base64'));
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** Document 4 section 3.1. */
export const PASSWORD_LENGTH_MIN = 6;
export const PASSWORD_LENGTH_MAX = 32;
export const PASSWORD_RULE = `${PASSWORD_LENGTH_MIN} to ${PASSWORD_LENGTH_MAX} characters of Latin-1`;

export const isAllowedPassword = (password: string): boolean =>
  password.length >= PASSWORD_LENGTH_MIN && password.length <= PASSWORD_LENGTH_MAX && /^[\x20-\x7e\xa0-\xff]*$/.test(password);

export const PASSWORD_STRENGTHS = ['GREEN', 'YELLOW', 'RED'] as const;
export type PasswordStrength = (typeof PASSWORD_STRENGTHS)[number];
/** Length of a green password when the tenant has set none. */
export const GREEN_LENGTH_MIN = 8;

/**
 * GREEN: lower and upper case letters, digits and other characters, and long enough; YELLOW: three of the four kinds and long enough; RED: all
 * others.
 */
export function passwordStrength(password: string, greenLengthMin = GREEN_LENGTH_MIN): PasswordStrength {
  const kinds = [/\p{Ll}/u, /\p{Lu}/u, /\d/, /[^\p{L}\d]/u].filter((kind) => kind.test(password)).length;
  if (password.length < greenLengthMin) return 'RED';
  return kinds === 4 ? 'GREEN' : kinds === 3 ? 'YELLOW' : 'RED';
}
