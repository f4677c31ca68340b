/**
 * Key and certificate of HTTPS and MQTT over TLS, read again when their files change: those who renew them (ACME
 * clients, Kubernetes) replace the files, and some send SIGHUP. New connections get the new certificate; open ones go
 * on. A pair that cannot be used is told in the log, and the old one stays.
 */
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Log } from '../../ports/log.ts';

/** How often the files are looked at. */
const LOOK_MS = 60_000;

export interface KeyPair {
  readonly key: Buffer;
  readonly cert: Buffer;
}

export interface TlsRenewalOptions {
  readonly keyFile: string;
  readonly certificateFile: string;
  readonly log: Log;
  /** Takes a pair that was checked. */
  readonly apply: (pair: KeyPair) => void;
}

export class TlsRenewal {
  readonly #options: TlsRenewalOptions;
  readonly #timer: NodeJS.Timeout;
  #state = '';
  #notAfterMs = 0;
  #failuresCount = 0;
  #work: Promise<void> = Promise.resolve();

  private constructor(options: TlsRenewalOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  /**
   * Reads the pair for the first time. @returns it, and what looks for the next ones. @throws Error for a file that
   * cannot be read.
   */
  static async open(options: TlsRenewalOptions): Promise<{ pair: KeyPair; renewal: TlsRenewal }> {
    const renewal = new TlsRenewal(options);
    try {
      return { pair: await renewal.#read(), renewal };
    } catch (error) {
      renewal.stop();
      throw error;
    }
  }

  /** End of the certificate in use, in milliseconds since 1970. */
  get notAfterMs(): number {
    return this.#notAfterMs;
  }

  /** Pairs that could not be used. */
  get failuresCount(): number {
    return this.#failuresCount;
  }

  /** Reads the files again if they have changed. Resolves when a new pair is in use; never rejects. */
  look(): Promise<void> {
    this.#work = this.#work.then(() => this.#look());
    return this.#work;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const { log, apply, certificateFile } = this.#options;
    try {
      if ((await this.#stateOfFiles()) === this.#state) return;
      apply(await this.#read());
      log.info(
        { certificateFile, validTo: new Date(this.#notAfterMs).toISOString() },
        'the TLS certificate was read again',
      );
    } catch (error) {
      this.#failuresCount += 1;
      log.error(
        { error: (error as Error).message, certificateFile },
        'the new TLS key or certificate cannot be used; the one before stays in use',
      );
    }
  }

  /**
   * The state is noted only with a pair that works: the next look tries again, for instance while only one file has
   * been replaced.
   */
  async #read(): Promise<KeyPair> {
    const { keyFile, certificateFile } = this.#options;
    const state = await this.#stateOfFiles();
    const pair = { key: await readFile(keyFile), cert: await readFile(certificateFile) };
    const certificate = new X509Certificate(pair.cert);
    if (!certificate.checkPrivateKey(createPrivateKey(pair.key)))
      throw new Error(`${certificateFile} is not the certificate of the key in ${keyFile}`);
    createSecureContext(pair);
    this.#state = state;
    this.#notAfterMs = Date.parse(certificate.validTo);
    return pair;
  }

  async #stateOfFiles(): Promise<string> {
    const { keyFile, certificateFile } = this.#options;
    const stats = await Promise.all([keyFile, certificateFile].map((file) => stat(file)));
    return stats.map(({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`).join(' ');
  }
}
