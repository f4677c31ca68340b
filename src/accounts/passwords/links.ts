/**
 * Links to set a password, which users get by mail (docs/spec/users.md). Hashes of their tokens are a record of the
 * user; a new link ends no other, as strangers could end each link that was just mailed.
 */
import { createHash, randomBytes } from 'node:crypto';
import { passwordTokenKey as tokenKey } from '../../actors/handlers/users/user.ts';
import { userPut, type UserPut } from '../../model/commands/users.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Log } from '../../ports/log.ts';
import { changeRecords, retried } from '../../records/records.ts';
import type { Counting, RecordWriter } from '../../records/records.ts';
import type { Mailer } from '../mail/mailer.ts';
import { newPassword } from './chosen.ts';
import type { PasswordParts } from './chosen.ts';
import { emailOf, searchPeople } from './people-search.ts';
import type { PeopleSearch } from './people-search.ts';

/** What links are made and mailed with. */
export interface LinkParts extends RecordWriter, Counting {
  readonly documents: DocumentReader;
  readonly mailer: Pick<Mailer, 'send'>;
  /** Start of the links, without a slash at the end. */
  readonly mailUrl: string;
  readonly log: Log;
}

/** The tenant of the user that a link is for. */
export interface LinkTenant {
  readonly id: string;
  readonly number: number;
}

/** A link to set a password is good for this long. */
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

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64url');

interface Link {
  readonly hash: string;
  readonly expiresAt: number;
}
/** The newest link and those before it. */
interface StoredToken extends Link {
  readonly createdAt: number;
  readonly earlier?: readonly Link[];
}

/** @returns the address of a user. @throws PlatformError 422 for a user without one, or who does not exist. */
export async function requireAddress(
  { documents }: { readonly documents: Pick<DocumentReader, 'get'> },
  tenant: number,
  userName: string,
): Promise<string> {
  const stored = await documents.get('user', tenant, userName);
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
  parts: LinkParts,
  tenant: number,
  userName: string,
  isForStranger: boolean,
): Promise<string | undefined> {
  return retried(parts, async () => {
    const expected = await parts.documents.get('passwordToken', tenant, tokenKey(userName));
    const now = parts.now();
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
    await changeRecords(parts, tenant, [
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
  parts: LinkParts,
  tenant: LinkTenant,
  userName: string,
  isForStranger = false,
): Promise<void> {
  const email = await requireAddress(parts, tenant.number, userName);
  const token = await newToken(parts, tenant.number, userName, isForStranger);
  if (token === undefined) {
    parts.refusals.count('users/password-mails', { tenant: tenant.id, user: userName });
    return;
  }
  // The configuration says where the link leads, never the request: its sender could lead the receiver of the mail to
  // another server.
  const link = `${parts.mailUrl}/?${new URLSearchParams({ token, email, tenantId: tenant.id })}`;
  await parts.mailer.send({
    to: email,
    tenant: tenant.number,
    subject: 'Set your password',
    text: `Hello ${userName},\n\nset a new password of your account in the tenant ${tenant.id} of ${new URL(parts.mailUrl).host} within a day: ${link}\n\nIf you did not ask for it, do nothing.`,
  });
}

/**
 * Mails links to the first users with the address, for a caller without login: what keeps a mail back is in the log and
 * the counters only.
 */
export async function sendLinksToAddress(
  parts: LinkParts,
  tenant: LinkTenant,
  email: string,
  search: PeopleSearch,
): Promise<void> {
  const first: StoredUser[] = [];
  await searchPeople(parts, tenant.number, email, search, (users) => {
    first.push(...users.slice(0, MAILS_MAX - first.length));
    return first.length >= MAILS_MAX ? first : undefined;
  });
  for (const { userName } of first) {
    try {
      await sendPasswordLink(parts, tenant, userName, true);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      parts.refusals.count(UNSENT, { tenant: tenant.id, user: userName, reason: error.message });
      parts.log.warn(
        { tenant: tenant.id, userName, code: error.code, reason: error.message, limit: UNSENT },
        'a link to set a password is not sent',
      );
    }
  }
}

/** A link as it comes back. */
export interface UsedLink {
  readonly email: string;
  readonly token: string;
}

/** @returns undefined when no user of the address has the token. */
export function userOfLink(
  parts: Pick<LinkParts, 'documents' | 'now'>,
  tenant: number,
  { email, token }: UsedLink,
  search: PeopleSearch,
): Promise<{ userName: string; record: string } | undefined> {
  const hash = hashOf(token);
  return searchPeople(parts, tenant, email, search, async (users) => {
    const records = await parts.documents.getMany(
      'passwordToken',
      tenant,
      users.map(({ userName }) => tokenKey(userName)),
    );
    for (const [index, record] of records.entries()) {
      if (record !== undefined && linksOf(record, parts.now()).some((link) => link.hash === hash))
        return { userName: users[index].userName, record };
    }
    return undefined;
  });
}

/**
 * Sets the password of the user that the link was mailed to, which ends the user's links.
 * @param found by `userOfLink`. @throws PlatformError 422 for a password that breaks a rule.
 */
export async function usePasswordLink(
  parts: PasswordParts & Pick<LinkParts, 'commands' | 'now'>,
  by: Pick<Principal, 'userName' | 'tenantNumber'>,
  tenant: number,
  { userName, record }: { readonly userName: string; readonly record: string },
  password: string,
): Promise<void> {
  const hashed = await newPassword(parts, by, tenant, { userName, password });
  const body: UserPut = { userName, ...hashed, mustExist: true, usesToken: record, by: userName };
  await parts.commands.request(userPut(tenant, parts.now(), body));
}
