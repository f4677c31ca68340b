/**
 * Filters of requests that change or delete all that they select: there, a filter without effect would do it to
 * everything.
 */
import { PlatformError } from '../../model/errors.ts';
import { HIERARCHY } from '../request/schema/query-parameters.ts';
import type { ParameterValues } from '../../history/parameters.ts';
import type { QueryParameters, QueryValues } from '../request/schema/query-values.ts';

/**
 * @param filters those of the route.
 * @returns the names of the given ones that select; none when none is given.
 * @throws PlatformError `general/invalid-parameter` for an empty one, and when those that are given only say what
 * another one means.
 */
export function selectingFilters(query: QueryValues, filters: QueryParameters): string[] {
  const given = Object.keys(filters).filter((name) => query.isGiven(name));
  const empty = given.find((name) =>
    filters[name].isList === true ? query.list(name).length === 0 : !query.has(name),
  );
  if (empty !== undefined) {
    throw new PlatformError('general/invalid-parameter', {
      name: empty,
      value: '',
      limit: 'a value: an empty filter would select everything',
    });
  }
  const names = given.filter((name) => !Object.hasOwn(HIERARCHY, name));
  if (names.length === 0 && given.length > 0) {
    const [name] = given;
    throw new PlatformError('general/invalid-parameter', {
      name,
      value: query.text(name) ?? '',
      limit: 'effect only together with source',
    });
  }
  return names;
}

/** Values of those of the filters that are given: times in ms since 1970, texts, and lists of texts. */
export function filterValues(query: QueryValues, filters: QueryParameters): ParameterValues {
  return Object.fromEntries(
    Object.entries(filters)
      .filter(([name]) => query.has(name))
      .map(([name, { schema, isList }]) => {
        if (isList === true) return [name, query.list(name)];
        if (schema.format === 'date-time') return [name, query.time(name)];
        const value = query.text(name) as string;
        return [name, schema.type === 'boolean' ? value.toLowerCase() : value];
      }),
  );
}
