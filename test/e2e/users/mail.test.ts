/** Links to set a password go out over SMTP when a mail server is configured, and are in no log then. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import t from 'tap';
import { CLUSTER_NODES, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const mails: { to: string; text: string }[] = [];
const smtp = new SMTPServer({
  disabledCommands: ['STARTTLS'],
  allowInsecureAuth: true,
  logger: false,
  onAuth: ({ username, password }, _session, done) =>
    username === 'mill' && password === 'sec/ret' ? done(null, { user: username }) : done(new Error('wrong password')),
  onData: (stream, session, done) => {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    stream.on('end', () => {
      mails.push({ to: session.envelope.rcptTo[0].address, text: text.replaceAll('=\r\n', '').replaceAll('=3D', '=') });
      done();
    });
  },
});
await new Promise<void>((resolve) => {
  smtp.listen(0, '127.0.0.1', () => resolve());
});
const { port } = smtp.server.address() as AddressInfo;
/** The helper finds the port in the URL that a single server shows, which is the base URL. */
const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port: httpPort } = probe.address() as AddressInfo;
probe.close();
await once(probe, 'close');
const BASE_URL = `http://iot.example.com:${httpPort}`;
const server = await startServer(t, {
  flags: [
    '--smtp',
    `smtp://mill:sec%2Fret@127.0.0.1:${port}`,
    '--mail-from',
    'Mill <mill@example.com>',
    '--base-url',
    BASE_URL,
    ...(CLUSTER_NODES > 0 ? [] : ['--http-port', String(httpPort)]),
  ],
});
t.teardown(
  () =>
    new Promise<void>((resolve) => {
      smtp.close(() => resolve());
    }),
);

t.test('a forgotten password', async (t) => {
  await server.rest.create(`/user/${TENANT}/users`, {
    userName: 'ada',
    password: 'Analytical-1',
    email: 'ada@example.com',
  });
  const anonymous = async (method: string, body: object): Promise<number> =>
    (
      await fetch(`${server.url}/user/passwordReset?tenantId=${TENANT}`, {
        method,
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', 'x-forwarded-host': 'evil.example' },
      })
    ).status;
  t.equal(await anonymous('POST', { email: 'ada@example.com' }), 200);
  const mail = await eventually('the mail', () => mails.find(({ to }) => to === 'ada@example.com'));
  t.match(mail.text, /From: Mill <mill@example.com>/);
  t.ok(mail.text.includes(` ${BASE_URL}/?token=`), mail.text);
  t.notMatch(mail.text, /evil/, 'whoever asks has no say in the link');
  const token = /token=([\w-]+)&/.exec(mail.text)?.[1] ?? '';
  const page = await fetch(`${server.url}/?token=${token}`, { headers: { accept: 'text/html' } });
  t.match([page.status, page.headers.get('content-type')], [200, /^text\/html/]);
  const html = await page.text();
  const script = /<script>(.*)<\/script>/s.exec(html)?.[1] ?? '';
  const hash = createHash('sha256').update(script).digest('base64');
  t.match(
    page.headers.get('content-security-policy'),
    `script-src 'sha256-${hash}'`,
    'nothing but its own script runs',
  );
  t.notOk(html.includes(token), 'the page is the same for every link');
  t.equal(await anonymous('PUT', { email: 'ada@example.com', token, newPassword: 'Another-one-2' }), 200);
  t.equal((await new Rest(server.url, `${TENANT}/ada`, 'Another-one-2').get('/user/currentUser')).status, 200);
  await eventually('counted', async () => /millrace_mails_total\{result="sent"\} 1/.test(await server.metricsText()));
  t.notOk(
    server.complaints.some((line) => line.includes(token)),
    'nobody finds the link in the log',
  );
});
