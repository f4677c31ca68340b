/** The process's log: pino to standard error, as JSON or as lines for people. Nothing below src/cli imports pino. */
import { pino } from 'pino';
import type { Log } from '../ports/log.ts';

/**
 * Bytes of log that wait for a reader that does not read (a full pipe); past it entries are dropped, the server goes
 * on.
 */
const BUFFER_MAX_BYTES = 1024 * 1024;

/** Fields that a line for people does not repeat after the message. */
const OWN_FIELDS = new Set(['level', 'time', 'msg', 'pid', 'hostname']);

const LEVELS: Readonly<Record<number, readonly [name: string, colour: string]>> = {
  20: ['debug', '\x1b[2m'],
  30: ['info ', '\x1b[32m'],
  40: ['warn ', '\x1b[33m'],
  50: ['ERROR', '\x1b[31m'],
  60: ['FATAL', '\x1b[31m'],
};

export interface ProcessLog {
  readonly log: Log;
  /** Writes what is buffered, synchronously: before the process ends. */
  flush(): void;
  /** The terminal is closed: what is buffered is not written. */
  lose(): void;
  readonly isLost: boolean;
}

/** @param format `auto`: for people when standard error is a terminal, else JSON. */
export function createLog(options: { level: string; format: 'auto' | 'json' | 'pretty' }): ProcessLog {
  const destination = pino.destination({ fd: 2, sync: false, maxLength: BUFFER_MAX_BYTES });
  let isLost = false;
  // A closed standard error must not end the server.
  destination.on('error', () => undefined);
  const pretty = options.format === 'pretty' || (options.format === 'auto' && process.stderr.isTTY === true);
  const colours = pretty && process.stderr.isTTY === true && !process.env['NO_COLOR'];
  const stream = pretty
    ? { write: (line: string): void => void destination.write(prettyLine(line, colours)) }
    : destination;
  const settings = { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const log = pino(settings, stream);
  return {
    log,
    lose: () => {
      isLost = true;
    },
    get isLost() {
      return isLost;
    },
    flush: () => {
      // sonic-boom tries for ever to write what a closed terminal does not take.
      if (isLost) return;
      try {
        destination.flushSync();
      } catch {
        /* standard error is closed or full: it cannot be reported anywhere */
      }
    },
  };
}

/** JSON without control characters: names that strangers choose are in the log, and a terminal obeys some. */
const quoted = (value: unknown): string =>
  JSON.stringify(value).replace(/\p{Cc}/gu, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * One JSON entry of pino as a line for people: `12:00:00.123 info  message  key=value`; a stack follows on its own
 * lines.
 */
export function prettyLine(json: string, colours: boolean): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return json;
  }
  const [name, colour] = LEVELS[entry['level'] as number] ?? ['     ', ''];
  const time = new Date(entry['time'] as string).toTimeString().slice(0, 8);
  const fields: string[] = [];
  let stack = '';
  for (const [key, value] of Object.entries(entry)) {
    if (OWN_FIELDS.has(key)) continue;
    if (key === 'err' && typeof value === 'object' && value !== null)
      stack = `\n${String(Reflect.get(value, 'stack') ?? '')}`;
    else fields.push(`${key}=${typeof value === 'string' && !/[\s"=\p{Cc}]/u.test(value) ? value : quoted(value)}`);
  }
  const level = colours ? `${colour}${name}\x1b[0m` : name;
  const tail = fields.length === 0 ? '' : colours ? `  \x1b[2m${fields.join(' ')}\x1b[0m` : `  ${fields.join(' ')}`;
  return `${time} ${level} ${String(entry['msg'] ?? '')}${tail}${stack}\n`;
}
