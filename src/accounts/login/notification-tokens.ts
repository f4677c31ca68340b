/**
 * Issues and checks the tokens of consumers of Notifications 2.0 (docs/spec/notifications.md#tokens): JSON web tokens
 * with HS256. Their key is derived from that of login tokens, so that neither is ever taken for the other.
 */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ConsumerClaims, TokenPayload } from '../../model/entities/notifications/token.ts';
import { claimsOf, topicClaim } from '../../model/entities/notifications/token.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Tenants } from '../tenants/tenants.ts';
import type { SigningKey } from './signing-key.ts';
import { tenantGeneration } from './tokens.ts';

/** Longer ones are not looked at. */
const TOKEN_LENGTH_MAX = 2_048;
const KEY_BYTES = 32;
const TRIES_MAX = 64;
const ID_BYTES = 12;
const HEADER = Buffer.from('{"typ":"JWT","alg":"HS256"}').toString('base64url');
const FORM = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

export interface NotificationTokensOptions {
  readonly documents: Pick<DocumentReader, 'get'>;
  readonly tenants: Pick<Tenants, 'byId'>;
  readonly key: SigningKey;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class NotificationTokens {
  readonly #options: NotificationTokensOptions;
  #secret: Uint8Array | undefined;

  constructor(options: NotificationTokensOptions) {
    this.#options = options;
  }

  /** Loads the key if one is stored: the server has issued no token without one. */
  async load(): Promise<void> {
    const key = await this.#options.key.load();
    if (key !== undefined) this.#use(key);
  }

  async issue(claims: ConsumerClaims, lifetimeSeconds: number): Promise<string> {
    const secret = this.#secret ?? this.#use(await this.#options.key.read());
    const generation = await tenantGeneration(this.#options.documents, claims.tenantNumber);
    const iat = Math.floor(this.#options.now() / 1_000);
    const signed = `${HEADER}.${payloadText(claims, generation, iat, iat + lifetimeSeconds)}`;
    return `${signed}.${signature(secret, signed).toString('base64url')}`;
  }

  /**
   * @returns undefined for a token that is not of this server, has expired, was ended by a logout of all users of its
   * tenant, or is of a former tenant with the same id.
   */
  async verify(token: string): Promise<(ConsumerClaims & { readonly payload: TokenPayload }) | undefined> {
    const [, header, payload, sent] = (token.length <= TOKEN_LENGTH_MAX && FORM.exec(token)) || [];
    if (this.#secret === undefined || header !== HEADER) return undefined;
    const [wanted, given] = [signature(this.#secret, `${header}.${payload}`), Buffer.from(sent, 'base64url')];
    if (wanted.length !== given.length || !timingSafeEqual(wanted, given)) return undefined;
    // What is signed was written by `issue`.
    const read = JSON.parse(Buffer.from(payload, 'base64url').toString()) as TokenPayload;
    const claims = claimsOf(read);
    if (claims === undefined || read.exp * 1_000 <= this.#options.now()) return undefined;
    const { documents, tenants } = this.#options;
    if (tenants.byId(claims.tenant)?.number !== claims.tenantNumber) return undefined;
    if ((await tenantGeneration(documents, claims.tenantNumber)) !== read.tgen) return undefined;
    return { ...claims, payload: read };
  }

  #use(key: Uint8Array): Uint8Array {
    return (this.#secret = new Uint8Array(hkdfSync('sha256', key, '', 'millrace notification tokens', KEY_BYTES)));
  }
}

const signature = (secret: Uint8Array, text: string): Buffer => createHmac('sha256', secret).update(text).digest();

/**
 * Some clients decode the payload as ordinary Base64 without padding: it has none of the letters in which the two
 * alphabets differ, and its length needs no padding. The id is varied until that is so.
 */
function payloadText(claims: ConsumerClaims, tgen: number, iat: number, exp: number): string {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const payload: TokenPayload = {
      sub: claims.subscriber,
      topic: topicClaim(claims),
      jti: randomBytes(ID_BYTES).toString('hex') + '0'.repeat(tries % 3),
      iat,
      exp,
      ...(claims.isShared ? { shared: 'true' } : {}),
      volatile: claims.isVolatile,
      ten: claims.tenantNumber,
      tgen,
    };
    const text = Buffer.from(JSON.stringify(payload)).toString('base64');
    if (!/[+/=]/.test(text)) return text;
  }
  throw new Error(`no payload of a token for the topic ${topicClaim(claims)} does without - and _`);
}
