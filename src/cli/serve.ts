/** `millrace serve`: starts the server, shows where it is, stops it on a signal. */
import { AssertionError } from 'node:assert';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { changedConfig, type Config, type LoadedConfig } from '../config/config.ts';
import { PROJECT_FOLDER } from '../config/project.ts';
import type { Log } from '../ports/log.ts';
import type { RunningServer } from '../server/start.ts';
import { PRIVATE_UMASK } from '../operate/data-directory.ts';
import { EXIT_FAILED, EXIT_OK } from '../operate/exit-codes.ts';
import { createLog, type ProcessLog } from './log.ts';
import { TENANT_DEFAULT } from './remote/settings.ts';

/** `startServer` of src/server/start.ts; tests pass a stand-in. */
export type StartServer = (config: Config, log: Log) => Promise<RunningServer>;

/**
 * A Ctrl-C reaches the process twice under `npm start`: the terminal signals the whole group, and npm (11, run-script's
 * signal-manager.js) hands its own SIGINT on. A SIGINT behind a SIGINT within this time is that, not a person who wants
 * the process to end at once. SIGTERM comes from programs, which send it to one process: two of them are two.
 */
const SIGNAL_ECHO_MS = 400;
/** Where the binary of a package does not load. */
const NATIVE_REMEDY =
  'Millrace needs glibc 2.34 and the C++ library of GCC 11, or newer (Debian 12, Ubuntu 22.04, RHEL 9); ' +
  'millrace doctor tests each package';
/** Of these a developer wants the stack. */
const PROGRAM_FAULTS = [TypeError, ReferenceError, RangeError, SyntaxError, AssertionError];
/** No supervisor waits for a stop that a restore asked for. */
const RESTORE_STOP_MS = 60_000;

/**
 * Runs until a signal; the exit code is 0 after an orderly stop, 1 when starting or stopping failed. Ends the process.
 */
export async function serve(loaded: LoadedConfig, startServer?: StartServer): Promise<number> {
  const { config, warnings } = loaded;
  process.umask(PRIVATE_UMASK);
  const processLog = createLog({ level: config.logLevel, format: config.logFormat });
  const { log } = processLog;
  endOnUncaught(processLog);
  const stopSignal = waitForSignal(processLog);
  for (const warning of warnings) log.warn({}, warning);
  log.info(
    { settings: changedConfig(config), node: process.version, pid: process.pid },
    'starting; settings lists those that differ from their defaults',
  );
  try {
    const start = startServer ?? (await import('../server/start.ts')).startServer;
    const code = await runUntilStopped(start, config, log, stopSignal);
    if (processLog.isLost) endByHangUp();
    return code;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const line = `${oneLine(message)}${code === 'ERR_DLOPEN_FAILED' ? `; ${NATIVE_REMEDY}` : ''}`;
    log.debug({ err: error }, 'the start failed here');
    // A fault of the program, not of its use.
    if (PROGRAM_FAULTS.some((fault) => error instanceof fault))
      log.error({ err: error }, `the server could not start: ${line}`);
    else if (config.logFormat === 'json') log.error({}, `the server could not start: ${line}`);
    else {
      processLog.flush();
      process.stderr.write(`millrace: ${line}\n`);
    }
    return EXIT_FAILED;
  } finally {
    processLog.flush();
  }
}

/** As a process ends that does not handle SIGHUP: at its exit Node would abort, for the terminal cannot be reset. */
function endByHangUp(): void {
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, ' ');

/** What SIGHUP does while a server runs. */
let onHangUp = (): void => undefined;

/** Whether the process can still reach the terminal that it was started in. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    // ENXIO: it never had one, or the terminal is closed.
    return false;
  }
}

/** Starts again when a backup was restored. @throws what a start says. */
async function runUntilStopped(
  start: StartServer,
  config: Config,
  log: Log,
  stopSignal: Promise<string>,
): Promise<number> {
  for (;;) {
    const server = await start(config, log);
    process.stdout.write(screen(config, server));
    onHangUp = () => {
      void server.reload();
    };
    const signal = await Promise.race([stopSignal, server.staged]);
    onHangUp = () => undefined;
    log.info(
      signal === undefined ? {} : { signal },
      signal === undefined ? 'stopping, to start again on a restored backup' : 'stopping',
    );
    const isRestore = signal === undefined;
    const code = await stopWithin(
      server,
      isRestore ? Math.max(config.shutdownTimeoutMs, RESTORE_STOP_MS) : config.shutdownTimeoutMs,
      log,
    );
    if (!isRestore || code !== EXIT_OK) return code;
    // The next start puts the backup in place, whatever makes it.
    if (
      (await Promise.race([
        stopSignal,
        new Promise<undefined>((resolve) => {
          setImmediate(resolve, undefined);
        }),
      ])) !== undefined
    )
      return code;
  }
}

