/** Passwords that people choose: the tenant's rule for them, and what is stored of one (docs/spec/users.md). */
import type { UserPut } from '../../model/commands/users.ts';
import { PlatformError } from '../../model/errors.ts';
import { PASSWORD_RULE, isAllowedPassword, passwordStrength } from '../../model/access/password.ts';
import type { Principal } from '../../model/access/principal.ts';
import { greenLengthMin, wantsGreenPasswords } from '../options/values.ts';
import type { OptionReader } from '../options/values.ts';
import type { PasswordHashes } from './hashes.ts';

/** What a chosen password is checked and hashed with. */
export interface PasswordParts extends OptionReader {
  readonly hashes: Pick<PasswordHashes, 'hash'>;
}

/**
 * What a command says about a password of the user.
 * @param by in whose turn it is hashed; a caller without login waits with others of the user that it is for.
 * @param tenant number of the user's tenant.
 * @throws PlatformError 422 when it breaks a rule, or the tenant wants green ones; `general/busy`.
 */
export async function newPassword(
  parts: PasswordParts,
  by: Pick<Principal, 'userName' | 'tenantNumber'>,
  tenant: number,
  { userName, password }: { readonly userName: string; readonly password: string },
): Promise<Pick<UserPut, 'password' | 'passwordStrength'>> {
  if (!isAllowedPassword(password)) throw refused(PASSWORD_RULE);
  const greenLength = await greenLengthMin(parts, tenant);
  const strength = passwordStrength(password, greenLength);
  if (strength !== 'GREEN' && (await wantsGreenPasswords(parts, tenant))) {
    throw refused(`at least ${greenLength} characters with lower and upper case letters, digits and other characters`);
  }
  const turn = { tenant, account: by.tenantNumber === tenant ? by.userName : userName };
  return { password: await parts.hashes.hash(password, 'chosen', turn), passwordStrength: strength };
}

const refused = (limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'users', name: 'password', value: '…', limit });
