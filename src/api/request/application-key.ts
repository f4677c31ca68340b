/** Requests of applications name them by a header (docs/spec/conventions.md#application-key); audit records keep it. */

/** Both spellings; routes that read it list them in `headers`. */
export const APPLICATION_HEADERS: readonly string[] = ['x-platform-application-key', 'x-cumulocity-application-key'];
/** Longer keys are no keys. */
const KEY_LENGTH_MAX = 256;

/** @returns `{application}` for a request of an application, nothing for one of a device. */
export function applicationOf(request: { readonly applicationKey: string }): { readonly application?: string } {
  const { applicationKey } = request;
  return applicationKey === '' || applicationKey.length > KEY_LENGTH_MAX ? {} : { application: applicationKey };
}
