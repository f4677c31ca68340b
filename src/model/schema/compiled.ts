/** Schemas, compiled when the first value comes: a server that starts has hundreds of them, and needs few. */
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Validator } from 'typebox/compile';

export interface SchemaValidator<Schema extends TSchema> {
  Check(value: unknown): value is Static<Schema>;
  Errors: Validator['Errors'];
}

/** @returns the validator of the schema. */
export function compiledOnce<Schema extends TSchema>(schema: Schema): () => SchemaValidator<Schema> {
  let validator: SchemaValidator<Schema> | undefined;
  return () => (validator ??= Compile(schema) as unknown as SchemaValidator<Schema>);
}
