/** Commands that write users, and their bodies. */
import type { Command } from './command.ts';
import type { DocumentText } from './entities.ts';
import { TENANT_KEY } from './keys.ts';
import { COMMAND } from './kinds.ts';
import { PROCESSING_MODE } from './processing-mode.ts';

/** Device permissions for one managed object; no entries take them away. */
export interface ObjectPermissions {
  readonly object: string;
  readonly entries: readonly string[];
}
/**
 * Key: `t`. `password` is the hash of model/access/password.ts, never the password. Roles and groups are set as a whole
 * or by what is added and removed. `mustExist` refuses a user who is gone meanwhile; `by` is who did it, for the audit
 * log.
 */
export interface UserPut {
  readonly userName: string;
  readonly password?: string;
  readonly passwordStrength?: string;
  readonly roles?: readonly string[];
  readonly addRoles?: readonly string[];
  readonly removeRoles?: readonly string[];
  readonly addGroups?: readonly number[];
  readonly removeGroups?: readonly number[];
  /** Another name to log in with; '' removes it. */
  readonly alias?: string;
  readonly enabled?: boolean;
  readonly shouldResetPassword?: boolean;
  readonly doc?: DocumentText;
  /** Of a name as devices have: whether it is a person's all the same. */
  readonly isPerson?: boolean;
  /** Of one object; those of other objects stay as they are. */
  readonly devicePermissions?: ObjectPermissions;
  /** Tokens that were issued before are refused from now on. A new password and `enabled: false` do so too. */
  readonly endsTokens?: boolean;
  readonly mustBeNew?: boolean;
  readonly mustExist?: boolean;
  readonly by?: string;
  /**
   * The hash that `password` replaces for the same password: nothing else changes, and nothing at all when it is not
   * the stored one.
   */
  readonly renews?: string;
  /** Text of the record of the user's link to set a password, which is used up by it. */
  readonly usesToken?: string;
}
/**
 * `expected` as in RecordChange: the text of the accepted request. `tenant` is the number of the tenant that gets the
 * user.
 */
export interface DeviceCredentialsIssue {
  readonly id: string;
  readonly expected: string;
  readonly tenant: number;
  readonly user: UserPut;
  /** The user's first object joins it. */
  readonly groupId?: string;
}
export interface UserDelete {
  readonly userName: string;
  readonly by?: string;
  /**
   * Sent by the deletion of an object of a device user, who stays when it has rights beyond those of a device that `by`
   * lacks.
   */
  readonly isWithDevice?: boolean;
}

/** The command that creates or changes a user, decided by the actor of its tenant. @param receivedAt ms since 1970. */
export const userPut = (tenant: number, receivedAt: number, body: UserPut): Command => ({
  kind: COMMAND.USER_PUT,
  tenant,
  key: TENANT_KEY,
  mode: PROCESSING_MODE.PERSISTENT,
  receivedAt,
  body,
});
