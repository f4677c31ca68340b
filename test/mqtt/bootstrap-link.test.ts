/**
 * The link of a device without credentials: one request at a time, answers and faults
 * (docs/spec/device-registration.md#mqtt).
 */
import t from 'tap';
import type { DeviceCredentials } from '../../src/model/entities/device-request.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import type { DeviceConnection, PublishResult } from '../../src/mqtt/sessions/application.ts';
import { BootstrapLink } from '../../src/mqtt/devices/bootstrap-link.ts';
import { silentLog } from '../actors/platform.ts';
import { published } from './helpers/published.ts';

class Harness {
  readonly events: string[] = [];
  readonly counted: string[] = [];
  readonly polls: {
    id: string;
    token: string | undefined;
    resolve: (credentials: DeviceCredentials | undefined) => void;
    reject: (error: Error) => void;
  }[] = [];
  readonly link: BootstrapLink;

  constructor() {
    const connection: DeviceConnection = {
      principal: {
        tenant: 'management',
        tenantNumber: 1,
        userName: 'devicebootstrap',
        roles: new Set(['ROLE_DEVICE_BOOTSTRAP']),
      },
      clientId: 'd:7',
      protocolVersion: 4,
      isPersistent: false,
      acknowledge: (id) => {
        this.events.push(`ack ${id}`);
      },
      rejected() {},
      flush: () => {
        this.events.push('flush');
      },
      resume: () => {
        this.events.push('resume');
      },
      deliver: ({ topic, payload }) => {
        this.events.push(`${topic} ${Buffer.from(payload).toString()}`);
      },
      disconnect() {},
    };
    const poll = (id: string, token: string | undefined): Promise<DeviceCredentials | undefined> =>
      new Promise((resolve, reject) => {
        this.polls.push({ id, token, resolve, reject });
      });
    this.link = new BootstrapLink(connection, '7', {
      registration: { poll },
      refusals: {
        count: (limit) => {
          this.counted.push(limit);
        },
      },
      log: silentLog,
    });
  }

  publish(topic: string, payload: string, packetId: number): PublishResult {
    return this.link.publish(published(topic, payload, packetId));
  }
}

const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

t.test('one request at a time; the PUBACK comes behind the answer', async (t) => {
  const harness = new Harness();
  t.equal(harness.publish('s/ucr', '', 1), PUBLISH_RESULT.PENDING);
  t.equal(harness.publish('s/ucr', ' token ', 2), PUBLISH_RESULT.BUSY);
  t.equal(harness.publish('s/us', '', 2), PUBLISH_RESULT.BUSY);
  t.same(harness.events, []);
  harness.polls[0].resolve(undefined);
  await settled();
  t.same(harness.events.splice(0), ['ack 1', 'flush', 'resume'], 'no answer until it is accepted');
  t.equal(harness.publish('s/ucr', ' token ', 2), PUBLISH_RESULT.PENDING);
  t.match(harness.polls[1], { id: '7', token: 'token' });
  harness.polls[1].resolve({ id: '7', tenantId: 't1', userName: 'device_7', password: 'a,b"c' });
  await settled();
  t.same(harness.events, ['s/dcr 70,t1,device_7,"a,b""c"', 'ack 2', 'flush']);
});

t.test('faults', async (t) => {
  const harness = new Harness();
  harness.publish('s/ucr', '', 1);
  harness.polls[0].reject(new PlatformError('devicecontrol/security-token-missing', { id: '7' }));
  await settled();
  harness.publish('s/ucr', '', 2);
  harness.polls[1].reject(new Error('of the inside'));
  await settled();
  t.match(
    harness.events.filter((event) => event.startsWith('s/e')),
    [/^s\/e 50,,The device 7 has shown no security token/, /^s\/e 50,,The request for device credentials failed$/],
  );
  t.equal(harness.events.filter((event) => event.startsWith('ack')).length, 2);
  t.equal(harness.publish('s/us', '211,1', 3), PUBLISH_RESULT.PENDING);
  t.ok(harness.counted.includes('mqtt/bootstrap-topic'));
});

t.test('it receives credentials and errors, nothing else', async (t) => {
  const { link } = new Harness();
  for (const topic of ['s/dcr', 's/e']) t.equal(link.subscribe(topic, 1), 1, topic);
  for (const topic of ['s/ds', 's/dc/x', 's/+', '#', 'error', 'x']) t.equal(link.subscribe(topic, 1), 0x80, topic);
});

t.test('a connection that is closed meanwhile is not resumed', async (t) => {
  const harness = new Harness();
  harness.publish('s/ucr', '', 1);
  harness.publish('s/ucr', '', 2);
  harness.link.closed();
  harness.polls[0].resolve(undefined);
  await settled();
  t.notOk(harness.events.includes('resume'));
});
