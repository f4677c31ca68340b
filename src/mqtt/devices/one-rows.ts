/** SmartREST 1.0 over MQTT (docs/spec/smartrest-one.md#mqtt): what the topics `…/ul`, `s/dl` and `s/ol` mean. */
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import { joinMembers, type Members } from '../../model/documents/json-document.ts';
import { deliveredOperation } from '../../model/entities/operation.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { JsonPathError } from '../../smartrest/custom/json-path.ts';
import { ANSWER_LIMIT } from '../../smartrest/one/answer.ts';
import type { Collections } from '../../smartrest/one/collections.ts';
import { UNMATCHED_LIMIT } from '../../smartrest/one/live-rows.ts';
import type { Device } from './device.ts';
import type { DeviceObjects } from './objects.ts';
import { OPERATIONS_TOPIC, type RowRunner } from './tunnel.ts';

/**
 * Carries out a message; nothing behind it is taken meanwhile, and it is acknowledged afterwards.
 * @returns what tells the device the answer.
 */
export async function runTunnel(
  payload: Buffer,
  { xid, mode }: { readonly xid: string; readonly mode: ProcessingMode },
  link: Device,
  { objects, answerRows }: { readonly objects: DeviceObjects; readonly answerRows: RowRunner },
): Promise<() => void> {
  const { principal, remoteAddress = '' } = link.connection;
  link.tunnel.used(xid);
  const text = await answerRows(payload, { principal, xid, mode, remoteAddress, signal: link.tunnel.signal });
  // Rows may have bound the serial to an object. Without an answer of the store the next message looks again.
  if (link.source === 0) await openBound(link, objects).catch(() => undefined);
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

export interface PushedRows {
  readonly topic: string;
  /** Rows with line feeds between them. */
  readonly text: string;
}

/** An operation as rows, for each of the collections that a connection receives. */
export class OperationRowsOne {
  readonly #collections: Pick<Collections, 'find'>;
  readonly #refusals: Refusals;

  constructor(collections: Pick<Collections, 'find'>, refusals: Refusals) {
    this.#collections = collections;
    this.#refusals = refusals;
  }

  /** @param members as REST answers it. @returns none when no template fits, which is counted. @throws PlatformError when the documents are away. */
  async of(link: Device, members: Members): Promise<readonly PushedRows[]> {
    const operation: unknown = JSON.parse(joinMembers(deliveredOperation(new Map(members), String(link.source))));
    const pushed: PushedRows[] = [];
    for (const xid of link.receivedCollections) {
      const found = await this.#collections.find(link.tenantNumber, xid);
      try {
        const rows = found?.collection.rowsOf(operation, 1) ?? [];
        if (rows.length > 0) pushed.push({ topic: OPERATIONS_TOPIC + xid, text: rows.join('\n') });
      } catch (error) {
        if (!(error instanceof JsonPathError)) throw error;
        this.#refusals.count(ANSWER_LIMIT);
      }
    }
    if (pushed.length === 0) this.#refusals.count(UNMATCHED_LIMIT);
    return pushed;
  }
}
