/** Which members of documents are fragments. */

/**
 * Members of managed objects that have columns of their own or mean something in data: not fragments, a filter looks
 * for them in the document.
 */
export const NOT_FRAGMENTS: ReadonlySet<string> = new Set([
  'id',
  'self',
  'type',
  'name',
  'owner',
  'creationTime',
  'lastUpdated',
  'source',
  'time',
  'text',
  'status',
  'severity',
  'count',
  'firstOccurrenceTime',
  'firstOccurenceTime',
  'deviceId',
  'deviceName',
  'bulkOperationId',
  'failureReason',
  'description',
]);
