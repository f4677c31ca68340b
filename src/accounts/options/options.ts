/**
 * Options of tenants as they are stored, and those that the server looks at with every request
 * (docs/spec/options.md#tenant-options).
 */
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import { TOKEN_POLICIES } from '../../model/entities/device-request.ts';
import { UndecipherableText } from './cipher.ts';
import type { TextCipher } from './cipher.ts';

/** In the collection `option` of the tenant, by `optionKey`. */
export interface StoredOption {
  /** Absent for an encrypted one. */
  readonly value?: string;
  /** See cipher.ts. */
  readonly encrypted?: string;
  /**
   * False: the management tenant, or the manifest that made it, allows no change. In the records of the whole server:
   * of no tenant. A record may hold nothing else: then the option has no value of its own.
   */
  readonly editable?: boolean;
  /**
   * Id of the application whose manifest made it, while no user has set it since: only that one's manifest may change
   * it.
   */
  readonly application?: string;
}

/** Keys that begin so are encrypted. */
const CREDENTIALS_PREFIX = 'credentials.';
export const optionKey = (category: string, key: string): string => `${category}\n${key}`;
/** What ties an encrypted value to its option. */
const placeOf = (tenant: number, category: string, key: string): string => `${tenant}\n${optionKey(category, key)}`;

export const isSecret = (key: string): boolean => key.startsWith(CREDENTIALS_PREFIX);

/** False for a record that only marks the option. */
export const hasValue = ({ value, encrypted }: StoredOption): boolean => value !== undefined || encrypted !== undefined;

export function storedOption(
  cipher: TextCipher,
  tenant: number,
  category: string,
  key: string,
  value: string,
): StoredOption {
  return isSecret(key) ? { encrypted: cipher.encrypt(value, placeOf(tenant, category, key)) } : { value };
}

/** The plain value: for the server and for microservices, never for people. @throws UndecipherableText */
function plainValue(
  cipher: TextCipher,
  tenant: number,
  category: string,
  key: string,
  option: StoredOption,
): string | undefined {
  return option.encrypted === undefined
    ? option.value
    : cipher.decrypt(option.encrypted, placeOf(tenant, category, key));
}

/** As `plainValue`; undefined for what was encrypted with a key that the server has no more: it has to be set again. */
export function readableValue(...parts: Parameters<typeof plainValue>): string | undefined {
  try {
    return plainValue(...parts);
  } catch (error) {
    if (error instanceof UndecipherableText) return undefined;
    throw error;
  }
}

export const ALLOW_ORIGIN = { category: 'access.control', key: 'allow.origin' } as const;
export const TOKEN_POLICY = { category: 'device-registration', key: 'security-token.policy' } as const;
/** Options that take these values only; an empty one stands for that of the server. By `optionKey`. */
export const OPTION_CHOICES: ReadonlyMap<string, readonly string[]> = new Map([
  [optionKey(TOKEN_POLICY.category, TOKEN_POLICY.key), TOKEN_POLICIES],
]);
/** Values of options that were never set. */
export const OPTION_DEFAULTS: readonly { readonly category: string; readonly key: string; readonly value: string }[] = [
  { ...ALLOW_ORIGIN, value: '*' },
];
/** Categories that take these keys only. */
export const PREDEFINED_KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  [ALLOW_ORIGIN.category, [ALLOW_ORIGIN.key]],
]);

/**
 * Categories that mean something to the server or its user interface (docs/spec/options.md#known-categories): none of
 * them belongs to an application.
 */
export const PLATFORM_CATEGORIES: ReadonlySet<string> = new Set([
  ALLOW_ORIGIN.category,
  'alarm.type.mapping',
  'application',
  'authentication',
  'cep',
  'configuration',
  'connectivity',
  'data-broker',
  'default.application',
  'device-access',
  'device-control',
  'device-registration',
  'encoding',
  'files',
  'gainsight',
  'limit',
  'oauth.internal',
  'password',
  'plugin',
  'remoteaccess',
  'reportMailer',
  'support',
  'support-user',
  'system',
  'token.publicKey',
  'trackers',
  'two-factor-authentication',
]);

/** Values of few options of all tenants in memory, so that they can be asked with each request. */
export class WatchedOptions {
  readonly #names: ReadonlySet<string>;
  readonly #values = new Map<string, string>();

  constructor(names: readonly { readonly category: string; readonly key: string }[]) {
    this.#names = new Set(names.map(({ category, key }) => optionKey(category, key)));
  }

  get names(): readonly string[] {
    return [...this.#names];
  }

  async open(documents: DocumentReader, tenants: Iterable<number>): Promise<void> {
    for (const tenant of tenants) {
      for (const name of this.#names) this.#set(tenant, name, await documents.get('option', tenant, name));
    }
  }

  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    for (const { collection, id, value } of changes)
      if (collection === 'option' && this.#names.has(id)) this.#set(tenant, id, value);
  }

  get(tenant: number, category: string, key: string): string | undefined {
    return this.#values.get(`${tenant}\n${optionKey(category, key)}`);
  }

  #set(tenant: number, name: string, text: string | undefined): void {
    const { value } = text === undefined ? ({} as StoredOption) : (JSON.parse(text) as StoredOption);
    if (value === undefined) this.#values.delete(`${tenant}\n${name}`);
    else this.#values.set(`${tenant}\n${name}`, value);
  }
}
