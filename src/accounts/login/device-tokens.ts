/** Tokens that stand for the login of a device: for HTTP, until the time that its tenant sets (docs/spec/login.md#device-tokens). */
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Principal } from '../../model/access/principal.ts';
import { numberOption } from '../options/values.ts';
import { DEVICE_TOKEN_SECONDS, TOKEN_SECONDS, TOKEN_SECONDS_MIN } from './tokens.ts';
import type { Tokens } from './tokens.ts';

const LIFESPAN = ['oauth.internal', 'device-token.lifespan.seconds'] as const;
const SECONDS = { minimum: TOKEN_SECONDS_MIN, maximum: TOKEN_SECONDS, otherwise: DEVICE_TOKEN_SECONDS } as const;

/**
 * @param principal as it has logged in. @param audience the domain that was called.
 * @returns undefined when the user may not log in any more.
 */
export async function deviceToken(
  { documents, tokens }: { readonly documents: Pick<DocumentReader, 'get'>; readonly tokens: Pick<Tokens, 'issue'> },
  principal: Principal,
  audience: string,
): Promise<string | undefined> {
  const seconds = await numberOption({ documents }, principal.tenantNumber, LIFESPAN, SECONDS);
  return (await tokens.issue(principal, seconds, audience))?.token;
}
