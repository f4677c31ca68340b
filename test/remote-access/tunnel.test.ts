/** A tunnel between two ends in memory: order, back-pressure, bounds, and how it ends. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { Shares } from '../../src/pacing/shares.ts';
import { TUNNEL_LIMITS } from '../../src/remote-access/limits.ts';
import type { TunnelLimits } from '../../src/remote-access/limits.ts';
import { Tunnel } from '../../src/remote-access/tunnel.ts';
import type { TunnelEnd } from '../../src/remote-access/tunnel.ts';
import { until } from '../helpers/until.ts';

class End implements TunnelEnd {
  text = '';
  isPaused = false;
  takes = Infinity;
  canPause = true;
  closed: string | undefined;

  send(bytes: Uint8Array): boolean {
    this.text += Buffer.from(bytes).toString();
    return this.text.length < this.takes;
  }
  pause(): boolean {
    this.isPaused = this.canPause;
    return this.canPause;
  }
  resume(): void {
    this.isPaused = false;
  }
  end(code: number, reason: string): void {
    this.closed ??= `${code} ${reason}`;
  }
  destroy(): void {
    this.closed ??= 'destroyed';
  }
}

function tunnelOf(limits: Partial<TunnelLimits> = {}) {
  const bytes = new Shares('remote-access/held-bytes', 1_000_000);
  const refused: string[] = [];
  const ended: string[] = [];
  const tunnel = new Tunnel({
    tenant: 1,
    userName: 'ada',
    bytes,
    limits: { ...TUNNEL_LIMITS, ...limits },
    onRefused: (limit) => void refused.push(limit),
    onEnded: (reason) => void ended.push(reason),
  });
  return { tunnel, bytes, refused, ended, client: new End(), device: new End() };
}

t.test('what comes before the other end is held, and the sender is stopped', async (t) => {
  const { tunnel, bytes, client, device } = tunnelOf();
  tunnel.attach('client', client);
  tunnel.received('client', Buffer.from('a'));
  tunnel.received('client', Buffer.from('b'));
  t.ok(client.isPaused);
  t.equal(bytes.used, 2);
  tunnel.attach('device', device);
  tunnel.received('client', Buffer.from('c'));
  t.equal(device.text, 'abc');
  t.strictSame([client.isPaused, bytes.used], [false, 0]);
  t.equal(tunnel.sentBytes('device'), 3);
});

t.test('an end that takes no more has the other end stopped, until it is drained', async (t) => {
  const { tunnel, bytes, client, device } = tunnelOf();
  tunnel.attach('client', client);
  tunnel.attach('device', device);
  client.takes = 1;
  tunnel.received('device', Buffer.from('1'));
  tunnel.received('device', Buffer.from('2'));
  tunnel.received('device', Buffer.from('3'));
  t.strictSame([client.text, device.isPaused, bytes.used], ['1', true, 2]);
  tunnel.drained('client');
  t.strictSame([client.text, device.isPaused, bytes.used], ['12', true, 1], 'a piece at a time');
  client.takes = Infinity;
  tunnel.drained('client');
  t.strictSame([client.text, device.isPaused, bytes.used], ['123', false, 0]);
});

t.test('large messages go in pieces', async (t) => {
  const { tunnel, bytes, client, device } = tunnelOf();
  tunnel.attach('client', client);
  tunnel.attach('device', device);
  device.takes = 1;
  tunnel.received('client', Buffer.alloc(200_000, 'x'));
  t.strictSame([device.text.length, bytes.used], [65_536, 134_464]);
});

t.test('a sender that cannot be stopped meets the bound of its tunnel, or that of all', async (t) => {
  const { tunnel, bytes, refused, ended, client, device } = tunnelOf({ heldBytesOfTunnel: 10 });
  tunnel.attach('client', client);
  tunnel.attach('device', device);
  client.canPause = false;
  device.takes = 1;
  for (let count = 0; count < 3; count += 1) tunnel.received('client', Buffer.alloc(6));
  t.strictSame(refused, ['remote-access/held-bytes-of-tunnel']);
  t.match(client.closed, /^1008 remote-access\/held-bytes-of-tunnel: more than 10 bytes/);
  t.match(device.closed, /^1008/);
  t.strictSame([bytes.used, ended.length], [0, 1]);

  const other = tunnelOf();
  other.bytes.add(2, 'bob', 999_999);
  other.tunnel.attach('client', other.client);
  other.tunnel.received('client', Buffer.alloc(6));
  t.strictSame(other.refused, ['remote-access/held-bytes']);
  t.match(other.client.closed, /^1013 remote-access\/held-bytes/);
});

t.test('what an end has sent before it closed arrives; then the other end is closed, once', async (t) => {
  const { tunnel, bytes, ended, client, device } = tunnelOf();
  tunnel.attach('client', client);
  tunnel.attach('device', device);
  client.takes = 1;
  for (const text of ['1', '2', '3']) tunnel.received('device', Buffer.from(text));
  tunnel.ended('device', 'the device has closed');
  t.equal(client.closed, undefined);
  client.takes = Infinity;
  tunnel.drained('client');
  t.strictSame([client.text, client.closed, bytes.used], ['123', '1000 the device has closed', 0]);
  tunnel.ended('client', 'later');
  tunnel.received('client', Buffer.from('x'));
  t.strictSame(ended, ['the device has closed']);
  const late = new End();
  tunnel.attach('client', late);
  t.match(late.closed, /^1000/, 'nothing is attached to one that is over');
});

t.test('an end that stalls is cut off when the other has closed', async (t) => {
  const { tunnel, bytes, refused, ended, client, device } = tunnelOf({ endMs: 5 });
  tunnel.attach('client', client);
  tunnel.attach('device', device);
  client.takes = 1;
  for (const text of ['1', '2']) tunnel.received('device', Buffer.from(text));
  tunnel.ended('device', 'gone');
  await until('it is cut off', () => ended.length === 1);
  t.strictSame([client.closed, refused, bytes.used], ['destroyed', ['remote-access/stalled-end'], 0]);
});

t.test('an end that has permission and does not come', async (t) => {
  const { tunnel, ended, client } = tunnelOf({ attachMs: 5 });
  tunnel.attach('client', client);
  tunnel.expect('device');
  await until('it ends', () => ended.length === 1);
  t.match(client.closed, /the device has left/);
  const another = new End();
  const second = tunnelOf();
  second.tunnel.attach('client', client);
  second.tunnel.attach('client', another);
  t.match(another.closed, /there is another client/);
  await nextTurn();
});
