/** Query parameters that several resources have. */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import type { QueryParameter, QueryParameters } from './query-values.ts';

export const text = (description: string): QueryParameter => ({ schema: Type.String(), description });
export const flag = (description: string): QueryParameter => ({
  schema: Type.Boolean({ default: false }),
  description,
});
export const time = (description: string): QueryParameter => ({
  schema: Type.String({ format: 'date-time' }),
  description,
});
export const list = (schema: TSchema, description: string): QueryParameter => ({ schema, description, isList: true });

export const RANGE: QueryParameters = {
  dateFrom: time('Start of the range, inclusive'),
  dateTo: time('End of the range, inclusive'),
};
export const CREATED: QueryParameters = {
  createdFrom: time('Created not before'),
  createdTo: time('Created not after'),
};
export const LAST_UPDATED: QueryParameters = {
  lastUpdatedFrom: time('Last updated not before'),
  lastUpdatedTo: time('Last updated not after'),
};
export const SOURCE: QueryParameters = { source: text('Id of the managed object') };
export const HIERARCHY: QueryParameters = {
  withSourceAssets: flag('With source: also data of all assets below it'),
  withSourceDevices: flag('With source: also data of all devices below it'),
  withSourceChildren: flag('With source: also data of all objects below it, as both others together'),
};
/** Older versions of the Python library `c8y_api` send `None` when the caller asks for no order. */
export const REVERT: QueryParameters = { revert: { ...flag('The other order'), alsoTakes: 'None' } };
