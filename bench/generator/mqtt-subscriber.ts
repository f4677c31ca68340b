/** A connection that is given everything that the others publish. */
import type { Target } from './job.ts';
import { openConnections, type MqttConnection } from './mqtt-connection.ts';
import { subscribePacket, UPSTREAM_TOPIC } from './mqtt-packets.ts';

/** @returns the subscriber when its subscription (QoS 0) is granted; set `onBytes` to see what it is given. */
export async function subscribeAll(target: Target): Promise<MqttConnection> {
  const [subscriber] = await openConnections({ target, count: 1, parallel: 1, clientPrefix: 'bench-subscriber-' });
  const granted = new Promise<void>((resolve) => {
    subscriber!.onBytes = () => resolve();
  });
  subscriber!.socket.write(subscribePacket(1, UPSTREAM_TOPIC));
  await granted;
  return subscriber!;
}
