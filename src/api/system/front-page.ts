/** What a browser gets that opens the URL of the server. */
import { ANY_CONTENT } from '../http/media-types.ts';
import { text } from '../request/schema/query-parameters.ts';
import { sendBytes } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import { PASSWORD_PAGE } from '../users/password-page.ts';

/**
 * A wheel of a mill, a PNG of 32 pixels. A browser draws it anew at every change of the URL, and an SVG in the thread of
 * the page: 60 ms of the console's answer on a processor four times slower (Chromium 156, 2026-11-27).
 */
const ICON = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAgMAAAAOFJJnAAAADFBMVEUJadoJadoJadoJadqAciZYAAAAA3RSTlMAVaoLuSc5AAAA' +
    'i0lEQVR42n2PwQ3CMAxFTXvIIQePkBE6At0sbMIIHYGOkBG6QX2oEIKmn9qIBCHEPz3ZjvI+0Y8chntvEIDFBgCgI6eQbHO+2i5m' +
    'lph3wMTiobcnlgY9tSAWwkguK8RE/qbQTRUYFvkHftHj8PHKrQrHRO2mcBnrpy+N7S22mur8MNUiX+qUgrXyV55X3HKqKpT8AQAA' +
    'AABJRU5ErkJggg==',
  'base64',
);
const ICON_TYPE = 'image/png';

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
      answers: [
        {
          status: 200,
          description: 'The icon',
          contentTypes: [ICON_TYPE],
          example: 'bytes of a PNG',
        },
      ],
      handle: (request) =>
        sendBytes(request, [ICON], ['Content-Type', ICON_TYPE, 'Cache-Control', 'public, max-age=86400']),
    },
  ];
}
