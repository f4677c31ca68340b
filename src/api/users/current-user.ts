/** The user of the request (docs/spec/users.md#current-user). */
import { requireSmall } from '../../actors/handlers/users/user.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { UserPut } from '../../model/commands/users.ts';
import { joinMembers, stringMember } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import { FORWARDED_HEADERS } from '../request/login-caller.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { newPassword } from '../../accounts/passwords/chosen.ts';
import { confirmOfSession, leadsToPassword } from './passwords.ts';
import * as schemas from './schemas.ts';
import { loadUser, roleText, userText } from './text.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

/** What everybody may change of himself; all other members of a PUT are left as they are. */
const PROFILE: ReadonlySet<string> = new Set([
  'firstName',
  'lastName',
  'displayName',
  'email',
  'phone',
  'newsletter',
  'customProperties',
]);

/** Clients ask for `user` or for `currentUser`: both get the effective roles. */
async function get(request: ApiRequest): Promise<Answer> {
  const { principal } = request;
  const roles = [...(principal.ownRoles ?? principal.roles)].sort().map((role) => roleText(request, role));
  const text = await userText(request, await loadUser(request, principal.userName), [
    ['effectiveRoles', `[${roles.join(',')}]`],
  ]);
  return found('currentUser', text);
}

async function put(request: ApiRequest): Promise<Answer> {
  const { userName } = request.principal;
  const members = request.members();
  const password = stringMember(members, 'password');
  if (leadsToPassword(members, await loadUser(request, userName)))
    await confirmOfSession(request, stringMember(members, 'currentUserPassword'));
  const doc = joinMembers([...members].filter(([name]) => PROFILE.has(name)));
  requireSmall(doc);
  const body: UserPut = {
    userName,
    doc,
    mustExist: true,
    by: userName,
    ...(password === undefined
      ? {}
      : await newPassword(request.platform, request.principal, request.tenant, { userName, password })),
  };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, body);
  return get(request);
}

export function currentUserRoutes(): Route[] {
  const area = 'users';
  const answers = [{ status: 200, description: 'The current user with effectiveRoles', mediaType: 'currentUser' }];
  const body = {
    schema: schemas.CurrentUserUpdate,
    mediaTypes: ['currentUser', 'user'],
    example: { firstName: 'Ada' },
  };
  const roles = ['ROLE_USER_MANAGEMENT_OWN_ADMIN'];
  return [
    {
      method: 'GET',
      path: '/user/currentUser',
      area,
      access: 'user',
      isForServiceBootstrap: true,
      summary: 'The user of the request',
      answers,
      handle: get,
    },
    {
      method: 'PUT',
      path: '/user/currentUser',
      area,
      access: 'roles',
      roles,
      summary: 'Change your profile',
      headers: FORWARDED_HEADERS,
      body,
      answers,
      handle: put,
    },
    {
      method: 'PUT',
      path: '/user/currentUserPhone',
      area,
      access: 'roles',
      roles,
      summary: 'Change your phone number',
      headers: FORWARDED_HEADERS,
      body: { ...body, example: { phone: '+44 20 7946 0000' } },
      answers,
      handle: put,
    },
  ];
}
