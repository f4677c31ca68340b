/**
 * Operations as rows of collections, of SmartREST 1.0 (one-rows.ts) and 2.0: one way to the topics of both. Those of
 * custom templates (docs/spec/smartrest.md#custom-operation-rows) are here.
 */
import { hash } from 'node:crypto';
import { PlatformError } from '../../model/errors.ts';
import { PathBudget } from '../../smartrest/custom/path-values.ts';
import { SmartRestError } from '../../smartrest/rows/error.ts';
import { RECEIVE } from '../../smartrest/topics.ts';
import { responseRows } from './custom-messages.ts';
import type { Device } from './device.ts';
import type { LoadedDocuments } from './loaded-documents.ts';
import type { TemplateCollections } from './template-collections.ts';

/** A topic on which a connection receives operations as rows of a collection. */
export interface CollectionTopic {
  readonly xid: string;
  readonly topic: string;
  /** Of RECEIVE: that of its subscriptions. */
  readonly bit: number;
}

export interface OperationRows {
  /** @param due bits of RECEIVE that are to get an operation. @returns each topic once. */
  topicsOf(link: Device, due: number): readonly CollectionTopic[] | Promise<readonly CollectionTopic[]>;
  /**
   * @param operation JSON text as it is delivered. @returns undefined when there may be rows later: the operation is
   * looked at again. @throws PlatformError when the documents are away.
   */
  rowsOf(
    tenant: number,
    xid: string,
    operation: string,
    serial: string,
  ): Promise<{ readonly rows: readonly string[]; readonly fault?: SmartRestError } | undefined>;
  /** Counts an operation of which nothing was sent. */
  noneSent?(link: Device): void;
}

/** A topic in a mark, which has to be short. */
export const topicMark = (topic: string): string => hash('sha256', topic, 'base64url').slice(0, 16);

/** `<message id>,<serial of the target>,<values>` on `s/dc/<xid>`, and on `s/dd` for the default collection. */
export class CustomOperationRows implements OperationRows {
  readonly #known: LoadedDocuments;
  readonly #templates: TemplateCollections;

  constructor(known: LoadedDocuments, templates: TemplateCollections) {
    this.#known = known;
    this.#templates = templates;
  }

  async topicsOf(link: Device, due: number): Promise<CollectionTopic[]> {
    const topics = new Map<string, CollectionTopic>();
    if ((due & RECEIVE.DEFAULT) !== 0 && link.defaultXId !== '')
      topics.set('s/dd', { xid: link.defaultXId, topic: 's/dd', bit: RECEIVE.DEFAULT });
    for (const named of (due & RECEIVE.CUSTOM) === 0 ? [] : link.receivedXIds(RECEIVE.CUSTOM)) {
      for (const xid of named === undefined ? await this.#all(link.tenantNumber) : [named])
        topics.set(`s/dc/${xid}`, { xid, topic: `s/dc/${xid}`, bit: RECEIVE.CUSTOM });
    }
    return [...topics.values()];
  }

  #all(tenant: number): string[] | Promise<string[]> {
    return this.#known.decide(() => this.#templates.all(tenant));
  }

  /**
   * @param operation JSON text, as REST answers it. @returns undefined when the collection is not found.
   * @throws PlatformError when the documents are away.
   */
  async rowsOf(
    tenant: number,
    xid: string,
    operation: string,
    serial: string,
  ): Promise<{ readonly rows: string[]; readonly fault?: SmartRestError } | undefined> {
    try {
      const found = await this.#known.decide(() => this.#templates.find(tenant, xid));
      return typeof found === 'object' ? responseRows(found, operation, new PathBudget(), [serial]) : undefined;
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'smartrest/bad-collection') throw error;
      return { rows: [], fault: new SmartRestError(41, '', error.message) };
    }
  }
}
