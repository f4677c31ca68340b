/** The port for mails to users. Sending over SMTP is out of scope: the default adapter writes them to the log, where an operator finds the link. */
import type { Log } from '../model/log.ts';

export interface Mail { readonly to: string; readonly subject: string; readonly text: string }

export interface Mailer {
  /** Resolves when the mail was handed over. */
  send(mail: Mail): Promise<void>;
}

export class LogMailer implements Mailer {
  readonly #log: Log;
  readonly #count: () => void;

  /** @param count called for each mail: they are counted, since nobody receives them. */
  constructor(log: Log, count: () => void) {
    this.#log = log;
    this.#count = count;
  }

  async send(mail: Mail): Promise<void> {
    this.#count();
    this.#log.warn({ mail }, 'no mail server is connected: a mail to a user is in the log only');
  }
}
