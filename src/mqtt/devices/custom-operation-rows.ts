/**
 * Operations as rows of custom templates (docs/spec/smartrest.md#custom-operation-rows):
 * `<message id>,<serial of the target>,<values>` on `s/dc/<xid>`, and on `s/dd` for the default collection.
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

/** A collection whose rows a device receives. */
export interface CustomTopic {
  readonly xid: string;
  readonly topic: string;
  /** The subscription's, of RECEIVE and CUSTOM_BITS. */
  readonly bit: number;
}

/** A topic in a mark, which has to be short. */
export const topicMark = (topic: string): string => hash('sha256', topic, 'base64url').slice(0, 16);

export class CustomOperationRows {
  readonly #known: LoadedDocuments;
  readonly #templates: TemplateCollections;

  constructor(known: LoadedDocuments, templates: TemplateCollections) {
    this.#known = known;
    this.#templates = templates;
  }

  /** @param due bits of subscriptions that are to get an operation. @returns each topic once. */
  async topicsOf(link: Device, due: number): Promise<CustomTopic[]> {
    const topics = new Map<string, CustomTopic>();
    if ((due & RECEIVE.DEFAULT) !== 0 && link.defaultXId !== '')
      topics.set('s/dd', { xid: link.defaultXId, topic: 's/dd', bit: RECEIVE.DEFAULT });
    for (const { bit, xid } of link.customReceivers) {
      if ((due & bit) === 0) continue;
      const xids = xid === undefined ? await this.#all(link.tenantNumber) : [xid];
      for (const one of xids) {
        const topic = `s/dc/${one}`;
        if (!topics.has(topic)) topics.set(topic, { xid: one, topic, bit });
      }
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
