/** `millrace tail`: shows what comes in, live. */
import { CommandError, EXIT_OK } from '../../operate/exit-codes.ts';
import { RemoteApi } from '../remote/client.ts';
import { objectIdOf } from '../remote/object-id.ts';
import { printJson, say } from '../remote/output.ts';
import { Refused, follow } from './bayeux.ts';
import { isOfType, lineOf } from './lines.ts';
import type { LiveMessage } from './lines.ts';
import type { Kind, TailOptions } from './settings.ts';

/** Runs until SIGINT or SIGTERM, until `--count` messages, or until the reader of the output ends. */
export async function tail(options: TailOptions): Promise<number> {
  const api = await RemoteApi.connect(options);
  // A password that is wrong, or a server that does not answer, is told at once: only what is lost later is tried again.
  await api.request('GET', '/user/currentUser');
  const id = options.device === undefined ? '*' : await objectIdOf(api, options.device);
  const kinds = [...new Set(options.kind.split(',') as Kind[])];
  const ending = new AbortController();
  const end = (): void => ending.abort();
  process.on('SIGINT', end).on('SIGTERM', end);
  // A reader that needs no more closes the pipe.
  process.stdout.on('error', end);
  let count = 0;
  let isFirst = true;
  const onData = (channel: string, data: unknown): Promise<void> | undefined => {
    const { realtimeAction: action, data: entity } = data as { realtimeAction: string; data: unknown };
    const message: LiveMessage = {
      kind: channel.split('/')[1] as Kind,
      action,
      // Of what is deleted there may be the id alone.
      entity: typeof entity === 'object' && entity !== null ? (entity as LiveMessage['entity']) : { id: entity },
    };
    if (ending.signal.aborted || (options.type !== undefined && !isOfType(message, options.type))) return undefined;
    if (options.json) printJson(message);
    else process.stdout.write(`${lineOf(message)}\n`);
    count += 1;
    if (options.count > 0 && count >= options.count) end();
    if (!process.stdout.writableNeedDrain) return undefined;
    return new Promise((resolve) => {
      process.stdout.once('drain', resolve);
    });
  };
  try {
    await follow(
      {
        url: `${api.url.replace(/^http/, 'ws')}/notification/realtime`,
        channels: kinds.map((kind) => `/${kind}/${id}`),
        authorization: async () => {
          // A token of the control socket ends after a while.
          if (isFirst || api.password !== undefined) {
            isFirst = false;
            return api.authorization;
          }
          return (await RemoteApi.connect(options)).authorization;
        },
        onData,
        onState: (state, reason) =>
          say(
            state === 'lost'
              ? reason
              : `showing ${kinds.join(', ')} of ${options.device ?? `the tenant ${options.tenant}`}; Ctrl-C ends`,
          ),
      },
      ending.signal,
    );
  } catch (error) {
    throw error instanceof Refused ? new CommandError(error.message) : error;
  }
  return EXIT_OK;
}
