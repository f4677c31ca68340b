/**
 * Where the server is to listen, found out before any engine starts: a mistake costs no start of a database. `::` takes
 * IPv6 and IPv4.
 */
import { createServer } from 'node:net';
import type { Config } from '../config/config.ts';
import { CommandError } from '../operate/exit-codes.ts';
import type { Log } from '../ports/log.ts';

/** Where the server is to listen. @param setting that names the port, without the dashes. */
export interface WantedPort {
  readonly setting: string;
  readonly host: string;
  readonly hostSetting: string;
  readonly port: number;
}

const BOTH = '::';
const IPV4_ONLY = '0.0.0.0';
/** Of a machine without IPv6. */
const NO_IPV6: ReadonlySet<string | undefined> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL']);

/** @returns the configuration, with 0.0.0.0 in place of `::` on a machine without IPv6; the log is told, if any. */
export async function withHosts(config: Config, log?: Log): Promise<Config> {
  if (config.host !== BOTH && config.opsHost !== BOTH) return config;
  const error = await faultOf({ host: BOTH, port: 0 });
  if (!NO_IPV6.has(error?.code)) return config;
  log?.warn({ code: error?.code }, `this machine has no IPv6: listeners take IPv4 only, on ${IPV4_ONLY} instead of ::`);
  const of = (host: string): string => (host === BOTH ? IPV4_ONLY : host);
  return { ...config, host: of(config.host), opsHost: of(config.opsHost) };
}

/** @throws CommandError for the first port that cannot be taken, with the flag that changes it. */
export async function checkPorts(config: Config, isGateway: boolean): Promise<void> {
  for (const wanted of wantedPorts(config, isGateway)) {
    // Any free one is free.
    if (wanted.port === 0) continue;
    const error = await faultOf(wanted);
    if (error !== undefined) throw new CommandError(`${words(wanted, error)}`, { cause: error });
  }
}

/** An ops-port of 0 is not opened; of the others 0 is any free one. */
export function wantedPorts(config: Config, isGateway: boolean): WantedPort[] {
  const of = (setting: string, port: number): WantedPort => ({
    setting,
    port,
    host: config.host,
    hostSetting: 'host',
  });
  return [
    of('http-port', config.httpPort),
    ...(isGateway ? [of('mqtt-port', config.mqttPort)] : []),
    ...(isGateway && config.tlsKey !== undefined
      ? [of('mqtt-tls-port', config.mqttTlsPort), of('https-port', config.httpsPort)]
      : []),
    { setting: 'ops-port', port: config.opsPort, host: config.opsHost, hostSetting: 'ops-host' },
  ];
}

function faultOf({ host, port }: Pick<WantedPort, 'host' | 'port'>): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => resolve(undefined));
    });
  });
}

function words({ setting, host, hostSetting, port }: WantedPort, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return `port ${port} is in use; choose another with --${setting}`;
  if (code === 'EACCES')
    return `port ${port} needs rights that this user does not have; choose one above 1023 with --${setting}`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `this machine does not have the address ${host}; choose another with --${hostSetting}`;
  return `port ${port} of ${host} cannot be opened (${message}); choose another with --${setting}`;
}
