/**
 * The one table of operational errors (document 1 Errors, document 4 section 0.6). An error is a value of this table,
 * translated to HTTP, a SmartREST row or an MQTT reason code at the edge only.
 */

/** One row: HTTP status, the API's error string, a message template with `{name}` places, MQTT 5 reason code. */
export interface ErrorEntry {
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly mqttReason?: number;
}

const entry = (status: number, error: string, message: string, mqttReason?: number): ErrorEntry =>
  ({ status, error, message, ...(mqttReason === undefined ? {} : { mqttReason }) });

export const ERRORS = {
  'general/no-credentials': entry(401, 'general/internalError', 'No auth information found', 0x86),
  'general/bad-json': entry(400, 'general/Bad Request', 'The body is not readable JSON: {reason}', 0x99),
  'general/bad-path': entry(400, 'general/Bad Request', 'The path or query is not readable: {reason}'),
  'general/unknown-path': entry(404, 'general/Not Found', 'There is no resource at {path}'),
  'general/method-not-allowed': entry(405, 'general/Method Not Allowed', '{method} is not supported on {path}; it takes {allowed}'),
  'general/not-acceptable': entry(406, 'general/Not Acceptable', 'None of the media types in Accept ({accept}) can be produced here'),
  'general/unsupported-media-type': entry(415, 'general/Unsupported Media Type', 'The media type {type} is not taken here'),
  'general/payload-too-large': entry(413, 'general/Payload Too Large', 'The body has more than {limit} bytes', 0x95),
  'general/too-many-requests': entry(429, 'general/Too Many Requests', 'More than {limit} requests a second', 0x96),
  'general/internal': entry(500, 'general/Internal Error', 'The server failed to answer; the log has it under {reference}', 0x80),
  'general/busy': entry(503, 'general/Service Unavailable', 'The server is busy: {limit}', 0x97),
  'general/disk-full': entry(503, 'general/Service Unavailable', 'The disk is nearly full ({limit}): writes are refused', 0x97),
  'general/history-unavailable': entry(503, 'general/Service Unavailable', 'The history store does not answer: {reason}', 0x97),
  'general/invalid-parameter': entry(422, 'general/Invalid Data', 'The parameter {name} has the value {value}; it takes {limit}'),
  'security/unauthorized': entry(401, 'security/Unauthorized', 'Invalid credentials! : Bad credentials', 0x86),
  'security/forbidden': entry(403, 'security/Forbidden', 'Access is denied.', 0x87),
  'validation/mandatory-fields': entry(422, 'undefined/validationError', 'Following mandatory fields should be included: {names}', 0x99),
  'validation/invalid-field': entry(422, '{area}/Invalid Data', 'The field {name} has the value {value}; it takes {limit}', 0x99),
  'inventory/not-found': entry(404, 'inventory/Not Found', 'Finding device data from database failed : No managedObject for id \'{id}\'!'),
  'inventory/not-a-child': entry(422, 'inventory/Invalid Data', 'managedObject {child} is not a child of {parent}'),
  'inventory/cycle': entry(422, 'inventory/Invalid Data', 'managedObject {child} is an ancestor of {parent}: linking it would make a cycle'),
  'inventory/invalid-query': entry(422, 'inventory/Invalid Data', 'The query could not be understood: {reason}'),
  'identity/not-found': entry(404, 'identity/Not Found', 'External id not found; external id = ID [type={type}, value={value}]'),
  'identity/duplicate': entry(409, 'identity/Duplicate', 'External id already bound; external id = ID [type={type}, value={value}]'),
  'measurement/not-found': entry(404, 'measurement/Not Found', 'Finding measurement from database failed : No measurement for id \'{id}\'!'),
  'event/not-found': entry(404, 'event/Not Found', 'Finding event from database failed : No event for id \'{id}\'!'),
  'alarm/not-found': entry(404, 'alarm/Not Found', 'Finding alarm from database failed : No alarm for id \'{id}\'!'),
  'devicecontrol/not-found': entry(404, 'devicecontrol/Not Found', 'Finding device data from database failed : No operation for gid \'{id}\'!'),
  'devicecontrol/no-agent': entry(422, 'devicecontrol/Invalid Data', 'The device {id} is not an agent and has no agent among its ancestors'),
  'devicecontrol/no-operation': entry(422, 'devicecontrol/Invalid Data', 'No operation found: {fragment} in status {status}'),
  'source/not-found': entry(422, '{area}/Invalid Data', 'The source {id} does not exist'),
  'users/not-found': entry(404, 'users/Not Found', 'Error retrieving user {id}! : Cannot find document'),
  'users/duplicate': entry(409, 'users/Duplicate', 'The user {id} exists already'),
  'tenants/not-found': entry(404, 'security/Not Found', 'There is no tenant with id = {id}'),
  'system-option/not-found': entry(404, 'options/Not Found', 'There is no option {category}/{key}'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** An operational error: bad input, missing thing, conflict, busy. `details` fills the places of the message. */
export class PlatformError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  /** The API's error string, `<area>/<Name>`. */
  readonly error: string;
  readonly details: Readonly<Record<string, string | number>>;

  constructor(code: ErrorCode, details: Readonly<Record<string, string | number>> = {}) {
    const row: ErrorEntry = ERRORS[code];
    super(fill(row.message, details));
    this.code = code;
    this.status = row.status;
    this.error = fill(row.error, details);
    this.details = details;
  }

  /** MQTT 5 reason code; 0x80 (unspecified) where the table names none. */
  get mqttReason(): number {
    return (ERRORS[this.code] as ErrorEntry).mqttReason ?? 0x80;
  }
}

/** The longest value that a message repeats; the rest of a hostile value is cut. */
const VALUE_LENGTH_MAX = 200;

function fill(template: string, details: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
    if (!Object.hasOwn(details, name)) return whole;
    const text = String(details[name]);
    return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text;
  });
}

/** The error of a limit that refuses writes for now: `disk/free-bytes`, `journal/bytes` or another name. */
export function refusedBy(limit: string): PlatformError {
  return new PlatformError(limit === 'disk/free-bytes' ? 'general/disk-full' : 'general/busy', { limit });
}
