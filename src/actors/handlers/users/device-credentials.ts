/**
 * Ends an accepted request of a new device: the request goes and its user comes, together
 * (docs/spec/device-registration.md#credentials).
 */
import { COMMAND } from '../../../model/commands/kinds.ts';
import type { DeviceCredentialsIssue } from '../../../model/commands/users.ts';
import { joinKey, requestKey, REQUESTS, tenantKey } from '../../../model/entities/device-request.ts';
import { PlatformError } from '../../../model/errors.ts';
import type { ActorContext } from '../../runtime/context.ts';
import { TENANT_KEY } from '../../../model/commands/keys.ts';

export function issueDeviceCredentials(context: ActorContext, body: DeviceCredentialsIssue): undefined {
  const key = requestKey(body.id);
  // Of two polls at once one is first; the other one finds no request any more.
  if (context.get(REQUESTS, key) !== body.expected)
    throw new PlatformError('general/changed-meanwhile', { collection: REQUESTS, id: body.id });
  context.remove(REQUESTS, key);
  context.remove(REQUESTS, tenantKey(body.tenant, body.id));
  if (body.groupId !== undefined)
    context.put(REQUESTS, joinKey(body.tenant, body.user.userName), JSON.stringify({ groupId: body.groupId }));
  context.send({ kind: COMMAND.USER_PUT, tenant: body.tenant, key: TENANT_KEY, body: body.user });
  return undefined;
}
