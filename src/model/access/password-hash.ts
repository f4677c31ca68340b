/**
 * Stored forms of passwords: PHC strings, which name the algorithm and its parameters, and the form of servers before
 * them.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { withoutEnd } from '../documents/text-end.ts';

/**
 * `ln` is the binary logarithm of scrypt's N. A hash takes 2^ln × r × 128 bytes of memory, and time in proportion to
 * that × p.
 */
export interface ScryptCost {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

export interface ScryptHash extends ScryptCost {
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** What older servers stored as `scrypt$<salt>$<key>`. */
const COST_BEFORE: ScryptCost = { ln: 14, r: 8, p: 1 };
/** More of a stored hash is not computed: 1 GiB of memory. */
const COST_MAX: ScryptCost = { ln: 20, r: 8, p: 8 };
const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** Shorter ones come from no server. */
const SALT_BYTES_MIN = 8;
const GENERATED = '$sha256$';
const SCRYPT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
const SCRYPT_BEFORE = /^scrypt\$([A-Za-z0-9+/]+=*)\$([A-Za-z0-9+/]+=*)$/;

const textOf = (bytes: Buffer): string => withoutEnd(bytes.toString('base64'), '=');

/**
 * @returns undefined for other forms, also '' of a user without a password, and for costs that no server has stored.
 */
export function parseScrypt(stored: string): ScryptHash | undefined {
  const match = SCRYPT.exec(stored);
  const before = match === null ? SCRYPT_BEFORE.exec(stored) : null;
  const cost = match === null ? COST_BEFORE : { ln: Number(match[1]), r: Number(match[2]), p: Number(match[3]) };
  const [saltText, keyText] = match === null ? [before?.[1] ?? '', before?.[2] ?? ''] : [match[4], match[5]];
  const [salt, key] = [Buffer.from(saltText, 'base64'), Buffer.from(keyText, 'base64')];
  const isPossible =
    cost.ln >= 1 &&
    cost.ln <= COST_MAX.ln &&
    cost.r >= 1 &&
    cost.r <= COST_MAX.r &&
    cost.p >= 1 &&
    cost.p <= COST_MAX.p;
  return isPossible && salt.length >= SALT_BYTES_MIN && key.length === KEY_BYTES ? { ...cost, salt, key } : undefined;
}

/** @returns the PHC string, without a line feed. */
export const scryptText = ({ ln, r, p, salt, key }: ScryptHash): string =>
  `$scrypt$ln=${ln},r=${r},p=${p}$${textOf(salt)}$${textOf(key)}`;

/** A salt of its own for each hash, and a place for the key. */
export const newScrypt = (cost: ScryptCost): ScryptHash => ({
  ...cost,
  salt: randomBytes(SALT_BYTES),
  key: Buffer.alloc(KEY_BYTES),
});

/** Blocks that are mixed, as a measure of the time. */
export const workOf = ({ ln, r, p }: ScryptCost): number => 2 ** ln * r * p;

export const isSameCost = (left: ScryptCost, right: ScryptCost): boolean =>
  left.ln === right.ln && left.r === right.r && left.p === right.p;

/** Passwords that servers generate for devices: 18 random bytes as base64url. */
const GENERATED_FORM = /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w-]{24}$/;

/**
 * Whether a right password of a device, stored by an older server, is taken for one that this server's predecessor
 * generated: a fast hash then keeps it. 24 random characters of 64 are 144 bits. An administrator who invented a
 * password of exactly this length without blanks and with capitals, small letters and digits is taken for a server; one
 * random password in 58 has no digit and keeps its slow hash.
 */
export const isOfOldGenerated = (password: string, stored: string): boolean =>
  SCRYPT_BEFORE.test(stored) && GENERATED_FORM.test(password);

/**
 * A password for a device or service, of that many random bytes as base64url. Does not begin with `-`: programs that
 * get it as an argument (`mosquitto_pub -P`) would take it for an option.
 */
export function randomPassword(bytes: number): string {
  for (;;) {
    const password = randomBytes(bytes).toString('base64url');
    if (!password.startsWith('-')) return password;
  }
}

/**
 * @param password made by the server from at least 128 random bits: no computer tries that many, so a fast hash is
 * enough.
 */
export function hashGenerated(password: string): string {
  const salt = randomBytes(SALT_BYTES);
  return `${GENERATED}${textOf(salt)}$${textOf(keyOfGenerated(password, salt))}`;
}

/** Takes microseconds. @returns false also for hashes of other forms. */
export function matchesGenerated(password: string, stored: string): boolean {
  if (!stored.startsWith(GENERATED)) return false;
  const [salt = '', key = ''] = stored.slice(GENERATED.length).split('$');
  const expected = Buffer.from(key, 'base64');
  const actual = keyOfGenerated(password, Buffer.from(salt, 'base64'));
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

const keyOfGenerated = (password: string, salt: Buffer): Buffer => createHmac('sha256', salt).update(password).digest();
