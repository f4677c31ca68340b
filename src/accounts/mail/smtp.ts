/**
 * Mails over SMTP. They wait in memory, bounded, and are tried again while the mail server is away: a restart
 * loses them, and users ask again.
 */
import type { Transporter } from 'nodemailer';
import type { Log } from '../../ports/log.ts';
import { refusedBy } from '../../model/errors.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { Shares } from '../../pacing/shares.ts';
import type { Mail, MailResult, Mailer } from './mailer.ts';

/** Mails that wait, those that are tried again among them; one more is refused. */
const MAILS_WAITING_MAX = 1_000;
/** Name of the limit in answers, log and counters. */
const MAILS_LIMIT = 'accounts/mails-waiting';
/** Between the tries of a mail; after the last one it is given up. */
const RETRY_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000] as const;
const CONNECT_TIMEOUT_MS = 10_000;
const SOCKET_TIMEOUT_MS = 30_000;

export type SmtpTls = 'auto' | 'require' | 'try';

export interface SmtpMailerOptions {
  /** `smtp://user:password@host:port`, or `smtps://` for TLS from the first byte. */
  readonly url: string;
  /**
   * What becomes of `smtp://` where the mail server offers no STARTTLS. `auto` requires it but of a mail server on this
   * machine.
   */
  readonly tls: SmtpTls;
  /** `name@example.com` or `Name <name@example.com>`. */
  readonly from: string;
  readonly count: (result: MailResult) => void;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly now: () => number;
  readonly retryMs?: readonly number[];
  readonly waitingMax?: number;
}

interface Waiting {
  readonly mail: Mail;
  triesCount: number;
  notBefore: number;
}

export class SmtpMailer implements Mailer {
  readonly #options: SmtpMailerOptions;
  #transport: Promise<Transporter> | undefined;
  readonly #waiting = new Set<Waiting>();
  /** By tenant and receiver. */
  readonly #shares: Shares;
  #running: Promise<void> | undefined;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SmtpMailerOptions) {
    this.#options = options;
    this.#shares = new Shares(MAILS_LIMIT, options.waitingMax ?? MAILS_WAITING_MAX);
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Resolves when the mail is among those that wait. @throws PlatformError 503 `accounts/mails-waiting`. */
  async send(mail: Mail): Promise<void> {
    const { refusals, count, now, log } = this.#options;
    const limit = this.#shares.take(mail.tenant ?? 0, mail.to);
    if (limit !== undefined) {
      refusals.count(limit, { tenant: mail.tenant, user: mail.to });
      count('refused');
      log.warn(
        { to: mail.to, limit, maximum: this.#shares.maximum },
        'a mail is refused: too many wait for the mail server',
      );
      throw refusedBy(limit);
    }
    this.#waiting.add({ mail, triesCount: 0, notBefore: now() });
    this.#wake();
  }

  /** Loaded with the first mail: it is a tenth of the server's code. */
  async #connect(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url: this.#options.url,
      requireTLS: requiresTls(this.#options),
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  /** Ends after the mail that is being sent; the others are lost, and the log says how many. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
    (await this.#transport)?.close();
    if (this.#waiting.size > 0)
      this.#options.log.warn(
        { mails: this.#waiting.size },
        'mails that waited for the mail server are not sent any more',
      );
  }

  #wake(): void {
    if (this.#running !== undefined || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      this.#wait();
    });
  }

  /** Sends what is due, one after the other. */
  async #run(): Promise<void> {
    for (const entry of this.#waiting) {
      if (this.#isStopped) return;
      if (entry.notBefore <= this.#options.now()) await this.#try(entry);
    }
  }

  /** Until the next one is due. */
  #wait(): void {
    if (this.#isStopped || this.#waiting.size === 0) return;
    const next = Math.min(...Array.from(this.#waiting, ({ notBefore }) => notBefore));
    this.#timer = setTimeout(() => this.#wake(), Math.max(1, next - this.#options.now()));
    this.#timer.unref();
  }

  #end(entry: Waiting): void {
    this.#waiting.delete(entry);
    this.#shares.give(entry.mail.tenant ?? 0, entry.mail.to);
  }

  async #try(entry: Waiting): Promise<void> {
    const { from, count, log, now, retryMs = RETRY_MS } = this.#options;
    const { mail } = entry;
    entry.triesCount += 1;
    try {
      // As an address, not as a list of addresses.
      this.#transport ??= this.#connect();
      const transport = await this.#transport;
      await transport.sendMail({
        from,
        to: { name: '', address: mail.to },
        subject: mail.subject,
        text: mail.text,
      });
      this.#end(entry);
      count('sent');
    } catch (error) {
      const pauseMs = isFinal(error) ? undefined : retryMs[entry.triesCount - 1];
      const message = messageOf(error as Error & { code?: string });
      if (pauseMs === undefined) {
        this.#end(entry);
        count('failed');
        log.error(
          { to: mail.to, subject: mail.subject, tries: entry.triesCount, error: message },
          'a mail could not be sent and is given up',
        );
      } else {
        entry.notBefore = now() + pauseMs;
        count('retried');
        log.warn(
          { to: mail.to, subject: mail.subject, retryMs: pauseMs, error: message },
          'a mail could not be sent yet',
        );
      }
    }
  }
}

/** Who can cut STARTTLS out of the conversation would read the password and the links in the mails. */
function requiresTls({ url, tls }: Pick<SmtpMailerOptions, 'url' | 'tls'>): boolean {
  return tls === 'require' || (tls === 'auto' && !/^(localhost|127(\.\d+){3}|\[::1\])$/i.test(new URL(url).hostname));
}

/** The mail server has said that it will never take it. */
function isFinal(error: unknown): boolean {
  const code = (error as { responseCode?: unknown }).responseCode;
  return typeof code === 'number' && code >= 500 && code < 600;
}

const messageOf = ({ message, code }: Error & { code?: string }): string =>
  code !== 'ETLS'
    ? message
    : `${message}: the mail server offers no TLS that can be used, which --smtp-tls requires; take smtps:// or a certificate that is trusted`;
