/** Bounds of one group of a cluster's journal, and what follows for bodies. */

/** Bytes of one group: a JetStream message has 1 MiB with its headers. */
export const GROUP_BYTES_MAX = 900 * 1024;
/** A JSON body becomes one record, with what stands beside it there: ids, keys, who sent it. */
export const JSON_BODY_BYTES_MAX = GROUP_BYTES_MAX - 16 * 1024;
