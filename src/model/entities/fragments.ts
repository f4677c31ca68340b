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

/** What a name of a fragment takes, as error messages say it (docs/spec/conventions.md#names). */
export const FRAGMENT_NAME_RULE = 'a name that is not empty, has no dot and does not start with $';

/** Whether an entity other than a measurement may have a member of this name. */
export const isFragmentName = (name: string): boolean => name !== '' && !name.includes('.') && !name.startsWith('$');
