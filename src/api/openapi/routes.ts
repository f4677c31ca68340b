/**
 * The description of the API, as JSON and as a page. To make one takes 10 ms and more, and strangers may ask for it: each
 * is made once, and all answers share its bytes.
 */
import { JSON_TYPE } from '../http/media-types.ts';
import { sendBytes } from '../request/reply.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { Fragments, Text, open } from '../../model/schema/parts.ts';
import { openApiDocument } from './openapi.ts';
import { openApiPage } from './page.ts';

const HTML_TYPE = 'text/html;charset=UTF-8';
/** Nothing but the page itself may be loaded or run. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** @param routes the whole table, also what is added to it later. */
export function openApiRoutes(routes: readonly Route[]): Route[] {
  let document: Buffer | undefined;
  let page: Buffer | undefined;
  return [
    {
      method: 'GET',
      path: '/openapi.json',
      area: 'system',
      access: 'public',
      summary: 'This API as OpenAPI 3.1',
      produces: ['json', 'vendor', 'html'],
      answers: [
        {
          status: 200,
          description: 'OpenAPI document',
          contentTypes: ['application/json'],
          json: open({ openapi: Text, info: Fragments, paths: Fragments }),
          example: { openapi: '3.1.0', info: {}, paths: {} },
        },
      ],
      handle: (request) => {
        // The brace that opens the document is before the servers, the only part that differs.
        document ??= Buffer.from(JSON.stringify(openApiDocument(routes, versionOf(request))).slice(1));
        const servers = Buffer.from(`{"servers":${JSON.stringify([{ url: request.baseUrl }])},`);
        return sendBytes(request, [servers, document], ['Content-Type', JSON_TYPE]);
      },
    },
    {
      method: 'GET',
      path: '/openapi',
      area: 'system',
      access: 'public',
      summary: 'This API as a page',
      produces: ['html', 'vendor', 'json', 'text'],
      answers: [{ status: 200, description: 'A page', contentTypes: ['text/html'] }],
      handle: (request) => {
        page ??= Buffer.from(openApiPage(routes, versionOf(request)));
        return sendBytes(request, [page], ['Content-Type', HTML_TYPE, 'Content-Security-Policy', PAGE_POLICY]);
      },
    },
  ];
}

const versionOf = ({ platform }: ApiRequest): string => platform.config.version ?? '0.0.0';
