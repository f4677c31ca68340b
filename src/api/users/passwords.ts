/** Passwords of users: rules, changes with the old one, and links to set a new one (docs/spec/users.md). */
import { createHash, randomBytes } from 'node:crypto';
import { isActive } from '../../accounts/tenants/tenants.ts';
import { passwordTokenKey as tokenKey } from '../../actors/handlers/users/user.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { UserPut } from '../../model/commands/users.ts';
import { PlatformError } from '../../model/errors.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import {
  GREEN_LENGTH_MIN,
  PASSWORD_LENGTH_MAX,
  PASSWORD_RULE,
  isAllowedPassword,
  passwordStrength,
} from '../../model/access/password.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { Turns } from '../../pacing/turns.ts';
import type { ApiRequest } from '../request/request.ts';
import { FORWARDED_HEADERS, callerOf } from '../request/login-caller.ts';
import { requireRightsOf } from './inventory-rights.ts';
import { tenantCalled } from '../request/login-host.ts';
import type { TenantInfo } from '../request/platform.ts';
import { text } from '../request/schema/query-parameters.ts';
import { peopleSteps } from '../../records/steps.ts';
import { changeRecords, retried } from '../../records/records.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { numberOption, wantsGreenPasswords } from '../../accounts/options/values.ts';
import * as schemas from './schemas.ts';
import { USER_ADMIN, loadUser, requireOwnTenant } from './text.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

const DONE: Answer = { status: 200, text: '' };
/** A link to set a password is good for so long. */
const LINK_MS = 24 * 3_600_000;
/** Between two mails to one user that users who are logged in ask for. */
const MAIL_PAUSE_MS = 60_000;
/**
 * Between two mails that strangers ask for; twice as long for each further link that is still good: nine mails in the
 * first day.
 */
const STRANGER_PAUSE_MS = 5 * 60_000;
/** Links of one user that are good at a time, the newest ones. */
const LINKS_MAX = 16;
/** Users with one address that get a mail, the first ones; links that administrators send work for all. */
const MAILS_MAX = 10;
/** Links that were asked for without login and not sent. */
const UNSENT = 'users/password-links-unsent';

/**
 * Requests without login that look through all users of a tenant. They take turns by tenant and address: clients in a
 * loop wait for each other.
 */
export const passwordSearches = (refusals: Refusals): Turns =>
  new Turns({
    refusals,
    running: { all: 2, ofUser: 1 },
    waiting: { all: 100, ofUser: 5 },
    waitMsMax: 10_000,
    limits: {
      all: 'users/password-resets',
      ofUser: 'users/password-resets-of-address',
      wait: 'users/password-resets-wait',
    },
  });

/**
 * What a command says about a password of the user.
 * @throws PlatformError 422 when it breaks a rule, or the tenant wants green ones; `general/busy`.
 */
export async function newPassword(
  request: ApiRequest,
  tenant: number,
  { userName, password }: { readonly userName: string; readonly password: string },
): Promise<Pick<UserPut, 'password' | 'passwordStrength'>> {
  if (!isAllowedPassword(password)) {
    throw new PlatformError('validation/invalid-field', {
      area: 'users',
      name: 'password',
      value: '…',
      limit: PASSWORD_RULE,
    });
  }
  const range = { minimum: GREEN_LENGTH_MIN, maximum: PASSWORD_LENGTH_MAX, otherwise: GREEN_LENGTH_MIN };
  const greenLength = await numberOption(request.platform, tenant, ['password', 'green.min-length'], range);
  const strength = passwordStrength(password, greenLength);
  if (strength !== 'GREEN' && (await wantsGreenPasswords(request.platform, tenant))) {
    const limit = `at least ${greenLength} characters with lower and upper case letters, digits and other characters`;
    throw new PlatformError('validation/invalid-field', { area: 'users', name: 'password', value: '…', limit });
  }
  // In the turn of who asks; a request without login waits with others of the user that it is for.
  const turn =
    request.tenant === tenant ? { tenant, account: request.principal.userName } : { tenant, account: userName };
  return {
    password: await request.platform.hashes.hash(password, 'chosen', turn),
    passwordStrength: strength,
  };
}

