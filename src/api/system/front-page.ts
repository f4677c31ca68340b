/** What a browser gets that opens the URL of the server. */
import { ANY_CONTENT } from '../http/media-types.ts';
import { text } from '../request/schema/query-parameters.ts';
import type { Route } from '../request/route.ts';
import { PASSWORD_PAGE } from '../users/password-page.ts';

/** A wheel of a mill. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="#0969da" stroke-width="2">' +
  '<circle cx="8" cy="8" r="6"/><path d="M8 2v12M2 8h12"/></svg>';

export function frontPageRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      area: 'system',
      access: 'public',
      summary:
        'Lead browsers to the console, others to this API as a page; with the token of a mailed link, the page to set a password',
      produces: ['html', 'vendor', 'json', 'text', 'csv', 'other'],
      query: {
        token: text('Of a link to set a password'),
        email: text('Address that the link was mailed to'),
        tenantId: text('Tenant of the user'),
      },
      answers: [
        { status: 302, description: 'To /console/ where the request takes HTML, else to /openapi' },
        { status: 200, description: 'The page to set a password', contentTypes: ['text/html'] },
      ],
      handle: (request) =>
        request.query.has('token')
          ? PASSWORD_PAGE
          : {
              status: 302,
              text: '',
              headers: [
                ...[
                  'Location',
                  `${request.baseUrl}${request.accept.order.includes('html') ? '/console/' : '/openapi'}`,
                ],
                ...['Vary', 'Accept'],
              ],
            },
    },
    {
      method: 'GET',
      path: '/favicon.ico',
      area: 'system',
      access: 'public',
      takesAnyQuery: true,
      summary: 'The icon of pages that name none of their own',
      produces: ANY_CONTENT,
      answers: [{ status: 200, description: 'The icon', contentTypes: ['image/svg+xml'], example: ICON }],
      handle: () => ({
        status: 200,
        contentType: 'image/svg+xml',
        text: ICON,
        headers: ['Cache-Control', 'public, max-age=86400', 'X-Content-Type-Options', 'nosniff'],
      }),
    },
  ];
}
