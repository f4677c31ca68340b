/** DELETE by filters of many entities: a job of the tenant until it is done (ingest/projector/data-deletion.ts). */

/** Ids of these records, in the collection `job`, begin so; behind it the sequence of the command. */
export const DATA_DELETION_PREFIX = 'data-deletion/';
/** Of one tenant at once; then DELETE by filters and of measurements is refused. */
export const DATA_DELETIONS_MAX = 50;
export const DATA_DELETIONS_LIMIT = 'deletions/under-way';
