/** Bodies of the retention resources. */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { ANY, MAXIMUM_AGE_MAX, RETENTION_DATA_TYPES, RUN_STATUSES } from '../../model/entities/retention.ts';
import { Link, OPEN, collectionOf, ref } from '../../model/schema/parts.ts';

/** Of a type, source or fragment. */
const NAME_LENGTH_MAX = 256;

const Name = Type.Optional(
  Type.Union([Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }), Type.Null()], { description: '* for any' }),
);
const DataType = Type.Enum([...RETENTION_DATA_TYPES, ANY]);
const Age = Type.Integer({ minimum: 1, maximum: MAXIMUM_AGE_MAX, description: 'Days' });
const names = { fragmentType: Name, type: Name, source: Name };
export const RetentionRulePost = Type.Object({ dataType: DataType, maximumAge: Age, ...names }, OPEN);
export const RetentionRulePut = Type.Object(
  { dataType: Type.Optional(DataType), maximumAge: Type.Optional(Age), ...names },
  OPEN,
);
export const RetentionRunPost = Type.Object(
  {
    dryRun: Type.Optional(Type.Boolean()),
    rule: Type.Optional(
      Type.Object(RetentionRulePost.properties, {
        ...OPEN,
        description: 'With dryRun: counts what this rule alone would remove; it need not be saved',
      }),
    ),
  },
  OPEN,
);
export const RetentionEditable = Type.Object(
  { editable: Type.Union([Type.Boolean(), Type.Enum(['true', 'false'])]) },
  OPEN,
);

const Rule = Type.Object({
  id: Type.String(),
  self: Link,
  dataType: DataType,
  maximumAge: Age,
  fragmentType: Type.String(),
  type: Type.String(),
  source: Type.String(),
  editable: Type.Boolean(),
});
const Result = Type.Object(
  { ruleId: Type.String(), dataType: DataType, olderThan: Type.String(), count: Type.Integer(), done: Type.Boolean() },
  OPEN,
);
const Run = Type.Object(
  {
    id: Type.String(),
    self: Link,
    status: Type.Enum([...RUN_STATUSES]),
    trigger: Type.Enum(['SCHEDULE', 'REQUEST', 'DISK']),
    dryRun: Type.Boolean(),
    creationTime: Type.String(),
    endTime: Type.Optional(Type.String()),
    total: Type.Integer(),
    results: Type.Array(Result),
  },
  OPEN,
);

/** Answers by vendor name: components of /openapi.json. */
export const RETENTION_ANSWER_SCHEMAS: Readonly<Record<string, TSchema>> = {
  retentionRule: Rule,
  retentionRuleCollection: collectionOf('retentionRules', ref('retentionRule')),
  retentionRun: Run,
  retentionRunCollection: collectionOf('retentionRuns', ref('retentionRun')),
};