async function stopWithin(server: RunningServer, timeoutMs: number, log: Log): Promise<number> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), timeoutMs);
  });
  try {
    const startMs = Date.now();
    if ((await Promise.race([server.stop(), late])) === 'late') {
      log.error(
        { timeoutMs },
        'stopping took longer than shutdown-timeout-ms; what was acknowledged is in the journal',
      );
      return EXIT_FAILED;
    }
    log.info({ durationMs: Date.now() - startMs }, 'stopped');
    return EXIT_OK;
  } catch (error) {
    log.error({ err: error }, `stopping failed: ${(error as Error).message}`);
    return EXIT_FAILED;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Resolves at the first SIGTERM or SIGINT, also one that comes while the server starts, and at a SIGHUP of a terminal
 * that closes; a second one ends the process. Any other SIGHUP asks for renewed certificates.
 */
function waitForSignal(processLog: ProcessLog): Promise<string> {
  return new Promise((resolve) => {
    let first: { readonly signal: string; readonly atMs: number } | undefined;
    /** Set by npm: the script that it runs, and everything below. */
    let echoesDue = process.env['npm_lifecycle_event'] === 'start' ? 1 : 0;
    const onSignal = (signal: string): void => {
      if (first === undefined) {
        first = { signal, atMs: performance.now() };
        resolve(signal);
        return;
      }
      const isInterrupt = signal === 'SIGINT' && first.signal === 'SIGINT';
      if (isInterrupt && echoesDue > 0 && performance.now() - first.atMs < SIGNAL_ECHO_MS) {
        echoesDue -= 1;
        return;
      }
      processLog.log.warn({ signal }, 'a second signal: ending at once');
      processLog.flush();
      process.exit(EXIT_FAILED);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    // What writes to a file, as with nohup, shall outlive the terminal: that SIGHUP is ignored Node does not keep.
    const isInTerminal = (process.stdout.isTTY || process.stderr.isTTY) && hasTerminal();
    process.on('SIGHUP', () => {
      if (isInTerminal && !hasTerminal()) {
        // Closing a terminal signals a process more than once.
        processLog.lose();
        if (first === undefined) onSignal('SIGHUP');
        return;
      }
      processLog.log.info({ signal: 'SIGHUP' }, 'TLS key and certificate are read again if they have changed');
      onHangUp();
    });
  });
}

/** State is unknown after an uncaught exception: log it and end; the journal has what was acknowledged. */
function endOnUncaught(processLog: ProcessLog): void {
  process.on('uncaughtException', (error) => {
    processLog.log.error({ err: error }, `uncaught exception: ${(error as Error | undefined)?.message}`);
    processLog.flush();
    process.exit(EXIT_FAILED);
  });
}

/** The short screen at the end of a start: where the server is, who may log in, what to try next. */
export function screen(config: Config, server: RunningServer): string {
  const host = ['0.0.0.0', '::'].includes(config.host) ? 'localhost' : config.host;
  const urlHost = host.includes(':') ? `[${host}]` : host;
  const url = `http://${urlHost}:${server.httpPort}`;
  const opsHost = config.opsHost.includes(':') ? `[${config.opsHost}]` : config.opsHost;
  const shownPassword = server.generatedPassword ?? '<password>';
  const login = `${config.tenant}/${config.adminUser}`;
  const lines = [
    '',
    '  Millrace is running',
    '',
    `  Console        ${config.baseUrl ?? url}/console/`,
    `  URL            ${config.baseUrl ?? url}`,
    ...(server.httpsPort === undefined ? [] : [`  HTTPS          https://${urlHost}:${server.httpsPort}`]),
    `  MQTT port      ${server.mqttPort ?? 'none: this node is not a gateway'}${server.mqttTlsPort === undefined ? '' : `, with TLS ${server.mqttTlsPort}`}`,
    `  HTTP engine    ${server.httpEngine}`,
    ...(server.opsPort === undefined ? [] : [`  metrics        http://${opsHost}:${server.opsPort}/metrics`]),
    `  tenant         ${config.tenant}`,
    `  administrator  ${config.adminUser}`,
    `  password       ${passwordWords(config, server)}`,
    ...(server.mqttPort === undefined
      ? []
      : [
          '',
          '  Make a device with a login of its own, which prints how it sends; then list the measurements:',
          '',
          `  ${commandLine(config, 'device', 'create', 'my-device')}`,
          `  curl -u ${quoted(`${login}:${shownPassword}`)} '${url}/measurement/measurements?pageSize=5'`,
        ]),
    '',
  ];
  return `${lines.join('\n')}\n`;
}

function passwordWords(config: Config, server: RunningServer): string {
  if (server.generatedPassword !== undefined) return `${server.generatedPassword}  (generated, shown only now)`;
  if (server.replacedPassword === true) return '(the new one of the configuration is in force)';
  if (server.firstStart) return '(as given by the configuration)';
  return `(unchanged; forgotten? ${commandLine(config, 'user', 'password', config.adminUser)}, or start with another --admin-password)`;
}

/** A command of this program for the running server, for a shell. */
function commandLine(config: Config, ...command: readonly string[]): string {
  const words = ['node', join(PROJECT_FOLDER, 'bin', 'millrace.mjs'), ...command];
  if (config.tenant !== TENANT_DEFAULT) words.push('--tenant', config.tenant);
  words.push('--data', config.data);
  return words.map(quoted).join(' ');
}

/** For a POSIX shell: as it is when nothing in it is special, else in single quotes. */
function quoted(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