/**
 * Whether a change of the user gives it a password, or another address, to which a link to set one is mailed without a
 * login.
 */
export function leadsToPassword(members: Members, user: StoredUser): boolean {
  if (stringMember(members, 'password') !== undefined) return true;
  return members.has('email') && (stringMember(members, 'email') ?? '') !== (emailOf(user) ?? '');
}

/**
 * Before a user changes what leads to the own password: a session alone is not enough, who has stolen it could keep its
 * user out.
 * @throws PlatformError 422 when it is not the one that the user has; `general/busy`, `login/locked`.
 */
export async function confirmPassword(request: ApiRequest, password: string | undefined): Promise<void> {
  if (password === undefined) throw new PlatformError('users/current-password-missing');
  const { address } = callerOf(request);
  const { signal } = request.exchange;
  if (!(await request.platform.authenticator.confirm(request.principal, password, { address, signal })))
    throw new PlatformError('users/wrong-password');
}

interface PasswordChange {
  readonly currentUserPassword: string;
  readonly newPassword: string;
}

/**
 * `{"currentUserPassword","newPassword"}`: the first is always that of who asks. @throws PlatformError 422 when it is
 * wrong.
 */
async function change(request: ApiRequest, userName: string): Promise<Answer> {
  const body = JSON.parse(request.bodyText()) as PasswordChange;
  await confirmPassword(request, body.currentUserPassword);
  const password = await newPassword(request, request.tenant, { userName, password: body.newPassword });
  const put: UserPut = { userName, ...password, mustExist: true, by: request.principal.userName };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, put);
  return DONE;
}

