/**
 * The versions of the tables and of the journal that a data directory or a cluster has, in the collection `meta` of its
 * documents.
 */
import { JOURNAL_FORMAT } from '../model/commands/kinds.ts';
import type { DocumentReader } from '../ports/document-reader.ts';
import { SCHEMA_VERSION } from './clickhouse/schema.ts';

const documentOf = (id: string, version: number) =>
  ({ collection: 'meta', tenant: 0, id, value: String(version) }) as const;

/** Those of this version of Millrace. */
export const VERSION_DOCUMENTS = [documentOf('schema', SCHEMA_VERSION), documentOf('journalFormat', JOURNAL_FORMAT)];

const REMEDY = ': start the newer version again, or restore a backup of this one';

/** @throws Error for a newer schema or format of the journal. Older data directories have no format. */
export function requireKnown(
  place: string,
  stored: { readonly schema?: number; readonly journalFormat?: number },
): void {
  const { schema = 0, journalFormat = 0 } = stored;
  if (schema > SCHEMA_VERSION)
    throw new Error(`${place} has schema ${schema}; this version of Millrace knows ${SCHEMA_VERSION}${REMEDY}`);
  if (journalFormat > JOURNAL_FORMAT)
    throw new Error(
      `${place} has a journal of format ${journalFormat}; this version of Millrace knows ${JOURNAL_FORMAT}${REMEDY}`,
    );
}

/** @throws Error for a newer version. */
export async function checkVersions(documents: Pick<DocumentReader, 'get'>, place: string): Promise<void> {
  const read = async (id: string): Promise<number> => Number((await documents.get('meta', 0, id)) ?? 0);
  requireKnown(place, { schema: await read('schema'), journalFormat: await read('journalFormat') });
}

/**
 * Makes tables between the check of the stored versions and writing those of this one. The tables of a newer version are
 * not touched, and a start that is cut off leaves the older version, which makes them again.
 */
export async function withVersions({
  documents,
  place,
  makeTables,
  save,
}: {
  readonly documents: Pick<DocumentReader, 'get'>;
  /** For the message of the error. */
  readonly place: string;
  readonly makeTables: () => Promise<void>;
  /** Writes VERSION_DOCUMENTS. */
  readonly save: () => Promise<void>;
}): Promise<void> {
  await checkVersions(documents, place);
  await makeTables();
  await save();
}
