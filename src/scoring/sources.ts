/** Contents of a model and of its lookup tables, on their way to a worker. */
import type { MessagePort } from 'node:worker_threads';
import { LOOKUP_TABLES, type StoredModel, type StoredResource } from '../model/entities/scoring/model.ts';
import { PlatformError } from '../model/errors.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { RecordReader } from '../records/records.ts';
import { sendContent, type SentContent } from '../scoring-workers/content/source-port.ts';
import type { ModelSource } from '../scoring-workers/protocol.ts';
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
  { name, blob, tables = [] }: Pick<StoredModel, 'name' | 'blob' | 'tables'>,
): Promise<OpenSource> {
  const resources = await resourcesOf(parts, tenant, tables);
  const pieces = await parts.blobs.read(blob);
  if (pieces === undefined) throw new PlatformError('scoring/model-not-found', { name });
  const model = sendContent(pieces);
  const sent: SentContent[] = [model];
  const sources: { name: string; fileName: string; port: MessagePort }[] = [];
  for (const { fileName, blob: key } of resources) {
    const content = await parts.blobs.read(key);
    if (content === undefined) continue;
    const table = sendContent(content);
    sent.push(table);
    sources.push({ name: fileName, fileName, port: table.port });
  }
  return {
    source: { model: model.port, tables: sources },
    transfer: sent.map(({ port }) => port),
    close: () => {
      for (const one of sent) one.close();
    },
  };
}

/** Resources that have one of the tables. */
async function resourcesOf(
  parts: RecordReader,
  tenant: number,
  tables: readonly string[],
): Promise<readonly StoredResource[]> {
  if (tables.length === 0) return [];
  const all = await listResources(parts, tenant, 'pmml');
  return all.filter(({ type, names }) => type === LOOKUP_TABLES && names.some((name) => tables.includes(name)));
}
