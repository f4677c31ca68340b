/** Key and certificate of HTTPS and MQTT over TLS, and their renewal. */
import type { HttpLibrary } from '../../api/http/library.ts';
import type { MqttServer } from '../../mqtt/server.ts';
import type { ServerCore } from '../cores/core.ts';
import { TlsRenewal } from './tls-renewal.ts';
import type { KeyPair } from './tls-renewal.ts';
import type { Part } from './part.ts';

export interface TlsPart extends Part {
  readonly pair: KeyPair;
  /** Serves HTTPS. */
  readonly library: HttpLibrary;
  /** Reads the files again if they have changed. */
  reload(): Promise<void>;
}

/** @returns undefined where no key is set. @throws Error for a file that cannot be read. */
export async function tlsPart(
  { config, isGateway, log, metrics }: ServerCore,
  mqtt: MqttServer,
): Promise<TlsPart | undefined> {
  const { tlsKey: keyFile, tlsCertificate: certificateFile } = config;
  if (!isGateway || keyFile === undefined || certificateFile === undefined) return undefined;
  // Loaded only where it is used.
  const { tlsHttpLibrary } = await import('../../api/http/node-engine/app.ts');
  let library: ReturnType<typeof tlsHttpLibrary> | undefined;
  const { pair, renewal } = await TlsRenewal.open({
    keyFile,
    certificateFile,
    log,
    apply: (renewed) => {
      mqtt.renewTls(renewed);
      library?.renew(renewed);
    },
  });
  library = tlsHttpLibrary(pair);
  metrics.gauge(
    'millrace_tls_certificate_expiry_seconds',
    'End of the certificate of HTTPS and MQTT over TLS, Unix time',
    () => renewal.notAfterMs / 1_000,
  );
  metrics.total(
    'millrace_tls_renewal_failures_total',
    'Keys and certificates that could not be used',
    () => renewal.failuresCount,
  );
  return { pair, library, reload: () => renewal.look(), stop: () => renewal.stop() };
}
