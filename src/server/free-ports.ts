/** Whether the configured ports can be taken, before any engine starts: a mistake costs no start of a database. */
import { createServer } from 'node:net';
import type { Config } from '../config/config.ts';
import { CommandError } from '../operate/exit-codes.ts';

/** Where the server is to listen. @param setting that names the port, without the dashes. */
interface WantedPort {
  readonly setting: string;
  readonly host: string;
  readonly hostSetting: string;
  readonly port: number;
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

function wantedPorts(config: Config, isGateway: boolean): WantedPort[] {
  const of = (setting: string, port: number): WantedPort => ({
    setting,
    port,
    host: config.host,
    hostSetting: 'host',
  });
  return [
    of('http-port', config.httpPort),
    ...(isGateway ? [of('mqtt-port', config.mqttPort)] : []),
    ...(isGateway && config.tlsKey !== undefined ? [of('mqtt-tls-port', config.mqttTlsPort)] : []),
    { setting: 'ops-port', port: config.opsPort, host: config.opsHost, hostSetting: 'ops-host' },
  ];
}

function faultOf({ host, port }: WantedPort): Promise<NodeJS.ErrnoException | undefined> {
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
