/**
 * Remote access (docs/spec/remote-access.md): configurations of a device say which address on its side a tunnel leads
 * to. Those of a device are one record of the tenant, which ends with the device.
 */

/** The collection of records: id of the device -> text of `StoredConfiguration[]`. */
export const REMOTE_ACCESS = 'remoteAccess';
/** Of the record with the sum over the configurations of the tenant; no device has such an id. */
export const CONFIGURATIONS_TOTAL_ID = '\ntotal';

export const PROTOCOLS = ['PASSTHROUGH', 'SSH', 'TELNET', 'VNC'] as const;
export type RemoteAccessProtocol = (typeof PROTOCOLS)[number];
export const CREDENTIAL_TYPES = ['NONE', 'USER_PASS', 'PASS_ONLY', 'KEY_PAIR', 'CERTIFICATE'] as const;
/** Members of credentials that no answer shows. */
export const SECRETS = ['password', 'privateKey'] as const;
export type Secrets = Partial<Record<(typeof SECRETS)[number], string>>;

/** What a read tells of credentials. */
export interface ShownCredentials {
  readonly type?: (typeof CREDENTIAL_TYPES)[number];
  readonly username?: string;
  readonly publicKey?: string;
  readonly hostKey?: string;
}

export interface RemoteAccessConfiguration {
  readonly id: string;
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  readonly protocol: RemoteAccessProtocol;
  readonly credentials?: ShownCredentials;
}

export interface StoredConfiguration extends RemoteAccessConfiguration {
  /** Text of `Secrets`, encrypted. */
  readonly secrets?: string;
}

/** The operation's fragment that has a device open a tunnel. */
export const CONNECT_FRAGMENT = 'c8y_RemoteAccessConnect';

export interface ConnectOrder {
  readonly hostname: string;
  readonly port: number;
  readonly connectionKey: string;
}

/** @param fragment JSON text. @returns undefined for what no device can carry out. */
export function connectOrderOf(fragment: string | undefined): ConnectOrder | undefined {
  const value = fragment === undefined ? undefined : (JSON.parse(fragment) as Partial<ConnectOrder> | null);
  if (typeof value !== 'object' || value === null) return undefined;
  const { hostname, port, connectionKey } = value;
  return typeof hostname === 'string' && Number.isInteger(Number(port)) && typeof connectionKey === 'string'
    ? { hostname, port: Number(port), connectionKey }
    : undefined;
}
