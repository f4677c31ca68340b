/** Schemas of answers about applications, and of the forms that upload them (docs/spec/applications.md). */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { APPLICATION_TYPES, AVAILABILITIES } from '../../model/entities/application.ts';
import {
  Binary,
  Count,
  Fragments,
  Link,
  OPEN,
  Text,
  Timestamp,
  collectionOf,
  entity,
  listOf,
  open,
  optional,
  ref,
} from '../../model/schema/parts.ts';

const Owner = open({ self: Link, tenant: open({ id: Text }) });
const Version = open({ version: Text, binaryId: Text, tag: optional(Type.Array(Text)), tags: Type.Array(Text) });
const Application = open({
  key: Text,
  name: Text,
  type: Type.Enum([...APPLICATION_TYPES]),
  availability: Type.Enum([...AVAILABILITIES]),
  owner: Owner,
  contextPath: optional(Text),
  roles: optional(Type.Array(Text)),
  requiredRoles: optional(Type.Array(Text)),
  activeVersionId: optional(Text),
  manifest: optional(Fragments),
  description: optional(Text),
  resourcesUrl: optional(Text),
  externalUrl: optional(Text),
  applicationVersions: optional(Type.Array(ref('applicationVersion'))),
});

/** Answers by vendor name. */
export const APPLICATION_ANSWER_SCHEMAS: Readonly<Record<string, TSchema>> = {
  application: entity(Application),
  applicationCollection: collectionOf('applications', ref('application')),
  applicationReference: open({
    self: Link,
    application: optional(ref('application')),
    waitingRoles: optional(Type.Array(Text)),
  }),
  applicationReferenceCollection: collectionOf('references', ref('applicationReference')),
  applicationBinary: entity(
    open({
      binaryId: optional(Text),
      name: Text,
      length: Count,
      created: Timestamp,
      contextPath: optional(Text),
      description: optional(Text),
      downloadUrl: Link,
    }),
  ),
  applicationBinaries: collectionOf('attachments', ref('applicationBinary')),
  applicationVersion: Version,
  applicationVersionCollection: listOf('applicationVersions', ref('applicationVersion')),
  applicationUser: Type.Object({ tenant: Text, name: Text, password: Text }),
  applicationUserCollection: listOf('users', ref('applicationUser')),
};

export const ArchiveForm = Type.Object(
  { file: Binary },
  { ...OPEN, description: 'A ZIP; of a microservice with its manifest and image.tar' },
);
export const FilesForm = Type.Object(
  {},
  { additionalProperties: Binary, description: 'A field for each path in the archive' },
);
export const VersionForm = Type.Object(
  { applicationBinary: Binary, applicationVersion: Type.String({ description: 'JSON with version and tags' }) },
  OPEN,
);
