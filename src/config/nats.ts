/** Where NATS is: one URL or several, comma separated, and who logs in. */
import type { TlsFiles } from './tls-files.ts';

/** How to reach NATS. */
export interface NatsSettings extends TlsFiles {
  /**
   * URLs separated by commas: all `nats://` or all `tls://`, with `user:password@` or `token@` where needed.
   * Certificates count for `tls://` only.
   */
  readonly servers: string;
  /** Shown in the server's list of connections. */
  readonly name: string;
  /** File with a user's JWT and seed (`nsc generate creds`). */
  readonly credentialsFile?: string;
}

const readUrls = (servers: string): URL[] =>
  servers
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => {
      const withScheme = text.includes('://') ? text : `nats://${text}`;
      if (
        !URL.canParse(withScheme) ||
        !/^(nats|tls):$/.test(new URL(withScheme).protocol) ||
        new URL(withScheme).hostname === ''
      ) {
        throw new TypeError(
          `${text.replace(/\/\/[^@]*@/, '//***@')} is not a URL of NATS: nats://host:4222 or tls://host:4222`,
        );
      }
      return new URL(withScheme);
    });

/**
 * @throws TypeError for URLs that cannot be understood, or contradict each other or the file of credentials. It repeats
 * no password.
 */
export function natsUrlsOf({ servers, credentialsFile }: Pick<NatsSettings, 'servers' | 'credentialsFile'>): URL[] {
  const urls = readUrls(servers);
  if (urls.length === 0) throw new TypeError('a URL of NATS is missing: nats://host:4222');
  if (new Set(urls.map(({ protocol }) => protocol)).size > 1)
    throw new TypeError('the URLs of NATS mix nats:// and tls://; they take one of both');
  try {
    for (const { username, password } of urls) decodeURIComponent(username + password);
  } catch {
    throw new TypeError('user or password in a URL of NATS cannot be decoded: % is written as %25 there');
  }
  const users = new Set(urls.map(({ username, password }) => `${username}:${password}`));
  if (users.size > 1) throw new TypeError('the URLs of NATS name different users: one is used for all servers');
  if (credentialsFile !== undefined && urls[0].username !== '') {
    throw new TypeError('NATS has a user in its URL and a file of credentials: take one of them');
  }
  return urls;
}

/** Hosts without their passwords, for the log. */
export const serverNames = ({ servers }: Pick<NatsSettings, 'servers'>): string =>
  readUrls(servers)
    .map(({ host }) => host)
    .join(',');
