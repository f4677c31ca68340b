/**
 * `owner` is the number of the tenant whose application it is: when that tenant ends, so does the access of the user.
 */
export interface ServiceOf {
  readonly application: string;
  readonly owner: number;
}

/** A user as stored in the collection `user`. */
export interface StoredUser {
  readonly userName: string;
  /** See model/access/password.ts; '' until one is set by a link in a mail. */
  readonly password: string;
  readonly roles: readonly string[];
  readonly enabled: boolean;
  /** Further members as sent (names, e-mail, customProperties, devicePermissions). */
  readonly doc: string;
  /** Ids of groups; those of deleted groups may be left, ids are never reused. */
  readonly groups?: readonly number[];
  readonly alias?: string;
  readonly passwordStrength?: string;
  /** ms since 1970. */
  readonly lastPasswordChange?: number;
  readonly shouldResetPassword?: boolean;
  /**
   * Tokens carry it: another number is one of before. Of the command that changed it, so that a user made again has
   * another.
   */
  readonly tokenGeneration?: number;
  /** The password that the configuration has given it, as `password`: given once (accounts/first-start.ts). */
  readonly configured?: string;
  /** Of a user of a microservice: its password and rights are the server's. */
  readonly service?: ServiceOf;
  /** Of a user who was made by hand and has a name as devices have; registering a device of the name ends it. */
  readonly isPerson?: boolean;
}
