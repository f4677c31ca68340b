/**
 * Encryption of what is secret at rest: tenant options whose key begins with `credentials.`
 * (docs/spec/options.md#secret-values).
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { SecretsStore } from '../../ports/secrets.ts';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Name of the generated key in secrets.json; no account has such a name. */
const SECRET_NAME = 'secret-key';

/** The text was encrypted with another key, for another place, or was changed. */
export class UndecipherableText extends Error {}

/** AES-256-GCM. The place is authenticated with the text: it cannot be moved to another tenant or name. */
export class TextCipher {
  /** The first encrypts; what was encrypted with the others is read. */
  readonly #keys: readonly Uint8Array[];

  /**
   * @param secret of the setting `secret-key`, or a generated one; the same on every node.
   * @param former that there was before.
   */
  constructor(secret: string, former?: string) {
    this.#keys = [secret, ...(former === undefined ? [] : [former])].map(
      (text) => new Uint8Array(hkdfSync('sha256', text, '', 'millrace options', KEY_BYTES)),
    );
  }

  /** @returns nonce, tag and text, base64. */
  encrypt(text: string, place: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#keys[0], nonce).setAAD(Buffer.from(place));
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64');
  }

  /** @throws UndecipherableText */
  decrypt(encrypted: string, place: string): string {
    const bytes = Buffer.from(encrypted, 'base64');
    let reason = '';
    for (const key of this.#keys) {
      try {
        return decrypted(key, bytes, place);
      } catch (error) {
        reason = (error as Error).message;
      }
    }
    throw new UndecipherableText(`${place} cannot be decrypted with this server's key: ${reason}`);
  }
}

/** @throws Error for another key or place. */
function decrypted(key: Uint8Array, bytes: Buffer, place: string): string {
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(place))
    .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
}

/**
 * The key of the setting, or one that is generated once and kept. A server that is given the setting later reads what
 * it has encrypted before.
 */
export async function openCipher(setting: string | undefined, secrets: SecretsStore): Promise<TextCipher> {
  const known = await secrets.read(SECRET_NAME);
  if (setting !== undefined) return new TextCipher(setting, known);
  if (known !== undefined) return new TextCipher(known);
  const generated = randomBytes(KEY_BYTES).toString('base64');
  await secrets.add(new Map([[SECRET_NAME, generated]]));
  return new TextCipher(generated);
}
