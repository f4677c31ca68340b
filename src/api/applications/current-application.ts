/** What a microservice asks for with its own users (docs/spec/microservices.md#current-application). */
import Type from 'typebox';
import type { StoredApplication } from '../../model/entities/application.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { findApplication } from '../../accounts/applications/applications.ts';
import { ApplicationPut, applicationText, settingsCategory } from './text.ts';
import { changeApplication } from './applications.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import { settingsOf } from './microservice-settings.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { applicationOfUser, serviceUsers } from '../../accounts/applications/service-users.ts';
import type { ServiceUserKind } from '../../accounts/applications/service-users.ts';

/** The application of the user. @throws PlatformError 403 for users of other kinds. */
async function current(request: ApiRequest, ...kinds: readonly ServiceUserKind[]): Promise<StoredApplication> {
  const user = await applicationOfUser(request.platform, request.principal);
  if (user === undefined || !kinds.includes(user.kind)) throw new PlatformError('security/forbidden');
  const stored = await findApplication(request.platform, user.application);
  if (stored === undefined) throw new PlatformError('applications/not-found', { id: user.application });
  return stored.application;
}

async function get(request: ApiRequest): Promise<Answer> {
  return found('application', applicationText(request, await current(request, 'bootstrap', 'service')));
}

/** The code of a microservice does not decide whose settings it reads. @throws PlatformError 403. */
function requireSamePlace(old: StoredApplication, next: StoredApplication): void {
  const { id } = old;
  if (old.contextPath !== next.contextPath)
    throw new PlatformError('applications/bootstrap-user', { id, name: 'contextPath' });
  if (settingsCategory(old) !== settingsCategory(next))
    throw new PlatformError('applications/bootstrap-user', { id, name: 'category of settings' });
}

async function put(request: ApiRequest): Promise<Answer> {
  const { id } = await current(request, 'bootstrap');
  return found(
    'application',
    applicationText(request, await changeApplication(request, id, request.members(), requireSamePlace)),
  );
}

async function subscriptions(request: ApiRequest): Promise<Answer> {
  const users = await serviceUsers(request.platform, request.principal, await current(request, 'bootstrap'));
  const self = `${request.baseUrl}/application/currentApplication/subscriptions`;
  return found('applicationUserCollection', JSON.stringify({ self, users }));
}

async function settings(request: ApiRequest): Promise<Answer> {
  const application = await current(request, 'bootstrap', 'service');
  return {
    status: 200,
    contentType: JSON_TYPE,
    text: JSON.stringify(await settingsOf(request, application, request.tenant)),
  };
}

export function currentApplicationRoutes(): Route[] {
  const common = { area: 'applications', access: 'user', isForServiceBootstrap: true } as const;
  const one = [{ status: 200, description: 'The application', mediaType: 'application' }];
  const path = '/application/currentApplication';
  const users = [
    { status: 200, description: 'A service user for each subscribed tenant', mediaType: 'applicationUserCollection' },
  ];
  return [
    {
      ...common,
      method: 'GET',
      path,
      summary: 'The application of the bootstrap or service user',
      answers: one,
      handle: get,
    },
    {
      ...common,
      method: 'PUT',
      path,
      summary: 'Change the application of the bootstrap user',
      body: { schema: ApplicationPut, mediaTypes: ['application'], example: { description: 'Counts' } },
      answers: one,
      handle: put,
    },
    {
      ...common,
      method: 'GET',
      path: `${path}/subscriptions`,
      summary: 'Service users of the application of the bootstrap user',
      answers: users,
      handle: subscriptions,
    },
    {
      ...common,
      method: 'GET',
      path: `${path}/subscription`,
      summary: 'The same by another name',
      answers: users,
      handle: subscriptions,
    },
    {
      ...common,
      method: 'GET',
      path: `${path}/settings`,
      summary: 'Settings of the application of the bootstrap or service user',
      answers: [
        {
          status: 200,
          description: 'Values by key',
          contentTypes: ['application/json'],
          json: Type.Record(Type.String(), Type.String()),
          example: { colour: 'red' },
        },
      ],
      handle: settings,
    },
  ];
}