async function changeOther(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { userId } = request.params;
  await requireRightsOf(request, await loadUser(request, userId));
  return change(request, userId);
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64url');
const emailOf = (user: StoredUser): string | undefined => stringMember(splitMembers(user.doc), 'email');

interface Link {
  readonly hash: string;
  readonly expiresAt: number;
}
/** The newest link and those before it. A new one ends no other: strangers could end each link that was just mailed. */
interface StoredToken extends Link {
  readonly createdAt: number;
  readonly earlier?: readonly Link[];
}

/** @returns the address of a user. @throws PlatformError 422 for one who has none, or is not there. */
export async function requireAddress(request: ApiRequest, tenant: number, userName: string): Promise<string> {
  const stored = await request.platform.documents.get('user', tenant, userName);
  const email = stored === undefined ? undefined : emailOf(JSON.parse(stored) as StoredUser);
  if (email === undefined || email === '') throw new PlatformError('users/email-missing');
  return email;
}

/** @returns the links that are still good, the newest first. */
function linksOf(record: string | undefined, now: number): Link[] {
  if (record === undefined) return [];
  const { hash, expiresAt, earlier = [] } = JSON.parse(record) as StoredToken;
  return [{ hash, expiresAt }, ...earlier].filter((link) => link.expiresAt > now);
}

/** @returns undefined when a link was mailed just now, also by who asks at the same time. */
function newToken(
  request: ApiRequest,
  tenant: number,
  userName: string,
  isForStranger: boolean,
): Promise<string | undefined> {
  const { platform } = request;
  return retried(request.platform, async () => {
    const expected = await platform.documents.get('passwordToken', tenant, tokenKey(userName));
    const now = platform.now();
    const links = linksOf(expected, now);
    const pauseMs = isForStranger ? STRANGER_PAUSE_MS * 2 ** Math.max(0, links.length - 1) : MAIL_PAUSE_MS;
    if (expected !== undefined && now - (JSON.parse(expected) as StoredToken).createdAt < pauseMs) return undefined;
    const token = randomBytes(32).toString('base64url');
    const record: StoredToken = {
      hash: hashOf(token),
      createdAt: now,
      expiresAt: now + LINK_MS,
      earlier: links.slice(0, LINKS_MAX - 1),
    };
    await changeRecords(request.platform, tenant, [
      { collection: 'passwordToken', id: tokenKey(userName), expected, value: JSON.stringify(record) },
    ]);
    return token;
  });
}

/**
 * Mails a link to set a password; it ends with its day, or when a link of the user is used. @throws PlatformError 422
 * for a user without an address.
 */
export async function sendPasswordLink(
  request: ApiRequest,
  tenant: TenantInfo,
  userName: string,
  isForStranger = false,
): Promise<void> {
  const { platform } = request;
  const email = await requireAddress(request, tenant.number, userName);
  const token = await newToken(request, tenant.number, userName, isForStranger);
  if (token === undefined) {
    platform.refusals.count('users/password-mails');
    return;
  }
  // Never of what the request calls the server: whoever asks for the mail could lead its receiver to a server of his
  // own.
  const link = `${platform.config.mailUrl}/?${new URLSearchParams({ token, email, tenantId: tenant.id })}`;
  await platform.accounts.mailer.send({
    to: email,
    tenant: tenant.number,
    subject: 'Set your password',
    text: `Hello ${userName},\n\nset a new password of your account within a day: ${link}\n\nIf you did not ask for it, do nothing.`,
  });
}

/** Of the query, or of the host. @throws PlatformError 404 for a tenant that does not exist. */
function tenantAsked(request: ApiRequest): TenantInfo {
  const { tenants } = request.platform;
  const id = request.query.text('tenantId');
  const tenant = id === undefined ? (tenantCalled(request) ?? tenants.default) : tenants.byId(id);
  if (tenant === undefined) throw new PlatformError('tenants/not-found', { id: id ?? '' });
  return tenant;
}

/**
 * Looks through the enabled users with an address, step by step, until `look` has found; a suspended tenant has none.
 * @throws PlatformError 503 when too many look for theirs, from this address or in all; the reason of the signal when
 * the client leaves the queue.
 */
async function searchPeople<Found>(
  request: ApiRequest,
  tenant: TenantInfo,
  email: string,
  look: (users: readonly StoredUser[]) => Found | undefined | Promise<Found | undefined>,
): Promise<Found | undefined> {
  if (!isActive(tenant)) {
    request.refused('users/password-resets-suspended');
    return undefined;
  }
  const { passwordSearches: turns } = request.platform.accounts;
  const { key } = callerOf(request).address;
  await turns.begin(tenant.number, key, request.exchange.signal);
  try {
    for await (const users of peopleOfEmail(request, tenant.number, email.toLowerCase())) {
      const found = await look(users);
      if (found !== undefined) return found;
    }
    return undefined;
  } finally {
    turns.end(tenant.number, key);
  }
}

/** @param wanted lower case. */
async function* peopleOfEmail({ platform }: ApiRequest, tenant: number, wanted: string): AsyncGenerator<StoredUser[]> {
  for await (const rows of peopleSteps({ documents: platform.documents, tenant })) {
    const candidates = rows
      .filter(({ value }) => value.toLowerCase().includes(wanted))
      .map(({ value }) => JSON.parse(value) as StoredUser);
    const users = candidates.filter((user) => user.enabled && emailOf(user)?.toLowerCase() === wanted);
    if (users.length > 0) yield users;
  }
}

/** Those who get a mail. */
async function firstOfEmail(request: ApiRequest, tenant: TenantInfo, email: string): Promise<StoredUser[]> {
  const first: StoredUser[] = [];
  await searchPeople(request, tenant, email, (users) => {
    first.push(...users.slice(0, MAILS_MAX - first.length));
    return first.length >= MAILS_MAX ? first : undefined;
  });
  return first;
}

/** Answers the same whether there is such a user or not: what keeps a mail back is in the log and the counters only. */
async function requestReset(request: ApiRequest): Promise<Answer> {
  const tenant = tenantAsked(request);
  const { refusals, log } = request.platform;
  const { email } = JSON.parse(request.bodyText()) as { email: string };
  for (const { userName } of await firstOfEmail(request, tenant, email)) {
    try {
      await sendPasswordLink(request, tenant, userName, true);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      refusals.count(UNSENT);
      log.warn(
        { tenant: tenant.id, userName, code: error.code, reason: error.message, limit: UNSENT },
        'a link to set a password is not sent',
      );
    }
  }
  return DONE;
}

/** @throws PlatformError 422 when no user of the address has the token. */
async function userOfToken(
  request: ApiRequest,
  tenant: TenantInfo,
  email: string,
  token: string,
): Promise<{ userName: string; record: string }> {
  const { documents, now } = request.platform;
  const hash = hashOf(token);
  const found = await searchPeople(request, tenant, email, async (users) => {
    const records = await documents.getMany(
      'passwordToken',
      tenant.number,
      users.map(({ userName }) => tokenKey(userName)),
    );
    for (const [index, record] of records.entries()) {
      if (record !== undefined && linksOf(record, now()).some((link) => link.hash === hash))
        return { userName: users[index].userName, record };
    }
    return undefined;
  });
  if (found === undefined) throw new PlatformError('users/reset-token');
  return found;
}

async function reset(request: ApiRequest): Promise<Answer> {
  const tenant = tenantAsked(request);
  const { commands, now } = request.platform;
  const body = JSON.parse(request.bodyText()) as { email: string; token: string; newPassword: string };
  const { userName, record } = await userOfToken(request, tenant, body.email, body.token);
  const password = await newPassword(request, tenant.number, { userName, password: body.newPassword });
  const put: UserPut = { userName, ...password, mustExist: true, usesToken: record, by: userName };
  await commands.request({
    kind: COMMAND.USER_PUT,
    tenant: tenant.number,
    key: TENANT_KEY,
    mode: PROCESSING_MODE.PERSISTENT,
    receivedAt: now(),
    body: put,
  });
  return DONE;
}

async function validate(request: ApiRequest): Promise<Answer> {
  const { query } = request;
  await userOfToken(request, tenantAsked(request), query.text('email') as string, query.text('token') as string);
  return DONE;
}

export function userPasswordRoutes(): Route[] {
  const area = 'users';
  const answers = [{ status: 200, description: 'Done; without a body' }];
  const passwords = {
    schema: schemas.PasswordChange,
    mediaTypes: ['user'],
    example: { currentUserPassword: 'the-old-1', newPassword: 'Analytical-1' },
  };
  const ofTenant = { tenantId: text('Tenant id; that of the host without it') };
  return [
    {
      method: 'PUT',
      path: '/user/{tenant}/users/{userId}/password',
      area,
      access: 'roles',
      roles: USER_ADMIN,
      summary: 'Set the password of a user; needs your own password too',
      headers: FORWARDED_HEADERS,
      body: passwords,
      answers,
      handle: changeOther,
    },
    {
      method: 'PUT',
      path: '/user/currentUser/password',
      area,
      access: 'user',
      summary: 'Change your password',
      headers: FORWARDED_HEADERS,
      body: passwords,
      answers,
      handle: (request) => change(request, request.principal.userName),
    },
    {
      method: 'POST',
      path: '/user/passwordReset',
      area,
      access: 'public',
      summary: 'Mail a link to set a new password',
      query: ofTenant,
      headers: FORWARDED_HEADERS,
      body: { schema: schemas.PasswordResetRequest, mediaTypes: [], example: { email: 'ada@example.com' } },
      answers,
      handle: requestReset,
    },
    {
      method: 'PUT',
      path: '/user/passwordReset',
      area,
      access: 'public',
      summary: 'Set a new password with the token of a link',
      query: ofTenant,
      headers: FORWARDED_HEADERS,
      body: {
        schema: schemas.PasswordReset,
        mediaTypes: [],
        example: { token: 't', email: 'ada@example.com', newPassword: 'Analytical-1' },
      },
      answers,
      handle: reset,
    },
    {
      method: 'GET',
      path: '/user/passwordReset/validate',
      area,
      access: 'public',
      summary: 'Whether the token of a link is good',
      headers: FORWARDED_HEADERS,
      query: {
        ...ofTenant,
        token: { ...text('The token'), isRequired: true },
        email: { ...text('The address'), isRequired: true },
      },
      answers,
      handle: validate,
    },
  ];
}
