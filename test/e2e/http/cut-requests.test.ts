/**
 * No answer depends on how a request was cut into reads: the server as it runs, and the nodes of a cluster on another
 * version of Node and both engines.
 */
import t from 'tap';
import { answersToCuts } from '../../helpers/proxies/cut-requests.ts';
import { PASSWORD, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const LOGIN = `Authorization: Basic ${Buffer.from(`t1/admin:${PASSWORD}`).toString('base64')}\r\n`;
const BODY = '{"type":"c8y_Cut"}';

/** The engines do not send the same headers. */
const statusAndBody = (answer: string): string =>
  `${answer.slice(9, 12)} ${answer.slice(answer.indexOf('\r\n\r\n') + 4)}`;

t.test('requests cut at every byte', async (t) => {
  const requests = {
    'a path': {
      request: `GET /identity/externalIds/c8y_Serial/nobody HTTP/1.1\r\nHost: h\r\n${LOGIN}\r\n`,
      expected: /^404 .*"error"/,
    },
    'a body': {
      request: `POST /event/events HTTP/1.1\r\nHost: h\r\n${LOGIN}Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
      expected: /^422 .*source/,
    },
  };
  for (const [what, { request, expected }] of Object.entries(requests)) {
    const { whole, different } = await answersToCuts(server.httpPort, request, statusAndBody);
    t.match(whole, expected, what);
    t.same(different.slice(0, 5), [], `${what}: ${different.length} of ${request.length} cuts have another answer`);
  }
});
