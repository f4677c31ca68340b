/** Rules for passwords that people choose, and how strong one is. Stored forms: password-hash.ts. */

/** docs/spec/users.md#fields. */
export const PASSWORD_LENGTH_MIN = 6;
export const PASSWORD_LENGTH_MAX = 32;
export const PASSWORD_RULE = `${PASSWORD_LENGTH_MIN} to ${PASSWORD_LENGTH_MAX} characters of Latin-1`;

export const isAllowedPassword = (password: string): boolean =>
  password.length >= PASSWORD_LENGTH_MIN &&
  password.length <= PASSWORD_LENGTH_MAX &&
  /^[\x20-\x7e\xa0-\xff]*$/.test(password);

export const PASSWORD_STRENGTHS = ['GREEN', 'YELLOW', 'RED'] as const;
export type PasswordStrength = (typeof PASSWORD_STRENGTHS)[number];
/** Length of a green password when the tenant has set none. */
export const GREEN_LENGTH_MIN = 8;

/**
 * GREEN: lower and upper case letters, digits and other characters, and long enough; YELLOW: three of the four kinds
 * and long enough; RED: all others.
 */
export function passwordStrength(password: string, greenLengthMin = GREEN_LENGTH_MIN): PasswordStrength {
  const kinds = [/\p{Ll}/u, /\p{Lu}/u, /\d/, /[^\p{L}\d]/u].filter((kind) => kind.test(password)).length;
  if (password.length < greenLengthMin) return 'RED';
  return kinds === 4 ? 'GREEN' : kinds === 3 ? 'YELLOW' : 'RED';
}

/** A password of this length is strong, whatever it is made of: what this server generates has lower case and digits. */
const LONG_PASSWORD_LENGTH = 16;
const DIFFERENT_CHARACTERS_MIN = 5;
export const STRONG_PASSWORD_RULE =
  `at least ${GREEN_LENGTH_MIN} characters with three of lower case letters, upper case letters, digits and others, ` +
  `or at least ${LONG_PASSWORD_LENGTH} characters; of each ${DIFFERENT_CHARACTERS_MIN} different ones`;

/** Whether a password is too weak for an account that the configuration makes. */
export const isWeakPassword = (password: string): boolean =>
  new Set(password).size < DIFFERENT_CHARACTERS_MIN ||
  (password.length < LONG_PASSWORD_LENGTH && passwordStrength(password) === 'RED');
