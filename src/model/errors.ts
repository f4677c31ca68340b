/**
 * The one table of operational errors (docs/spec/errors.md). An error is a value of this table,
 * translated to HTTP, a SmartREST row or an MQTT reason code at the edge only.
 */

/** One row: HTTP status, the API's error string, a message template with `{name}` places, MQTT 5 reason code. */
export interface ErrorEntry {
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly mqttReason?: number;
}

const entry = (status: number, error: string, message: string, mqttReason?: number): ErrorEntry => ({
  status,
  error,
  message,
  ...(mqttReason === undefined ? {} : { mqttReason }),
});

export const ERRORS = {
  'general/no-credentials': entry(401, 'general/internalError', 'No auth information found', 0x86),
  'general/bad-json': entry(400, 'general/Bad Request', 'The body is not readable JSON: {reason}', 0x99),
  'general/bad-multipart': entry(400, 'general/Bad Request', 'The multipart body is not readable: {reason}'),
  'general/range-not-satisfiable': entry(
    416,
    'general/Range Not Satisfiable',
    'The content has {length} bytes; {range} is not among them',
  ),
  'general/bad-path': entry(400, 'general/Bad Request', 'The path or query is not readable: {reason}'),
  'general/bad-request-head': entry(400, 'general/Bad Request', 'The end of the request is not certain: {reason}'),
  'general/unknown-path': entry(404, 'general/Not Found', 'The path {path} does not exist'),
  'general/method-not-allowed': entry(
    405,
    'general/Method Not Allowed',
    '{method} is not supported on {path}; it takes {allowed}',
  ),
  'general/not-acceptable': entry(
    406,
    'general/Not Acceptable',
    'None of the media types in Accept ({accept}) can be produced here',
  ),
  'general/unsupported-media-type': entry(
    415,
    'general/Unsupported Media Type',
    'The media type {type} is not taken here',
  ),
  'general/length-required': entry(
    411,
    'general/Length Required',
    'This server takes this request with Content-Length only, not with a body in chunks (http/chunks); --http-engine node takes chunks',
  ),
  'general/payload-too-large': entry(413, 'general/Payload Too Large', 'The body has more than {limit} bytes', 0x95),
  'general/record-too-large': entry(
    413,
    'general/Payload Too Large',
    'What the body asks for takes more than {limit} bytes in the journal of a cluster, where quotes and backslashes count twice',
    0x95,
  ),
  'general/change-too-large': entry(
    413,
    'general/Payload Too Large',
    'The change writes {size} characters, with the whole object and its row in the history; a cluster takes {limit}',
    0x95,
  ),
  'general/page-too-large': entry(
    422,
    'general/Page Too Large',
    'The page has more than {limit} bytes of documents; ask for a smaller pageSize, or for references without names (skipChildrenNames)',
  ),
  'general/too-many-requests': entry(429, 'general/Too Many Requests', 'More than {limit} requests a second', 0x96),
  'general/internal': entry(
    500,
    'general/Internal Error',
    'The server failed to answer; the log has it under {reference}',
    0x80,
  ),
  'general/busy': entry(503, 'general/Service Unavailable', 'The server is busy: {limit}', 0x97),
  'general/disk-full': entry(
    503,
    'general/Service Unavailable',
    'The disk is nearly full ({limit}): writes are refused',
    0x97,
  ),
  'general/changed-meanwhile': entry(
    409,
    'general/Conflict',
    'The {collection} {id} changed meanwhile: try again',
    0x80,
  ),
  'general/query-too-large': entry(413, 'general/Payload Too Large', 'Query exceeded execution time: {reason}'),
  'general/history-unavailable': entry(
    503,
    'general/Service Unavailable',
    'The history store does not answer: {reason}',
    0x88,
  ),
  'general/documents-unavailable': entry(
    503,
    'general/Service Unavailable',
    'The document store does not answer: {reason}',
    0x88,
  ),
  'general/hierarchy-too-large': entry(
    422,
    'general/Invalid Data',
    'The hierarchy of {id} has more than {maximum} objects ({limit}): ask for parts of it',
  ),
  'general/invalid-parameter': entry(
    422,
    'general/Invalid Data',
    'The parameter {name} has the value {value}; it takes {limit}',
  ),
  'commands/answer-timeout': entry(
    503,
    'general/Service Unavailable',
    'The command is stored and was not answered within {limit} ms: it may have been carried out, or will be. Look before you send it again',
    0x88,
  ),
  'mqtt/objects-of-message': entry(
    422,
    'mqtt/Too Many Objects',
    'The message names more than {maximum} objects whose rights have to be looked up; send the rest in another message',
    0x97,
  ),
  'software/bad-request': entry(
    400,
    'general/Bad Request',
    'The parameter {name} has the value {value}; it takes {limit}',
  ),
  'software/packages': entry(
    422,
    'inventory/Invalid Data',
    'The list of software would have {count} packages; a device has at most {maximum} (software/packages)',
  ),
  'software/list-bytes': entry(
    422,
    'inventory/Invalid Data',
    'The list of software would have {count} bytes; that of a device has at most {maximum} (software/list-bytes)',
  ),
  'mqtt/events-of-message': entry(
    422,
    'mqtt/Too Many Events',
    'The message asks for more than {maximum} events that have to be looked up; send the rest in another message',
    0x97,
  ),
  'smartrest/bad-collection': entry(
    422,
    'smartrest/Unprocessable Entity',
    'The SmartREST templates are not taken: {reason}',
    0x99,
  ),
  'smartrest/bad-x-id': entry(
    422,
    'smartrest/Unprocessable Entity',
    'The X-ID {xid} is not taken; it takes a level of a topic: a text without / + # and control characters, no longer than an external ID',
    0x99,
  ),
  'smartrest/fixed-collection': entry(
    403,
    'security/Forbidden',
    'The templates of the object {id} are fixed: a user with ROLE_INVENTORY_ADMIN changes them over REST; make a collection with another X-ID',
    0x87,
  ),
  'smartrest/unknown-collection': entry(404, 'smartrest/Not Found', 'The template collection {xid} is unknown'),
  'smartrest/too-many-collections': entry(
    422,
    'smartrest/Unprocessable Entity',
    'A tenant has at most {maximum} template collections ({limit})',
    0x97,
  ),
  'smartrest/too-many-collections-of-user': entry(
    422,
    'smartrest/Unprocessable Entity',
    'A user makes at most {maximum} template collections ({limit})',
    0x97,
  ),
  'mqtt/unknown-topic': entry(404, 'mqtt/Unknown Topic', 'Nothing is published on the topic {topic}', 0x90),
  'mqtt/session-elsewhere': entry(409, 'general/Conflict', 'Another connection has opened the session {session}', 0x8e),
  'commands/answer-lost': entry(
    503,
    'general/Service Unavailable',
    'The command was carried out and its answer is lost ({limit}). Look before you send it again',
    0x88,
  ),
  'security/unauthorized': entry(401, 'security/Unauthorized', 'Invalid credentials! : Bad credentials', 0x86),
  'security/forbidden': entry(403, 'security/Forbidden', 'Access is denied.', 0x87),
  'security/cross-site': entry(
    403,
    'security/Forbidden',
    'A page of another origin ({origin}) may not send this with what the browser adds by itself ' +
      '({limit}): name the origin in the tenant option access.control/allow.origin, or send JSON, a bearer token or the header UseXBasic',
  ),
  'validation/not-an-object': entry(422, 'undefined/validationError', 'The JSON is {what}; it takes an object', 0x99),
  'validation/mandatory-fields': entry(
    422,
    'undefined/validationError',
    'Following mandatory fields should be included: {names}',
    0x99,
  ),
  'validation/invalid-field': entry(
    422,
    '{area}/Invalid Data',
    'The field {name} has the value {value}; it takes {limit}',
    0x99,
  ),
  'validation/too-many-members': entry(
    422,
    'validation/Too Many Members',
    'The object has {count} members at its top level; it takes {maximum}. What belongs together can be one member, of any number of members',
    0x99,
  ),
  'inventory/not-found': entry(
    404,
    'inventory/Not Found',
    "Finding device data from database failed : No managedObject for id '{id}'!",
  ),
  'inventory/no-device': entry(404, 'inventory/Not Found', 'The managed object {id} is not a device'),
  'inventory/no-binary': entry(404, 'inventory/Not Found', 'The managed object {id} has no binary'),
  'inventory/not-a-child': entry(422, 'inventory/Invalid Data', 'managedObject {child} is not a child of {parent}'),
  'inventory/cycle': entry(
    422,
    'inventory/Invalid Data',
    'managedObject {child} is an ancestor of {parent}: linking it would make a cycle',
  ),
  'inventory/not-linked': entry(
    422,
    'inventory/Invalid Data',
    'managedObject {child} was not linked to {parent}: with a link that was made at the same time it would make a cycle, or it was unlinked again',
  ),
  'inventory/too-many-references': entry(
    422,
    'inventory/Invalid Data',
    'The body has {count} references; it takes {maximum} ({limit}): send the others with further requests',
  ),
  'inventory/invalid-query': entry(422, 'inventory/Invalid Data', 'The query could not be understood: {reason}'),
  'identity/not-found': entry(
    404,
    'identity/Not Found',
    'External id not found; external id = ID [type={type}, value={value}]',
  ),
  'identity/reserved': entry(
    403,
    'identity/Forbidden',
    'The external ID {type} {value} belongs to a registered or announced device; only this device or an administrator can bind it',
    0x87,
  ),
  'identity/duplicate': entry(
    409,
    'identity/Duplicate',
    'External id already bound; external id = ID [type={type}, value={value}]',
  ),
  'measurement/not-found': entry(
    404,
    'measurement/Not Found',
    "Finding measurement from database failed : No measurement for id '{id}'!",
  ),
  'measurement/months': entry(
    429,
    'measurement/Too Many Requests',
    'More than {limit} months a second of one user, or {ofTenant} of its tenant, in measurements whose time is more than {days} days away from now; try again after {retryAfterSeconds} s',
    0x97,
  ),
  'measurement/too-many-months': entry(
    422,
    'measurement/Too Many Months',
    'The measurements have more than {maximum} different months whose time is more than {days} days away from now; send fewer months at a time',
    0x97,
  ),
  'event/not-found': entry(404, 'event/Not Found', "Finding event from database failed : No event for id '{id}'!"),
  'event/binary-exists': entry(409, 'Duplicate', 'Attachment already exists'),
  'event/binary-not-found': entry(404, 'Not Found', 'Attachment not found'),
  'event/chunk': entry(422, 'event/Invalid Data', 'The chunk {range} cannot be taken: {reason}'),
  'audit/not-found': entry(
    404,
    'audit/Not Found',
    "Finding audit record from database failed : No audit record for id '{id}'!",
  ),
  'alarm/not-found': entry(404, 'alarm/Not Found', "Finding alarm from database failed : No alarm for id '{id}'!"),
  'devicecontrol/not-found': entry(
    404,
    'devicecontrol/Not Found',
    "Finding device data from database failed : No operation for gid '{id}'!",
  ),
  'devicecontrol/request-not-found': entry(
    404,
    'devicecontrol/Not Found',
    'Could not find newDeviceRequest by ID {id}',
  ),
  'devicecontrol/request-duplicate': entry(
    422,
    'devicecontrol/Non Unique Result',
    'A newDeviceRequest with ID {id} exists already',
  ),
  'devicecontrol/not-pending': entry(
    422,
    'devicecontrol/Invalid Data',
    'The newDeviceRequest {id} is {status}; it can be accepted only when it is PENDING_ACCEPTANCE: the device has to ask for its credentials first',
  ),
  'devicecontrol/object-of-other': entry(
    422,
    'devicecontrol/Invalid Data',
    'The external ID {type} {value} is bound to the managed object {id} of {owner}; ' +
      'a user with ROLE_INVENTORY_ADMIN can register the device and hand the object over',
  ),
  'devicecontrol/security-token': entry(
    422,
    'devicecontrol/Invalid Data',
    'The security token is not the one that the device {id} has shown',
  ),
  'devicecontrol/request-blocked': entry(
    422,
    'devicecontrol/Invalid Data',
    'The request of the device {id} is blocked after {maximum} wrong security tokens ({limit}): delete it and create it again',
  ),
  'devicecontrol/security-token-missing': entry(
    422,
    'devicecontrol/Invalid Data',
    'The device {id} has shown no security token; this tenant requires one',
  ),
  'devicecontrol/registration-file': entry(
    422,
    'devicecontrol/Invalid Data',
    'The file with devices cannot be used: {reason}',
  ),
  'devicecontrol/bulk-not-found': entry(
    404,
    'devicecontrol/Not Found',
    'Finding bulk operation from database failed : Cannot find document with ID {id}',
  ),
  'devicecontrol/bulk-over': entry(
    422,
    'devicecontrol/Invalid Data',
    'The bulk operation {id} is {status}: it cannot be changed any more',
  ),
  'devicecontrol/bulk-too-many': entry(
    422,
    'devicecontrol/Invalid Data',
    'A tenant has at most {maximum} bulk operations of which operations are still to be created ({limit})',
  ),
  'devicecontrol/bulk-target': entry(422, 'devicecontrol/Invalid Data', 'The {name} {id} of a bulk operation {reason}'),
  'devicecontrol/no-agent': entry(
    422,
    'devicecontrol/Invalid Data',
    'The device {id} is not an agent and has no agent among its ancestors; add the fragment com_cumulocity_model_Agent to it to make it one',
  ),
  'devicecontrol/no-operation': entry(
    422,
    'devicecontrol/Invalid Data',
    'No operation found: {fragment} in status {status}',
  ),
  'source/not-found': entry(422, '{area}/Invalid Data', 'The source {id} does not exist'),
  'users/not-found': entry(404, 'users/Not Found', 'Error retrieving user {id}! : Cannot find document'),
  'users/duplicate': entry(409, 'users/Duplicate', 'The user {id} exists already'),
  'users/alias-duplicate': entry(409, 'users/Duplicate', 'The name {id} is taken by another user'),
  'users/email-missing': entry(
    422,
    'users/Unprocessable Entity',
    'A password can be sent only to a user with an email address',
  ),
  'users/wrong-password': entry(422, 'users/Unprocessable Entity', 'The current password is not right'),
  'users/current-password-missing': entry(
    422,
    'users/Unprocessable Entity',
    'Changing your password or email, mailing a link to set a password, or using one-time codes takes the current one, as currentUserPassword',
  ),
  'users/reset-token': entry(
    422,
    'users/Unprocessable Entity',
    'The token is not valid for this address, was used, or is too old',
  ),
  'users/totp-missing': entry(
    404,
    'users/Not Found',
    'Cannot validate TFA TOTP code: the user {id} has no TOTP secret',
  ),
  'users/totp-active': entry(
    409,
    'users/Conflict',
    'The user {id} logs in with TOTP codes already: an administrator has to revoke the secret first',
  ),
  'users/totp-fixed': entry(
    403,
    'users/Forbidden',
    'Two-factor authentication in use is ended by an administrator, who revokes the TOTP secret',
  ),
  'users/totp-wrong-code': entry(403, 'users/Forbidden', 'Invalid verification code'),
  'users/totp-not-verified': entry(
    422,
    'users/Unprocessable Entity',
    'The TOTP secret was not verified: show a code of it first',
  ),
  'users/reference': entry(422, 'users/Unprocessable Entity', 'The body names no {what}: it takes {form}'),
  'users/administrator-kept': entry(
    403,
    'users/Forbidden',
    'Access is denied: {what} would lock the tenant out; {rule}',
  ),
  'users/role-not-assigned': entry(404, 'users/Not Found', 'The user {id} does not have the role {role}'),
  'groups/not-found': entry(404, 'groups/Not Found', 'Error retrieving group with id {id}! : Cannot find document'),
  'groups/duplicate': entry(409, 'groups/Duplicate', 'The group {id} exists already'),
  'groups/name-kept': entry(403, 'groups/Forbidden', 'Access is denied: the group {name} keeps its name'),
  'groups/role-duplicate': entry(409, 'groups/Duplicate', 'The group {id} has the role {role} already'),
  'groups/role-not-assigned': entry(404, 'groups/Not Found', 'The group {id} does not have the role {role}'),
  'groups/not-a-member': entry(404, 'groups/Not Found', 'The user {user} is not in the group {id}'),
  'roles/not-found': entry(404, 'Not Found', 'Cannot find the specified role.'),
  'inventory-roles/not-found': entry(404, 'users/Not Found', 'Cannot find inventory role {id}'),
  'inventory-roles/duplicate': entry(409, 'users/Duplicate', 'The inventory role {id} exists already'),
  'inventory-roles/too-many-assignments': entry(
    422,
    'users/Unprocessable Entity',
    'A user has at most {maximum} inventory assignments ({limit})',
  ),
  'inventory-roles/assignment-not-found': entry(
    404,
    'users/Not Found',
    'Cannot find inventory assignment {id} of user {user}',
  ),
  'login/bad-request': entry(400, 'LoginOptions/Bad Request', '{reason}'),
  'login/locked': entry(
    401,
    'security/Unauthorized',
    'Too many wrong passwords: the account is locked for {seconds} s ({limit})',
    0x86,
  ),
  'login/address-locked': entry(
    401,
    'security/Unauthorized',
    'Too many wrong passwords from this address: logins from it are locked for {seconds} s ({limit})',
    0x86,
  ),
  'login/tfa-code-required': entry(
    401,
    'security/Unauthorized',
    'Invalid credentials! : TFA TOTP code required.',
    0x86,
  ),
  'login/tfa-setup-required': entry(
    401,
    'security/Unauthorized',
    'Invalid credentials! : TFA TOTP setup required.',
    0x86,
  ),
  'login/tfa-code-wrong': entry(
    401,
    'security/Unauthorized',
    'Invalid credentials! : TFA TOTP code is not valid.',
    0x86,
  ),
  'login/tfa-code-used': entry(
    401,
    'security/Unauthorized',
    'Invalid credentials! : TFA TOTP code was used already: wait for the next one.',
    0x86,
  ),
  'login/tfa-locked': entry(
    401,
    'security/Unauthorized',
    'Too many wrong TFA TOTP codes: logging in is locked for {seconds} s ({limit})',
    0x86,
  ),
  'login/no-xsrf-token': entry(
    401,
    'security/Unauthorized',
    'A request with the cookie needs the header X-XSRF-TOKEN with the value of the cookie XSRF-TOKEN',
  ),
  'login/tenant-id-as-subdomain': entry(
    403,
    'security/Forbidden',
    'The tenant id {id} is not a domain: write it before the user name, {id}/<user>',
  ),
  'login/host-of-other-tenant': entry(
    403,
    'security/Forbidden',
    'This host is that of the tenant {called}, where no cookie of the tenant {id} counts: log in at a host of your own',
  ),
  'login/tenant-suspended': entry(401, 'security/Unauthorized', 'The tenant {id} is suspended', 0x87),
  'login/certificate': entry(
    401,
    'security/Unauthorized',
    'Invalid credentials! : The certificate is not accepted: {reason}',
    0x87,
  ),
  'login/certificate-missing': entry(
    401,
    'security/Unauthorized',
    'Invalid credentials! : No client certificate was shown',
    0x87,
  ),
  'login/certificates-unavailable': entry(
    403,
    'security/Forbidden',
    'Certificates are taken over HTTPS. Over HTTP a proxy has to check them, and --device-certificate-header to name the header that they come in',
    0x87,
  ),
  'login/option-not-found': entry(404, 'LoginOptions/Not Found', 'The login option {id} does not exist'),
  'login/option-duplicate': entry(409, 'LoginOptions/Duplicate', 'The login option {id} was set already: change it'),
  'login/option-restricted': entry(
    403,
    'LoginOptions/Forbidden',
    'The login option {id} can be changed by the management tenant only',
  ),
  'login/basic-forbidden': entry(
    401,
    'security/Unauthorized',
    'Invalid credentials! : The tenant takes no Basic authentication from this user agent (authenticationRestrictions)',
    0x86,
  ),
  'tenants/not-found': entry(404, 'security/Not Found', 'There is no tenant with id = {id}'),
  'tenants/duplicate': entry(409, 'tenants/Duplicate', 'There is a tenant with the {name} {value} already'),
  'tenants/too-many': entry(422, 'tenants/Unprocessable Entity', 'The server has at most {maximum} tenants ({limit})'),
  'tenants/too-many-below': entry(
    422,
    'tenants/Unprocessable Entity',
    'There are at most {maximum} tenants below {id} ({limit})',
  ),
  'tenants/too-large-below': entry(
    422,
    'tenants/Unprocessable Entity',
    'The customProperties of the tenants below {id} have at most {maximum} bytes together ({limit})',
  ),
  'tenants/has-subtenants': entry(
    409,
    'tenants/Conflict',
    'The tenant {id} has tenants below it, {child} for instance: delete them first',
  ),
  'tenants/indispensable': entry(422, 'tenants/Unprocessable Entity', 'The server cannot do without the tenant {id}'),
  'options/not-found': entry(404, 'options/Not Found', 'The option {category}/{key} does not exist'),
  'options/not-editable': entry(403, 'options/Forbidden', 'The option {category}/{key} is not editable'),
  'options/unknown-key': entry(
    422,
    'options/Invalid Data',
    'The category {category} has no key {key}; it takes {keys}',
  ),
  'options/too-many': entry(422, 'options/Unprocessable Entity', 'A tenant has at most {maximum} options ({limit})'),
  'options/too-large': entry(
    422,
    'options/Unprocessable Entity',
    'The options of a tenant have at most {maximum} bytes together ({limit})',
  ),
  'applications/not-found': entry(404, 'applications/Not Found', 'Could not find application by ID {id}'),
  'applications/duplicate': entry(
    409,
    'applications/Duplicate',
    'There is an application with the {name} {value} already',
  ),
  'applications/version-duplicate': entry(
    409,
    'applications/Duplicate',
    'The application {id} has the {what} {value} already',
  ),
  'applications/version-not-found': entry(
    404,
    'applications/Not Found',
    'Cannot find application version for this application',
  ),
  'applications/binary-not-found': entry(
    404,
    'applications/Not Found',
    'The application {application} has no binary {id}',
  ),
  'applications/latest': entry(
    409,
    'applications/Conflict',
    'The version {version} has the tag latest: give it to another one first',
  ),
  'applications/subscribed': entry(
    409,
    'applications/Conflict',
    'Tenants are subscribed to the application {id}, {tenant} for instance: use force=true',
  ),
  'applications/bad-request': entry(
    400,
    'applications/Bad Request',
    'The application {id} has the type {type}; {reason}',
  ),
  'applications/bootstrap-user': entry(
    403,
    'applications/Forbidden',
    'The bootstrap user of the application {id} may not change its {name}: that takes ROLE_APPLICATION_MANAGEMENT_ADMIN',
  ),
  'applications/unprocessable': entry(422, 'applications/Unprocessable Entity', '{reason}'),
  'applications/bad-archive': entry(422, 'applications/Unprocessable Entity', 'The archive cannot be used: {reason}'),
  'applications/manifest': entry(422, 'applications/Invalid Data', 'The manifest cannot be used: {reason}'),
  'applications/manifest-fields': entry(
    422,
    'applications/Invalid Data',
    'The manifest has wrong fields: {fields}. The first: {first}',
  ),
  'applications/too-many': entry(
    422,
    'applications/Unprocessable Entity',
    'There are at most {maximum} {what} ({limit})',
  ),
  'applications/too-many-of-tenant': entry(
    422,
    'applications/Unprocessable Entity',
    'A tenant has at most {maximum} applications ({limit})',
  ),
  'applications/too-large': entry(
    422,
    'applications/Unprocessable Entity',
    'An application, without its manifest and versions, has at most {maximum} bytes ({limit})',
  ),
  'applications/too-large-of-tenant': entry(
    422,
    'applications/Unprocessable Entity',
    'The applications of a tenant, with the manifests of their archives, have at most {maximum} bytes together ({limit})',
  ),
  'applications/no-file': entry(404, 'applications/Not Found', 'The application {contextPath} has no file {file}'),
  'applications/no-context-path': entry(
    404,
    'applications/Not Found',
    'No application of this tenant has the context path {contextPath}',
  ),
  'features/not-found': entry(404, 'tenant/Not Found', 'This server has no feature {key} (/features)'),
  'microservice/unavailable': entry(
    503,
    'microservice/Unavailable',
    'The microservice {contextPath} is not running here: this server keeps images but runs none',
  ),
  'applications/already-subscribed': entry(
    409,
    'applications/Duplicate',
    'The tenant {tenant} is subscribed to the application {id} already',
  ),
  'applications/not-subscribed': entry(
    404,
    'applications/Not Found',
    'The tenant {tenant} is not subscribed to the application {id}',
  ),
  'retention/not-found': entry(404, 'retention/Not Found', 'Retention rule not found'),
  'retention/run-not-found': entry(404, 'retention/Not Found', 'The retention run {id} does not exist'),
  'retention/not-editable': entry(403, 'retention/Forbidden', 'The retention rule {id} is not editable'),
  'retention/too-many': entry(
    422,
    'retention/Unprocessable Entity',
    'A tenant has at most {maximum} retention rules ({limit})',
  ),
  'retention/too-large': entry(
    422,
    'retention/Unprocessable Entity',
    'The retention rules of a tenant have at most {maximum} bytes together ({limit})',
  ),
  'retention/running': entry(409, 'retention/Conflict', 'The retention run {id} is under way'),
  'files/too-many-bytes': entry(
    422,
    'general/Unprocessable Entity',
    'The files of the tenant have {bytes} bytes, which is all that it may have ({limit}): delete binaries, attachments or archives',
  ),
  'files/too-many-of-user': entry(
    422,
    'general/Unprocessable Entity',
    'The files of this user have {bytes} bytes, which is all that one user may have here ({limit}): delete binaries, attachments or archives',
  ),
  'statistics/file-not-found': entry(404, 'statistics/Not Found', 'The statistics file {id} does not exist'),
  'statistics/busy': entry(
    503,
    'statistics/Service Unavailable',
    '{maximum} statistics files are being made already ({limit}): try again',
  ),
  'statistics/file-too-large': entry(
    422,
    'statistics/Unprocessable Entity',
    'A statistics file has at most {maximum} bytes ({limit}): ask for fewer days',
  ),
  'certificate/not-found': entry(
    404,
    'certificate/Not Found',
    'Cannot find certificate with fingerprint {fingerprint}.',
  ),
  'certificate/duplicate': entry(409, 'certificate/Duplicate', 'The certificate {fingerprint} is trusted already'),
  'certificate/too-many': entry(
    422,
    'certificate/Unprocessable Entity',
    'A tenant has at most {maximum} trusted certificates ({limit})',
  ),
  'certificate/too-many-revocations': entry(
    422,
    'certificate/Unprocessable Entity',
    'A tenant has at most {maximum} revoked certificates ({limit})',
  ),
  'certificate/code-expired': entry(
    422,
    'certificate/Unprocessable Entity',
    'The verification code cannot be used any more: make a new one',
  ),
  'certificate/wrong-signature': entry(
    422,
    'certificate/Unprocessable Entity',
    'The verification code is not signed with the private key of the certificate',
  ),
  'users/of-service': entry(
    403,
    'users/Forbidden',
    "The user {id} is that of the microservice {application}: its password and rights are the server's",
  ),
  'scoring/model-not-found': entry(404, 'scoring/Not Found', "Model '{name}' not found."),
  'scoring/model-exists': entry(409, 'scoring/Duplicate', "A model with the name '{name}' already exists."),
  'scoring/model-inactive': entry(400, 'scoring/Bad Request', "Model '{name}' is not active."),
  'scoring/model-refused': entry(400, 'scoring/Bad Request', "Model '{name}' cannot be used: {reason}"),
  'scoring/invalid-xml': entry(400, 'scoring/Bad Request', 'Invalid XML format.'),
  'scoring/invalid-content': entry(400, 'scoring/Bad Request', 'The file cannot be read: {reason}'),
  'scoring/empty-input': entry(400, 'scoring/Bad Request', 'Empty input stream.'),
  'scoring/invalid-csv': entry(400, 'scoring/Bad Request', 'Invalid CSV File : {reason}'),
  'scoring/bad-record': entry(400, 'scoring/Bad Request', 'Failed to parse input at record {record}.'),
  'scoring/bad-field': entry(400, 'scoring/Bad Request', "'{name}' is '{value}'; it may be {limit}"),
  'scoring/too-many': entry(
    400,
    'scoring/Bad Request',
    'A tenant has at most {maximum} of these ({limit}): delete some',
  ),
  'scoring/too-large': entry(
    400,
    'scoring/Bad Request',
    'These take at most {maximum} bytes of a tenant ({limit}): delete some, or send less',
  ),
  'scoring/too-many-bytes': entry(400, 'scoring/Bad Request', 'It has more than {maximum} bytes ({limit})'),
  'scoring/resource-not-found': entry(404, 'scoring/Not Found', "Resource file '{name}' not found"),
  'scoring/resource-exists': entry(409, 'scoring/Duplicate', "A resource file with the name '{name}' already exists."),
  'scoring/invalid-json': entry(400, 'scoring/Bad Request', 'Invalid json format.'),
  'scoring/invalid-training': entry(400, 'scoring/Bad Request', 'The series cannot be clustered: {reason}.'),
  'scoring/invalid-job': entry(400, 'scoring/Bad Request', '{reason}'),
  'scoring/target-not-found': entry(
    404,
    'scoring/Not Found',
    'Device or group with id {name} does not exist or it is invalid',
  ),
  'scoring/job-not-found': entry(404, 'scoring/Not Found', "Scoring job ID '{name}' not found."),
  'scoring/invalid-binding': entry(400, 'scoring/Bad Request', '{reason}'),
  'scoring/binding-not-found': entry(404, 'scoring/Not Found', "Binding with id '{name}' does not exist."),
  'scoring/run-not-found': entry(404, 'scoring/Not Found', 'Job Execution number {name} does not exist.'),
  'scoring/script-not-found': entry(404, 'scoring/Not Found', "Resource file '{name}' not found."),
  'scoring/resource-in-use': entry(
    500,
    'scoring/Internal Error',
    'The resource [{name}] is required by the Pipeline(s) [[{pipelines}]]. Please delete these pipeline(s) before deleting the resource [{name}].',
  ),
  'scoring/invalid-onnx': entry(400, 'scoring/Bad Request', 'Invalid onnx format.'),
  'scoring/invalid-python': entry(400, 'scoring/Bad Request', 'Invalid python format.'),
  'scoring/missing-modules': entry(
    400,
    'scoring/Bad Request',
    "The script '{name}' imports modules that the Python engine of this server lacks: {modules}",
  ),
  'scoring/no-python': entry(400, 'scoring/Bad Request', 'This server runs no Python scripts: {reason}'),
  'scoring/bad-input': entry(400, 'scoring/Bad Request', '{reason}'),
  'scoring/too-much': entry(400, 'scoring/Bad Request', '{reason} ({limit})'),
  'scoring/invalid-key': entry(400, 'scoring/Bad Request', "Invalid key '{key}' found. Valid keys are - {valid}."),
  'scoring/pipeline-not-found': entry(404, 'scoring/Not Found', "Pipeline '{name}' not found."),
  'scoring/pipeline-exists': entry(409, 'scoring/Duplicate', "A pipeline with the name '{name}' already exists."),
  'scoring/group-not-found': entry(404, 'scoring/Not Found', "Model group with name '{name}' does not exist."),
  'scoring/group-exists': entry(409, 'scoring/Duplicate', "A model group with the name '{name}' already exists."),
  'scoring/group-member': entry(
    400,
    'scoring/Bad Request',
    "The model '{name}' cannot be added to group because it is used in some other group.",
  ),
  'scoring/group-signature': entry(
    400,
    'scoring/Bad Request',
    "The models of a group have the same inputs and outputs; those of '{name}' differ from those of '{first}'.",
  ),
  'notifications/not-found': entry(
    404,
    'reliable-notification/Not Found',
    "Finding subscription from database failed : No subscription for id '{id}'!",
  ),
  'notifications/duplicate': entry(
    409,
    'reliable-notification/Duplicate',
    'There is a subscription {subscription} in the context {context} of this source already',
  ),
  'remote-access/not-found': entry(
    404,
    'remoteaccess/Not Found',
    'The device {device} has no remote access configuration {id}',
  ),
  'remote-access/too-many': entry(
    422,
    'remoteaccess/Unprocessable Entity',
    'There are at most {maximum} remote access configurations ({limit})',
  ),
  'remote-access/too-large': entry(
    422,
    'remoteaccess/Unprocessable Entity',
    'Remote access configurations have at most {maximum} bytes together ({limit})',
  ),
  'remote-access/key': entry(
    404,
    'remoteaccess/Not Found',
    'The connection key is unknown, was used before, or is older than {seconds} s',
  ),
  'remote-access/not-ssh': entry(
    422,
    'remoteaccess/Unprocessable Entity',
    'The remote access configuration {id} has the protocol {protocol}: a session of this kind is for SSH',
  ),
  'remote-access/path': entry(404, 'remoteaccess/Not Found', 'No tunnel begins at {path}'),
  'notifications/too-many': entry(
    422,
    'reliable-notification/Unprocessable Entity',
    'The tenant has {maximum} subscriptions, which is the bound ({limit}): delete some',
  ),
  'notifications/too-many-bytes': entry(
    422,
    'reliable-notification/Unprocessable Entity',
    'The subscriptions of the tenant come to {maximum} bytes, which is the bound ({limit}): delete some',
  ),
  'notifications/bad-token': entry(
    401,
    'security/Unauthorized',
    'The token of Notifications 2.0 is not one of this server, or has expired: make a new one',
  ),
  'notifications/invalid-token': entry(
    422,
    'reliable-notification/Invalid Data',
    'The token of Notifications 2.0 is not one of this tenant, or has expired: make a new one',
  ),
  'notifications/other-tenant': entry(
    403,
    'security/Forbidden',
    'The token of Notifications 2.0 is not one of the tenant that was called',
  ),
  'notifications/connected': entry(
    409,
    'reliable-notification/Conflict',
    'The subscriber {subscriber} is connected already: a token with shared true lets several clients act together',
  ),
  'notifications/bound': entry(
    503,
    'general/Service Unavailable',
    'No more consumers of notifications can connect now ({limit}): try again later',
  ),
  'notifications/too-many-of-source': entry(
    422,
    'reliable-notification/Unprocessable Entity',
    'There are {maximum} subscriptions of this source, or of the tenant, which is the bound ({limit}): delete some',
  ),
  'system-option/not-found': entry(404, 'options/Not Found', 'The option {category}/{key} does not exist'),
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
    if (this.code === 'general/busy' && PASSING.has(String(this.details['limit']).split(' ', 1)[0])) return 0x89;
    return (ERRORS[this.code] as ErrorEntry).mqttReason ?? 0x80;
  }
}

