/** Contents of a model and of the resources that it uses, on their way to a worker. */
import type { MessagePort } from 'node:worker_threads';
import { LOOKUP_TABLES, type StoredModel, type StoredResource } from '../model/entities/scoring/model.ts';
import { PlatformError } from '../model/errors.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { RecordReader } from '../records/records.ts';
import { sendContent, type SentContent } from '../scoring-workers/content/source-port.ts';
import type { ModelSource, ModelUses } from '../scoring-workers/protocol.ts';
import { isJavaScript } from '../scoring-workers/resources/java-script.ts';
import { listResources } from './records.ts';

export interface SourceParts extends RecordReader {
  readonly blobs: Pick<Blobs, 'read'>;
}

export interface OpenSource {
  readonly source: ModelSource;
  readonly transfer: readonly MessagePort[];
  /** Ends the sending; call it when the worker has answered. */
  close(): void;
}

/** @throws PlatformError 404 for a model whose content is gone: it was deleted meanwhile. */
export async function openSource(
  parts: SourceParts,
  tenant: number,
  { name, blob, tables = [], functions = [] }: Pick<StoredModel, 'name' | 'blob' | 'tables' | 'functions'>,
): Promise<OpenSource> {
  const used = await resourcesOf(parts, tenant, { tables, functions });
  const pieces = await parts.blobs.read(blob);
  if (pieces === undefined) throw new PlatformError('scoring/model-not-found', { name });
  const model = sendContent(pieces);
  const sent: SentContent[] = [model];
  const resources: { fileName: string; port: MessagePort }[] = [];
  for (const { fileName, blob: key } of used) {
    const content = await parts.blobs.read(key);
    if (content === undefined) continue;
    const resource = sendContent(content);
    sent.push(resource);
    resources.push({ fileName, port: resource.port });
  }
  return {
    source: { model: model.port, resources },
    transfer: sent.map(({ port }) => port),
    close: () => {
      for (const one of sent) one.close();
    },
  };
}

/** Resources that have one of the tables or functions. */
async function resourcesOf(
  parts: RecordReader,
  tenant: number,
  { tables, functions }: ModelUses,
): Promise<readonly StoredResource[]> {
  if (tables.length === 0 && functions.length === 0) return [];
  const all = await listResources(parts, tenant, 'pmml');
  return all.filter(({ type, fileName, names }) => {
    if (type === LOOKUP_TABLES) return names.some((name) => tables.includes(name));
    // A function is called with its namespace or without.
    return isJavaScript(fileName) && functions.some((name) => names.some((full) => `:${full}`.endsWith(`:${name}`)));
  });
}
