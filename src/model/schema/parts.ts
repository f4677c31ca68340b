/** What schemas of bodies and answers are made of (typebox). */
import Type from 'typebox';
import type { TSchema } from 'typebox';

/** Fragments: any further members. */
export const OPEN = { additionalProperties: true } as const;
export const open = (members: Readonly<Record<string, TSchema>>, description?: string): TSchema =>
  Type.Object({ ...members }, description === undefined ? OPEN : { ...OPEN, description });
export const nullable = (schema: TSchema): TSchema => Type.Union([schema, Type.Null()]);
export const optional = (schema: TSchema): TSchema => Type.Optional(schema);

export const Id = Type.Union([Type.String(), Type.Integer()], {
  description: 'Identifier; a decimal string, numbers are taken too',
});
export const Timestamp = Type.String({
  description: 'ISO 8601 with milliseconds and offset or Z',
  examples: ['2024-05-02T10:00:00.000Z'],
});
export const Link = Type.String({ format: 'uri' });
export const Text = Type.String();
export const Count = Type.Integer({ minimum: 0 });
/** Members that only their user knows. */
export const Fragments = open({});
/** The bytes of a file. */
export const Binary = Type.String({ format: 'binary' });

/** Another component of /openapi.json. */
export const ref = (name: string): TSchema => Type.Ref(`#/components/schemas/${name}`);
export const entity = (schema: TSchema): TSchema =>
  Type.Intersect([Type.Object({ id: Type.String(), self: Link }, OPEN), schema]);
/**
 * What POST and PUT answer with: an entity, or what the processing mode does not store, without links and with the id
 * null.
 */
export const written = (schema: TSchema): TSchema =>
  Type.Intersect([Type.Object({ id: nullable(Type.String()), self: optional(Link) }, OPEN), schema]);

const Statistics = Type.Object({
  currentPage: Type.Integer(),
  pageSize: Type.Integer(),
  totalPages: optional(nullable(Type.Integer())),
  totalElements: optional(nullable(Type.Integer())),
});
/** A page of a collection: `name` holds the items. */
export const collectionOf = (name: string, item: TSchema): TSchema =>
  open({
    self: Link,
    next: optional(Link),
    prev: optional(Link),
    statistics: optional(Statistics),
    [name]: Type.Array(item),
  });
/** Everything there is, without pages. */
export const listOf = (name: string, item: TSchema): TSchema =>
  open({ self: optional(Link), [name]: Type.Array(item) });