/** Limits of `general/busy` that are no quota (0x97): nothing is used up, and it passes by itself. */
const PASSING: ReadonlySet<string> = new Set([
  'journal/unavailable',
  'journal/unreachable',
  'authentication/checks-waiting',
  'commands/under-way',
  'commands/under-way-of-tenant',
  'commands/under-way-of-user',
  'identity/object-not-there',
  'records/changes-at-once',
]);

/** The longest value that a message repeats; the rest of a hostile value is cut. */
const VALUE_LENGTH_MAX = 200;

function fill(template: string, details: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
    if (!Object.hasOwn(details, name)) return whole;
    const text = String(details[name]);
    return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text;
  });
}

/** What to do about limits that a server of the cluster, or the journal's own bound, sets. */
const REMEDIES: Readonly<Record<string, string>> = {
  'journal/bytes': 'the journal has reached --journal-max-bytes',
  'journal/permission': 'the user of NATS may not write to the journal: see millrace doctor',
  'identity/object-not-there': 'the object of the serial is still being made, or was just deleted',
  'cluster/no-shard-role': 'no node of the cluster has the role shard: start one with --roles gateway,shard',
  'http/connections':
    'as many HTTP connections are open as --http-connections-max and the open files of the process allow',
  'http/connections-without-request':
    'the places for HTTP connections ran out, and this one had sent no whole request: send one at once',
  'http/connections-of-address': 'one address may have no more HTTP connections, by --http-address-connections-max',
  'exports/of-user': 'a user has at most 5 exports under way',
  'exports/of-tenant': 'a tenant has at most 10 exports under way',
  'exports/of-server': 'at most 20 exports are under way',
  'commands/under-way-of-user': 'the user has its share of 20,000 commands under way',
  'commands/under-way-of-tenant': 'the tenant has its share of 20,000',
  'history/queries-waiting': 'too many queries of the history wait',
  'history/queries-of-user': 'a user has at most 250 queries of the history waiting',
  'history/queries-wait': 'earlier queries took all turns for --history-query-max-ms; narrow dateFrom and dateTo',
  'clickhouse/free-bytes': 'the disk of ClickHouse has less free space than --disk-free-min-bytes',
  'retention/clock':
    'the clock of the server differs from the newest time in its journal; see its log, and --retention-clock-settle-ms',
  'journal/storage':
    'JetStream has no storage left for the journal, below --journal-max-bytes: its max_file_store, account or disk',
};

/** The limit with the setting that raises it. */
export const limitText = (limit: string): string =>
  Object.hasOwn(REMEDIES, limit) ? `${limit} (${REMEDIES[limit]})` : limit;

/** Limits that say that a disk is nearly full. */
const DISK_LIMITS: ReadonlySet<string> = new Set(['disk/free-bytes', 'clickhouse/free-bytes']);

/** The error of a limit that refuses writes for now: `disk/free-bytes`, `journal/bytes` or another name. */
export function refusedBy(limit: string): PlatformError {
  return new PlatformError(DISK_LIMITS.has(limit) ? 'general/disk-full' : 'general/busy', { limit: limitText(limit) });
}
