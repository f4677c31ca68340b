/** The version of the tables that a data directory or a cluster has, in the collection `meta` of its documents. */
import type { DocumentReader } from '../ports/document-reader.ts';
import { SCHEMA_VERSION } from './clickhouse/schema.ts';

const ID = 'schema';
export const SCHEMA_DOCUMENT = { collection: 'meta', tenant: 0, id: ID, value: String(SCHEMA_VERSION) } as const;

/** @throws Error for a newer version. */
export async function checkSchema(documents: Pick<DocumentReader, 'get'>, place: string): Promise<void> {
  const version = Number((await documents.get('meta', 0, ID)) ?? SCHEMA_VERSION);
  if (version > SCHEMA_VERSION)
    throw new Error(`${place} has schema ${version}; this version of Millrace knows ${SCHEMA_VERSION}`);
}

/**
 * Makes tables between the check of the stored version and writing this one. The tables of a newer version are not
 * touched, and a start that is cut off leaves the older version, which makes them again.
 */
export async function withSchema({
  documents,
  place,
  makeTables,
  save,
}: {
  readonly documents: Pick<DocumentReader, 'get'>;
  /** For the message of the error. */
  readonly place: string;
  readonly makeTables: () => Promise<void>;
  /** Writes SCHEMA_DOCUMENT. */
  readonly save: () => Promise<void>;
}): Promise<void> {
  await checkSchema(documents, place);
  await makeTables();
  await save();
}
