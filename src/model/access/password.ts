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
