/**
 * Certificates for connections to NATS, Redis and ClickHouse: one set for the three, as the settings give it. What is
 * in the files is read when a connection is made ready, so a missing file is an error of the start.
 */
import { readFileSync } from 'node:fs';

/** Names of PEM files. */
export interface TlsFiles {
  /** The authorities that are trusted, instead of those that Node knows. */
  readonly caFile?: string;
  /** This client's certificate and its key: both or none. */
  readonly certificateFile?: string;
  readonly keyFile?: string;
}

/** How to mend trouble with certificates: for the doctors. */
export const TLS_REMEDY =
  'the names in its certificate; trust its certificate authority with --ca-certificate, and give --client-certificate if it wants one';

interface TlsSettings {
  readonly caCertificate?: string | undefined;
  readonly clientCertificate?: string | undefined;
  readonly clientKey?: string | undefined;
}

export function tlsFilesOf({ caCertificate, clientCertificate, clientKey }: TlsSettings): TlsFiles {
  return {
    ...(caCertificate === undefined ? {} : { caFile: caCertificate }),
    ...(clientCertificate === undefined ? {} : { certificateFile: clientCertificate }),
    ...(clientKey === undefined ? {} : { keyFile: clientKey }),
  };
}

/** As node:tls takes it. @throws Error for a file that cannot be read. */
export function tlsOptionsOf({ caFile, certificateFile, keyFile }: TlsFiles): {
  ca?: Buffer;
  cert?: Buffer;
  key?: Buffer;
} {
  return {
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
    ...(certificateFile === undefined ? {} : { cert: readFileSync(certificateFile) }),
    ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
  };
}
