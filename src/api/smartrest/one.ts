/**
 * SmartREST 1.0 over HTTP, `POST /s` (docs/spec/smartrest-one.md): rows that templates turn into requests of this
 * server. The status is 200 whatever the rows say.
 */
import Type from 'typebox';
import { BOOTSTRAP_ROLE } from '../../model/access/roles.ts';
import { encodeRow } from '../../smartrest/rows/csv-encode.ts';
import { shorten } from '../../smartrest/rows/error.ts';
import { parseAccept } from '../http/media-types.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { answerRows } from './row-port.ts';

export const TEXT_TYPE = 'text/plain;charset=UTF-8';
export const X_ID = 'x-id';

async function post(request: ApiRequest): Promise<Answer> {
  // The rows are the answer, not an entity.
  request.accept = parseAccept('*/*');
  const { utf8Body, contentType, platform, principal, mode, called, applicationKey, headers, exchange, owner } =
    request;
  if (owner.inner === undefined) throw new Error('templates do not ask for rows');
  if (utf8Body === undefined)
    return {
      status: 200,
      text: encodeRow([42, 1, `Unknown charset: ${shorten(contentType.charset)}`]),
      contentType: TEXT_TYPE,
    };
  const { remoteAddress, signal } = exchange;
  const sender = { principal, mode, called, applicationKey, remoteAddress, signal, xid: headers[X_ID] };
  const text = await answerRows(utf8Body, sender, platform, owner.inner);
  return { status: 200, text, contentType: TEXT_TYPE };
}

export function smartRestOneRoutes(): Route[] {
  return [
    {
      method: 'POST',
      path: '/s',
      area: 'smartrest',
      access: 'owner',
      roles: [BOOTSTRAP_ROLE],
      produces: ['text', 'vendor', 'json', 'csv', 'html', 'other'],
      summary: 'SmartREST 1.0: rows of the templates that X-Id names, templates themselves, or credentials (61)',
      headers: [X_ID],
      body: {
        form: 'bytes',
        isOptional: true,
        takesCharsets: true,
        contents: { 'text/plain': { schema: Type.String(), example: '300,4711,"Pump 1"' } },
      },
      answers: [
        {
          status: 200,
          description: 'Rows of comma-separated values',
          contentTypes: ['text/plain'],
          example: '801,1,4711',
        },
      ],
      handle: post,
    },
  ];
}
