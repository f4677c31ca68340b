/** What a browser gets that opens the URL of the server. */
import { text } from '../request/schema/query-parameters.ts';
import type { Route } from '../request/route.ts';
import { PASSWORD_PAGE } from '../users/password-page.ts';

export function frontPageRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      area: 'system',
      access: 'public',
      summary: 'Lead to this API as a page; with the token of a mailed link, the page to set a password',
      produces: ['html', 'vendor', 'json', 'text', 'csv', 'other'],
      query: {
        token: text('Of a link to set a password'),
        email: text('Address that the link was mailed to'),
        tenantId: text('Tenant of the user'),
      },
      answers: [
        { status: 302, description: 'To /openapi' },
        { status: 200, description: 'The page to set a password', contentTypes: ['text/html'] },
      ],
      handle: (request) =>
        request.query.has('token')
          ? PASSWORD_PAGE
          : { status: 302, text: '', headers: ['Location', `${request.baseUrl}/openapi`] },
    },
  ];
}
