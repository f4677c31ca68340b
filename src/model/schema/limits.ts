/** What a schema asks of a value, in words that stand behind "it takes". */

type Params = Readonly<Record<string, unknown>>;

const count = (number: unknown, what: string): string => `${number} ${Number(number) === 1 ? what : `${what}s`}`;
const entries = (number: unknown): string => `${number} ${Number(number) === 1 ? 'entry' : 'entries'}`;
const names = (value: unknown): string => [value ?? []].flat().join(', ');

/** By keyword of JSON Schema; the parameters are those of the validator. */
const WORDS: Readonly<Record<string, (params: Params) => string>> = {
  type: ({ type }) => `a value of type ${[type].flat().join(' or ')}`,
  enum: ({ allowedValues }) => `one of ${names(allowedValues)}`,
  const: ({ allowedValue }) => `${JSON.stringify(allowedValue)} alone`,
  minLength: ({ limit }) => (limit === 1 ? 'a text that is not empty' : `at least ${count(limit, 'character')}`),
  maxLength: ({ limit }) => `at most ${count(limit, 'character')}`,
  pattern: ({ pattern }) => `a text of the form ${pattern instanceof RegExp ? pattern.source : String(pattern)}`,
  format: ({ format }) => `a text of the format ${format}`,
  minimum: ({ limit }) => `at least ${limit}`,
  maximum: ({ limit }) => `at most ${limit}`,
  exclusiveMinimum: ({ limit }) => `more than ${limit}`,
  exclusiveMaximum: ({ limit }) => `less than ${limit}`,
  multipleOf: ({ multipleOf }) => `a multiple of ${multipleOf}`,
  minItems: ({ limit }) => `at least ${entries(limit)}`,
  maxItems: ({ limit }) => `at most ${entries(limit)}`,
  uniqueItems: () => 'entries that are all different',
  minProperties: ({ limit }) => `at least ${count(limit, 'member')}`,
  maxProperties: ({ limit }) => `at most ${count(limit, 'member')}`,
  additionalProperties: ({ additionalProperties }) => `no member ${names(additionalProperties)}`,
  boolean: () => 'no value: this member does not exist',
  propertyNames: ({ propertyNames }) => `no member ${names(propertyNames)}`,
};
/** Those that the routes' schemas may use. */
export const KEYWORDS_WITH_WORDS: ReadonlySet<string> = new Set(Object.keys(WORDS));

/** @param error of the validator; undefined when it says nothing. */
export function limitWords(error: { readonly keyword: string; readonly params: Params } | undefined): string {
  const words = error === undefined ? undefined : WORDS[error.keyword];
  return error === undefined || words === undefined ? 'another value' : words(error.params);
}
