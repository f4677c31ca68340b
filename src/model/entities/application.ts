/** Applications (docs/spec/applications.md): their records and the rules of their fields. */

export const APPLICATION_TYPES = ['EXTERNAL', 'HOSTED', 'MICROSERVICE', 'APAMA_CEP_RULE'] as const;
export type ApplicationType = (typeof APPLICATION_TYPES)[number];
export const AVAILABILITIES = ['PRIVATE', 'MARKET', 'SHARED'] as const;
export type Availability = (typeof AVAILABILITIES)[number];

/** An uploaded version, in the application. */
export interface ApplicationVersion {
  readonly version: string;
  readonly binaryId: string;
  readonly tags: readonly string[];
}

/** In the collection `application` of the whole server, by id. */
export interface StoredApplication {
  readonly id: string;
  /** Tenant id. */
  readonly owner: string;
  /** Its number: an id may be given to another tenant later. */
  readonly ownerNumber: number;
  readonly key: string;
  readonly name: string;
  readonly type: ApplicationType;
  readonly availability: Availability;
  readonly contextPath?: string;
  /** Of the microservice's own interface. */
  readonly roles?: readonly string[];
  /** That its service users get. */
  readonly requiredRoles?: readonly string[];
  /** Id of the attachment that is served. */
  readonly activeVersionId?: string;
  /** JSON text: as sent, or that of the active archive. */
  readonly manifest?: string;
  readonly versions?: readonly ApplicationVersion[];
  /** JSON text of further members as sent. */
  readonly doc: string;
}

/** An uploaded archive: in the same collection, by `attachmentKey`. */
export interface StoredAttachment {
  readonly id: string;
  readonly application: string;
  readonly name: string;
  /** Key in the blobs. */
  readonly blob: string;
  readonly bytes: number;
  /** ISO 8601. */
  readonly created: string;
  /** JSON text. */
  readonly manifest?: string;
}

export const ATTACHMENTS_PREFIX = 'a\n';
export const attachmentsOf = (application: string): string => `${ATTACHMENTS_PREFIX}${application}\n`;
export const attachmentKey = (application: string, id: string): string => `${attachmentsOf(application)}${id}`;

/** Records that stand for what no two applications of a tenant have. */
export function uniqueKeys({
  ownerNumber,
  key,
  name,
  contextPath,
}: StoredApplication): { readonly field: string; readonly value: string; readonly id: string }[] {
  const all = [
    ['key', key],
    ['name', name],
    ['contextPath', contextPath ?? ''],
  ] as const;
  return all
    .filter(([, value]) => value !== '')
    .map(([field, value]) => ({ field, value, id: uniqueKey(field, ownerNumber, value) }));
}
/** Of the records by name: each application has one. */
export const NAMES_PREFIX = 'name\n';
export const uniqueKey = (field: 'key' | 'name' | 'contextPath', ownerNumber: number, value: string): string =>
  `${field}\n${ownerNumber}\n${value}`;

/** Keys of content in the blobs that a record of the collection names: for the sweep. */
export function applicationBlobs(value: string, id: string): string[] {
  return id.startsWith(ATTACHMENTS_PREFIX) ? [(JSON.parse(value) as StoredAttachment).blob] : [];
}

export const KEY_LENGTH_MAX = 256;
/** One segment of a path; `@` separates a version from it. */
export const CONTEXT_PATH = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';
/** `/apps/public/<context path>/` leads to what `/apps/<context path>/` does: the context path of no web application. */
export const PUBLIC_PATH = 'public';
/** docs/spec/applications.md#fields: form ROLE_<AREA>_<LEVEL>. */
export const ROLE_FORM = '^ROLE_[A-Z0-9_]{1,120}$';
/** Of a version and of a tag. */
export const VERSION_FORM = '^[A-Za-z0-9.+-]{1,128}$';

/** In `subscription` of the tenant. */
export interface StoredSubscription {
  readonly application: string;
  readonly since: string;
  /**
   * Context path, or the name, when the tenant was subscribed: the category of options whose secret values the
   * microservice is trusted with.
   */
  readonly trusted?: string;
  /**
   * Required roles of a microservice that the tenant has agreed to: its service user has no others. Absent in records
   * of older servers: then they are those that the user has.
   */
  readonly granted?: readonly string[];
}
