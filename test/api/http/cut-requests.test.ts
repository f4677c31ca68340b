/**
 * No answer depends on how a request was cut into reads: each request is sent cut in two at every byte, and byte by
 * byte.
 */
import t from 'tap';
import { answersToCuts } from '../../helpers/proxies/cut-requests.ts';
import { ADMIN, startApi } from '../helpers/api.ts';
import { ENGINES } from '../helpers/engines.ts';

const HEAD = `Host: h\r\nAuthorization: ${ADMIN}\r\n`;
const BODY = '{"name":"one","parts":[1,2]}';
/** With the status that each has, cut or not. */
const REQUESTS: Readonly<Record<string, { request: string; status: number | Readonly<Record<string, number>> }>> = {
  'a list with a query': {
    request: `GET /inventory/managedObjects?pageSize=5&type=c8y_Thing&query=name%20eq%20x HTTP/1.1\r\n${HEAD}\r\n`,
    status: 200,
  },
  'no credentials': { request: 'GET /alarm/alarms HTTP/1.1\r\nHost: h\r\n\r\n', status: 401 },
  preflight: {
    request:
      'OPTIONS /alarm/alarms HTTP/1.1\r\nHost: h\r\nOrigin: https://a.example\r\nAccess-Control-Request-Method: GET\r\n\r\n',
    status: 204,
  },
  'a body with a length': {
    request: `POST /event/events HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
    status: 422,
  },
  'a body in chunks': {
    request:
      `POST /event/events HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
      `${(10).toString(16)}\r\n${BODY.slice(0, 10)}\r\n${(BODY.length - 10).toString(16)}\r\n${BODY.slice(10)}\r\n0\r\n\r\n`,
    status: 422,
  },
  'another version': { request: 'GET /health HTTP/1.0\r\nHost: h\r\n\r\n', status: { uws: 505, node: 200 } },
};

for (const [name, library] of ENGINES) {
  t.test(`the engine ${name}`, async (t) => {
    const api = await startApi(t, { library, config: { trustsProxy: false } });
    for (const [what, { request, status }] of Object.entries(REQUESTS)) {
      const { whole, different } = await answersToCuts(api.port, request);
      t.equal(
        Number(whole.split(' ')[1]),
        typeof status === 'number' ? status : status[name],
        `${what}: ${whole.slice(0, 200)}`,
      );
      t.same(different.slice(0, 5), [], `${what}: ${different.length} of ${request.length} cuts have another answer`);
    }
  });
}
