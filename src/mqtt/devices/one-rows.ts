/** SmartREST 1.0 over MQTT (docs/spec/smartrest-one.md#mqtt): what the topics `…/ul`, `s/dl` and `s/ol` mean. */
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { parseExact } from '../../smartrest/custom/exact-numbers.ts';
import { JsonPathError } from '../../smartrest/custom/json-path.ts';
import { ANSWER_LIMIT } from '../../smartrest/one/answer.ts';
import type { Collections } from '../../smartrest/one/collections.ts';
import { UNMATCHED_LIMIT } from '../../smartrest/one/live-rows.ts';
import { RECEIVE } from '../../smartrest/topics.ts';
import type { CollectionTopic, OperationRows } from './collection-rows.ts';
import type { Device } from './device.ts';
import type { DeviceObjects } from './objects.ts';
import type { OperationDelivery } from './operation-delivery.ts';
import type { RowRunner } from './tunnel.ts';

/**
 * Carries out a message; nothing behind it is taken meanwhile, and it is acknowledged afterwards.
 * @returns what tells the device the answer.
 */
export async function runTunnel(
  payload: Buffer,
  { xid, mode }: { readonly xid: string; readonly mode: ProcessingMode },
  link: Device,
  {
    objects,
    answerRows,
    operations,
  }: {
    readonly objects: DeviceObjects;
    readonly answerRows: RowRunner;
    readonly operations: Pick<OperationDelivery, 'collectionCreated'>;
  },
): Promise<() => void> {
  const { principal, remoteAddress = '' } = link.connection;
  const isNew = link.tunnel.used(xid);
  const text = await answerRows(payload, { principal, xid, mode, remoteAddress, signal: link.tunnel.signal });
  // Rows may have bound the serial to an object. Without an answer of the store the next message looks again.
  if (link.source === 0) await openBound(link, objects).catch(() => undefined);
  // The collection was made, or filters with wildcards mean it from now on.
  const isOfFilter = isNew && link.receivedXIds(RECEIVE.SMARTREST1_OPERATIONS).includes(undefined);
  if (isOfFilter || text.startsWith('20,')) operations.collectionCreated(link);
  return () => {
    if (text !== '') link.replies.sendRow(`s/dl/${xid}`, text);
  };
}

async function openBound(link: Device, objects: DeviceObjects): Promise<void> {
  const { principal } = link.connection;
  const found = await objects.known.decide(() => {
    const source = objects.sourceOf(link.tenantNumber, link.serial);
    const right = source === undefined ? undefined : objects.mayOpen(principal, source);
    return source === undefined || right === undefined || right === 'none' ? undefined : { source, right };
  });
  if (found !== undefined && link.source === 0) link.opened(found.source, found.right);
}

/** An operation as rows of SmartREST 1.0: on `s/ol/<X-Id>`, and on `s/ol` for the default collection. */
export class OperationRowsOne implements OperationRows {
  readonly #collections: Pick<Collections, 'find'>;
  readonly #refusals: Refusals;

  constructor(collections: Pick<Collections, 'find'>, refusals: Refusals) {
    this.#collections = collections;
    this.#refusals = refusals;
  }

  /** Of a filter with wildcards those that the connection has used; the default one is not sent twice for it. */
  topicsOf(link: Device, due: number): CollectionTopic[] {
    const topics = new Map<string, CollectionTopic>();
    const { SMARTREST1_DEFAULT, SMARTREST1_OPERATIONS } = RECEIVE;
    if ((due & SMARTREST1_DEFAULT) !== 0 && link.defaultXId !== '')
      topics.set('s/ol', { xid: link.defaultXId, topic: 's/ol', bit: SMARTREST1_DEFAULT });
    if ((due & SMARTREST1_OPERATIONS) !== 0) {
      const isDefaultSent = (link.operationTopics & SMARTREST1_DEFAULT) !== 0;
      const used = [...link.tunnel.xids].filter((xid) => !isDefaultSent || xid !== link.defaultXId);
      for (const xid of link.receivedXIds(SMARTREST1_OPERATIONS).flatMap((named) => named ?? used))
        topics.set(`s/ol/${xid}`, { xid, topic: `s/ol/${xid}`, bit: SMARTREST1_OPERATIONS });
    }
    return [...topics.values()];
  }

  /** @returns undefined when no template fits: one may come. */
  async rowsOf(tenant: number, xid: string, operation: string): Promise<{ readonly rows: string[] } | undefined> {
    const found = await this.#collections.find(tenant, xid);
    try {
      const rows = found?.collection.rowsOf(parseExact(operation), 1) ?? [];
      return rows.length === 0 ? undefined : { rows };
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      this.#refusals.count(ANSWER_LIMIT, { tenant, reason: error.message });
      return undefined;
    }
  }

  noneSent({ replies }: Device): void {
    this.#refusals.count(UNMATCHED_LIMIT, replies.refused('no template fits an operation'));
  }
}
