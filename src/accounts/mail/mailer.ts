/**
 * The port for mails to users: over SMTP (smtp.ts) when a server is configured, else into the log, where an operator
 * finds the link.
 */
import type { Log } from '../../ports/log.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Number of the tenant that it counts for. */
  readonly tenant?: number;
}

/** What became of a mail, for the counter. */
export type MailResult = 'logged' | 'sent' | 'retried' | 'failed' | 'refused';

export interface Mailer {
  /** Resolves when the mail was taken over. */
  send(mail: Mail): Promise<void>;
  stop(): Promise<void>;
}

export class LogMailer implements Mailer {
  readonly #log: Log;
  readonly #count: (result: MailResult) => void;

  /** @param count called for each mail: they are counted, since none is sent. */
  constructor(log: Log, count: (result: MailResult) => void) {
    this.#log = log;
    this.#count = count;
  }

  async send(mail: Mail): Promise<void> {
    this.#count('logged');
    this.#log.warn({ mail }, 'no mail server is connected: a mail to a user is in the log only');
  }

  async stop(): Promise<void> {
    // Nothing waits.
  }
}
