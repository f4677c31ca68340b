/** What every live bus promises (the port LiveBus), inside one process and from one node to another. */
import type { Test } from 'tap';
import type { LiveBus } from '../../src/ports/live-bus.ts';
import { until } from '../helpers/until.ts';
import { TestNotification } from './helpers.ts';

export interface OpenBus {
  /** Where is published, and where is listened: the same bus, or those of two nodes. */
  readonly from: LiveBus;
  readonly to: LiveBus;
}

type Notice = ConstructorParameters<typeof TestNotification>;

/** Runs the suite. @param open a bus without listeners. */
export function liveBusContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<OpenBus>,
  skip: string | false = false,
): void {
  const listens = (bus: LiveBus, ...[tenant, area]: Parameters<LiveBus['hasSubscribers']>): Promise<void> =>
    until('the interest is known', () => bus.hasSubscribers(tenant, area));
  const publish = (bus: LiveBus, ...notice: Notice): void => bus.publish(new TestNotification(...notice));

  t.test(`${name}: subscribers are known by tenant and area, until they leave`, { skip }, async (t) => {
    const { from, to } = await open(t);
    t.equal(from.hasSubscribers(1, 'alarms'), false);
    const leave = to.subscribe(1, 'alarms', () => undefined);
    const leaveToo = to.subscribe(1, 'alarms', () => undefined);
    const leaveOther = to.subscribe(1, 'operations', () => undefined);
    await listens(from, 1, 'alarms');
    await listens(from, 1, 'operations');
    t.equal(from.hasSubscribers(1, 'events'), false);
    t.equal(from.hasSubscribers(2, 'alarms'), false);
    leave();
    leave();
    leaveOther();
    await until('the end of another subscription is known', () => !from.hasSubscribers(1, 'operations'));
    t.equal(from.hasSubscribers(1, 'alarms'), true, 'leaving twice takes nobody else along');
    leaveToo();
    await until('nobody is left', () => !from.hasSubscribers(1, 'alarms'));
  });

  t.test(
    `${name}: a listener gets its tenant and area only, each as it was published and in order`,
    { skip },
    async (t) => {
      const { from, to } = await open(t);
      const seen: string[] = [];
      to.subscribe(1, 'alarms', ({ tenant, area, source, action, isUnstored, text }) => {
        seen.push([tenant, area, source, action, isUnstored === true, text === undefined].join(' '));
      });
      const texts: string[] = [];
      to.subscribe(1, 'alarms', (notification) => {
        texts.push(notification.text());
      });
      await listens(from, 1, 'alarms');
      publish(from, 'alarms', '1', '{"text":"ü€😀"}');
      publish(from, 'events', '2', '{}');
      publish(from, 'alarms', '3', '{}', { tenant: 2 });
      publish(from, 'alarms', '4', '"4"', { action: 'DELETE', isUnstored: true });
      publish(from, 'alarms', '5', '{}', { action: 'UPDATE' });
      await until('all are there', () => texts.length === 3);
      t.same(seen, ['1 alarms 1 CREATE false false', '1 alarms 4 DELETE true false', '1 alarms 5 UPDATE false false']);
      t.same(texts, ['{"text":"ü€😀"}', '"4"', '{}']);
      const many = Array.from({ length: 2_000 }, (_, n) => `{"n":${n}}`);
      texts.length = 0;
      for (const text of many) publish(from, 'alarms', '1', text);
      await until('all of many are there', () => texts.length === many.length);
      t.same(texts, many);
    },
  );

  t.test(`${name}: a listener that throws harms neither the publisher nor the others`, { skip }, async (t) => {
    const { from, to } = await open(t);
    let count = 0;
    to.subscribe(1, 'alarms', () => {
      throw new Error('broken');
    });
    to.subscribe(1, 'alarms', () => {
      count += 1;
    });
    await listens(from, 1, 'alarms');
    for (let index = 0; index < 5; index += 1) publish(from, 'alarms', '1', '{}');
    await until('the other one got all', () => count === 5);
    t.pass('and nothing was thrown');
  });

  t.test(`${name}: a listener may leave while it is called, and one function may listen twice`, { skip }, async (t) => {
    const { from, to } = await open(t);
    let count = 0;
    const leave = to.subscribe(1, 'alarms', () => {
      count += 1;
      leave();
    });
    const twice = (): void => {
      count += 10;
    };
    to.subscribe(1, 'alarms', twice);
    to.subscribe(1, 'alarms', twice);
    await listens(from, 1, 'alarms');
    publish(from, 'alarms', '1', '{}');
    publish(from, 'alarms', '1', '{}');
    await until('both are there', () => count >= 41);
    t.equal(count, 41);
  });

  t.test(`${name}: no text is made for nobody`, { skip }, async (t) => {
    const { from } = await open(t);
    const notification = new TestNotification('alarms', '1', '{}');
    from.publish(notification);
    t.equal(notification.textCount, 0);
  });
}
