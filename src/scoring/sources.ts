/** Contents of a model and of the resources that it uses, on their way to a worker. */
import type { MessagePort } from 'node:worker_threads';
import { LOOKUP_TABLES, type StoredModel, type StoredResource } from '../model/entities/scoring/model.ts';
import { PlatformError } from '../model/errors.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { RecordReader } from '../records/records.ts';
import { sendContent, type SentContent } from '../scoring-workers/content/source-port.ts';
import type { ModelSource, ModelUses } from '../scoring-workers/protocol.ts';
import { isJavaScript } from '../scoring-workers/resources/java-script.ts';
import { MODEL_RESOURCES_MAX } from './limits.ts';
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

/**
 * @throws PlatformError 404 for a model whose content is gone: it was deleted meanwhile; 400 where it has too many resource
 * files, or calls a function that several files have. Nothing is opened then.
 */
export async function openSource(
  parts: SourceParts,
  tenant: number,
  { name, blob, tables = [], functions = [] }: Pick<StoredModel, 'name' | 'blob' | 'tables' | 'functions'>,
): Promise<OpenSource> {
  const used = await resourcesOf(parts, tenant, name, { tables, functions });
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
  name: string,
  { tables, functions }: ModelUses,
): Promise<readonly StoredResource[]> {
  if (tables.length === 0 && functions.length === 0) return [];
  const all = await listResources(parts, tenant, 'pmml');
  const scripts = all.filter(({ type, fileName }) => type !== LOOKUP_TABLES && isJavaScript(fileName));
  const called = functions.map((called) => {
    const having = scripts.filter((script) => hasFunction(script, called));
    if (having.length > 1)
      throw new PlatformError('scoring/model-refused', { name, reason: severalHave(called, having) });
    return having;
  });
  const used = new Set(called.flat());
  for (const one of all)
    if (one.type === LOOKUP_TABLES && one.names.some((table) => tables.includes(table))) used.add(one);
  if (used.size > MODEL_RESOURCES_MAX)
    throw new PlatformError('scoring/model-refused', {
      name,
      reason: `it uses ${used.size} resource files; a model may use ${MODEL_RESOURCES_MAX}`,
    });
  return [...used];
}

/** @param called its name with the namespace or without. */
const hasFunction = ({ names }: StoredResource, called: string): boolean =>
  names.some((full) => `:${full}`.endsWith(`:${called}`));

/** Files that a message names. */
const FILES_SHOWN = 3;

function severalHave(called: string, having: readonly StoredResource[]): string {
  const files = having.slice(0, FILES_SHOWN).map(({ fileName }) => fileName);
  return `${having.length} resource files have the function '${called}', such as ${files.join(', ')}; call it with its namespace`;
}
