/**
 * The key that login tokens are signed with: of the setting `secret-key`, or made once and kept in the records, so that
 * all nodes have it.
 */
import { hkdfSync, randomBytes } from 'node:crypto';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';
import { tryChange } from '../../records/records.ts';

const KEY_BYTES = 32;
const RECORD = 'login';

export interface SigningKeyOptions {
  readonly documents: DocumentReader;
  readonly commands: CommandPort;
  readonly now: () => number;
  /** The same on every node. */
  readonly secretKey?: string | undefined;
}

export class SigningKey {
  readonly #options: SigningKeyOptions;
  #key: Uint8Array | undefined;

  constructor(options: SigningKeyOptions) {
    this.#options = options;
    if (options.secretKey !== undefined)
      this.#key = new Uint8Array(hkdfSync('sha256', options.secretKey, '', 'millrace login tokens', KEY_BYTES));
  }

  /** The key, undefined when none was made yet. */
  async load(): Promise<Uint8Array | undefined> {
    return (this.#key ??= await this.#stored());
  }

  async read(): Promise<Uint8Array> {
    this.#key ??= (await this.#stored()) ?? (await this.#make());
    return this.#key;
  }

  async #stored(): Promise<Uint8Array | undefined> {
    const text = await this.#options.documents.get('signingKey', SERVER_WIDE, RECORD);
    return text === undefined ? undefined : Buffer.from((JSON.parse(text) as { key: string }).key, 'base64');
  }

  /** Two nodes that make one at once: the first stays. */
  async #make(): Promise<Uint8Array> {
    const value = JSON.stringify({ key: randomBytes(KEY_BYTES).toString('base64') });
    await tryChange(this.#options, SERVER_WIDE, [{ collection: 'signingKey', id: RECORD, expected: undefined, value }]);
    const key = await this.#stored();
    if (key === undefined) throw new Error('the signing key was stored but is not there');
    return key;
  }
}
