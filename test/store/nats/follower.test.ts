/** What a follower does when its consumer says that it is alive and gives nothing. */
import t from 'tap';
import type { NatsConnection } from '../../../src/store/nats/connection.ts';
import { NatsFollower } from '../../../src/store/nats/follower.ts';
import { until } from '../../helpers/until.ts';

interface Consumer {
  readonly from: number;
  readonly say: (reply: string | undefined, code: number) => void;
}

/** A stream whose newest message is `newest`, and consumers that only send heartbeats. */
function silentStream(newest: () => number): { readonly connection: NatsConnection; readonly consumers: Consumer[] } {
  const consumers: Consumer[] = [];
  let from = 0;
  const connection = {
    isConnected: true,
    onReconnected: () => () => undefined,
    manager: {
      consumers: {
        add: async (_stream: string, config: { opt_start_seq: number }) => {
          from = config.opt_start_seq;
          return { num_pending: 1 };
        },
        delete: async () => true,
      },
      streams: { getMessage: async () => ({ seq: newest() }) },
    },
    core: {
      publish: () => undefined,
      subscribe: (_inbox: string, { callback }: { callback: (error: null, message: object) => void }) => {
        const say: Consumer['say'] = (reply, code) =>
          callback(null, { reply, subject: 'j.1', data: new Uint8Array(), headers: { code } });
        consumers.push({ from, say });
        return { unsubscribe: () => undefined, getSubject: () => 'inbox' };
      },
    },
  };
  return { connection: connection as unknown as NatsConnection, consumers };
}

t.test('a consumer that keeps back what the stream has is replaced, one that has given all is not', async (t) => {
  let newest = 5;
  const { connection, consumers } = silentStream(() => newest);
  const given: number[] = [];
  const held: number[][] = [];
  const follower = new NatsFollower(connection, {
    stream: 'S',
    filter: 'j.1',
    after: 4,
    batch: 8,
    batchBytes: 0,
    onMessage: ({ seq }) => void given.push(seq),
    onError: (error) => t.fail(error.message),
    onHeld: (...seqs) => void held.push(seqs),
    lookMs: 10,
    name: 'f',
  });
  const heartbeats = setInterval(() => consumers.at(-1)?.say(undefined, 100), 100);
  t.teardown(() => clearInterval(heartbeats));
  await until('the first consumer', () => consumers.length === 1);
  consumers[0].say('$JS.ACK.S.f.1.5.1.0.0', 0);
  t.same(given, [5]);
  await new Promise((done) => setTimeout(done, 2_500));
  t.equal(consumers.length, 1, 'it has given all');
  newest = 7;
  await until('it is replaced', () => consumers.length === 2);
  t.same(held, [[5, 7]]);
  t.equal(consumers[1].from, 6);
  consumers[0].say('$JS.ACK.S.f.1.7.2.0.0', 0);
  t.same(given, [5], 'the former one counts no more');
  await follower.stop();
});
