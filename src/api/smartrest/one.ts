/**
 * SmartREST 1.0 over HTTP, `POST /s` (docs/spec/smartrest-one.md): rows that templates turn into requests of this
 * server. The status is 200 whatever the rows and the processing mode say.
 */
import Type from 'typebox';
import { BOOTSTRAP_ROLE } from '../../model/access/roles.ts';
import type { PlatformError } from '../../model/errors.ts';
import { encodeRow } from '../../smartrest/rows/csv-encode.ts';
import { shorten } from '../../smartrest/rows/error.ts';
import { parseAccept } from '../http/media-types.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { answerRows } from './row-port.ts';

export const TEXT_TYPE = 'text/plain;charset=UTF-8';
export const X_ID = 'x-id';

const rowAnswer = (fields: readonly (string | number)[]): Answer => ({
  status: 200,
  text: encodeRow(fields),
  contentType: TEXT_TYPE,
});

/** A wrong processing mode, and a body that is too long. */
function answerToRefusal({ code, message, status }: PlatformError): Answer | undefined {
  if (code === 'general/invalid-parameter') return rowAnswer([42, 1, message]);
  return code === 'general/payload-too-large' ? rowAnswer([50, 1, status]) : undefined;
}

async function post(request: ApiRequest): Promise<Answer> {
  // The rows are the answer, not an entity.
  request.accept = parseAccept('*/*');
  const { utf8Body, contentType, platform, principal, mode, called, applicationKey, headers, exchange, owner } =
    request;
  if (owner.inner === undefined) throw new Error('templates do not ask for rows');
  if (utf8Body === undefined) return rowAnswer([42, 1, `Unknown charset: ${shorten(contentType.charset)}`]);
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
      answerToRefusal,
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
