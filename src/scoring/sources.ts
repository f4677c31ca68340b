/** Contents of a model and of the resources that it uses, on their way to a worker. */
import type { MessagePort } from 'node:worker_threads';
import type { RecordChange } from '../model/commands/records.ts';
import {
  LOOKUP_TABLES,
  SCORING_RECORDS,
  type StoredModel,
  type StoredResource,
} from '../model/entities/scoring/model.ts';
import { PlatformError } from '../model/errors.ts';
import type { Blobs } from '../ports/blobs.ts';
import { readRecord, type RecordReader } from '../records/records.ts';
import { sendContent, type SentContent } from '../scoring-workers/content/source-port.ts';
import type { ModelSource } from '../scoring-workers/protocol.ts';
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
 * @param used its files, of `usedResources`
 * @throws PlatformError 404 for a model whose content is gone: it was deleted meanwhile. Nothing is opened then.
 */
export async function openSource(
  parts: Pick<SourceParts, 'blobs'>,
  { name, blob }: Pick<StoredModel, 'name' | 'blob'>,
  used: readonly UsedResource[],
): Promise<OpenSource> {
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

/** What a task needs of a resource. */
export type UsedResource = Pick<StoredResource, 'fileName' | 'blob'>;

/**
 * Resources that have one of the tables or functions, in the order of their names.
 *
 * @param hasAll there was a file for each of them when the model was uploaded
 * @throws PlatformError 400 where they are too many files, several have one of the tables or functions, or none has
 */
export async function usedResources(
  parts: RecordReader,
  tenant: number,
  { name, tables = [], functions = [] }: Pick<StoredModel, 'name' | 'tables' | 'functions'>,
  hasAll = false,
): Promise<readonly UsedResource[]> {
  if (tables.length === 0 && functions.length === 0) return [];
  const all = await listResources(parts, tenant, 'pmml');
  const scripts = all.filter(({ type, fileName }) => type !== LOOKUP_TABLES && isJavaScript(fileName));
  const refuse = (what: string, having: readonly StoredResource[], remedy: string): never => {
    const reason = `${having.length} resource files have the ${what}, such as ${shownFiles(having)}; ${remedy}`;
    throw new PlatformError('scoring/model-refused', { name, reason });
  };
  const missing = [
    ...functions.filter((called) => !all.some((one) => hasFunction(one, called))).map((one) => `function '${one}'`),
    ...tables.filter((table) => !all.some((one) => hasTable(one, table))).map((one) => `table '${one}'`),
  ];
  if (hasAll && missing.length > 0)
    throw new PlatformError('scoring/model-refused', { name, reason: `no resource file has the ${missing[0]}` });
  const used = new Set<StoredResource>();
  for (const called of functions) {
    const having = scripts.filter((script) => hasFunction(script, called));
    if (having.length > 1) refuse(`function '${called}'`, having, 'call it with its namespace');
    for (const one of having) used.add(one);
  }
  for (const table of tables) {
    const having = all.filter((one) => hasTable(one, table));
    if (having.length > 1) refuse(`table '${table}'`, having, 'delete all but one');
    for (const one of having) used.add(one);
  }
  if (used.size > MODEL_RESOURCES_MAX)
    throw new PlatformError('scoring/model-refused', {
      name,
      reason: `it uses ${used.size} resource files; a model may use ${MODEL_RESOURCES_MAX}`,
    });
  return all.filter((one) => used.has(one)).map(({ fileName, blob }) => ({ fileName, blob }));
}

const hasTable = ({ type, names }: StoredResource, table: string): boolean =>
  type === LOOKUP_TABLES && names.includes(table);

/** Changes with each file of lookup tables that is made: of two at once the second one looks again. */
const TABLES_ID = 'tables';

/**
 * Lookup tables are known by their names alone, so that each is in one file.
 *
 * @returns what is to be stored in the same change as the file
 * @throws PlatformError 400 where another file has a table of the new file's
 */
export async function requireNewTables(
  parts: RecordReader,
  tenant: number,
  { fileName, type, names, blob }: StoredResource,
): Promise<readonly RecordChange[]> {
  if (type !== LOOKUP_TABLES) return [];
  const expected = await readRecord(parts, tenant, SCORING_RECORDS, TABLES_ID);
  const others = (await listResources(parts, tenant, 'pmml')).filter((one) => one.fileName !== fileName);
  for (const name of names) {
    const other = others.find((one) => hasTable(one, name));
    if (other === undefined) continue;
    const reason = `The table '${name}' of ${fileName} is in the resource file ${other.fileName} too: rename it, or delete that file.`;
    throw new PlatformError('scoring/bad-input', { reason });
  }
  return [{ collection: SCORING_RECORDS, id: TABLES_ID, expected, value: JSON.stringify({ lastBlob: blob }) }];
}

/** @param called its name with the namespace or without. */
const hasFunction = ({ names }: StoredResource, called: string): boolean =>
  names.some((full) => `:${full}`.endsWith(`:${called}`));

/** Files that a message names. */
const FILES_SHOWN = 3;

const shownFiles = (files: readonly StoredResource[]): string =>
  files
    .slice(0, FILES_SHOWN)
    .map(({ fileName }) => fileName)
    .join(', ');
