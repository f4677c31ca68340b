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
