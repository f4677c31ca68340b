/** Mails over SMTP: sent, tried again, given up, bounded; against a small SMTP server in this process. */
import { SMTPServer } from 'smtp-server';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { SmtpMailer } from '../../src/accounts/mail/smtp.ts';
import type { SmtpTls } from '../../src/accounts/mail/smtp.ts';
import type { MailResult } from '../../src/accounts/mail/mailer.ts';
import { until } from '../helpers/until.ts';

interface Received {
  readonly from: string;
  readonly to: string[];
  readonly text: string;
  readonly user: string;
}

/** @param refuse the answer to a recipient; undefined takes it. */
async function startSmtp(
  t: Test,
  refuse: (address: string) => number | undefined = () => undefined,
  port = 0,
): Promise<{ port: number; received: Received[] }> {
  const received: Received[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    onAuth: ({ username, password }, _session, done) =>
      password === 'secret' ? done(null, { user: username }) : done(new Error('wrong password')),
    onRcptTo: ({ address }, _session, done) => {
      const responseCode = refuse(address);
      done(responseCode === undefined ? null : Object.assign(new Error('refused'), { responseCode }));
    },
    onData: (stream, session, done) => {
      let text = '';
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text,
          user: String(session.user),
        });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', () => resolve());
  });
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
      }),
  );
  return { port: (server.server.address() as AddressInfo).port, received };
}

function newMailer(
  t: Test,
  port: number,
  further: { retryMs?: readonly number[]; waitingMax?: number; password?: string; tls?: SmtpTls } = {},
) {
  const results: MailResult[] = [];
  const counted: string[] = [];
  const logged: string[] = [];
  const write = (_details: object, message: string): void => {
    logged.push(message);
  };
  const log: any = { debug: write, info: write, warn: write, error: write };
  const { password = 'secret', ...settings } = further;
  const mailer = new SmtpMailer({
    url: `smtp://mill:${password}@127.0.0.1:${port}`,
    tls: 'auto',
    from: 'The Mill <mill@example.com>',
    count: (result) => results.push(result),
    refusals: { count: (limit) => counted.push(limit) },
    log,
    now: Date.now,
    ...settings,
  });
  t.teardown(() => mailer.stop());
  return { mailer, results, counted, logged };
}
const mailTo = (to: string) => ({ to, subject: 'Set your password', text: 'https://example.com/?token=abc\n\nä' });

t.test('a mail is sent, with login, sender and one recipient', async (t) => {
  const { port, received } = await startSmtp(t);
  const { mailer, results } = newMailer(t, port);
  await mailer.send(mailTo('ada@example.com'));
  await mailer.send(mailTo('a@example.com, b@example.com'));
  await until('both are sent or given up', () => results.length === 2);
  t.match(received[0], {
    from: 'mill@example.com',
    to: ['ada@example.com'],
    user: 'mill',
    text: /From: The Mill <mill@example.com>[\s\S]*Subject: Set your password/,
  });
  t.notOk(
    received.some(({ to }) => to.length > 1),
    'an address with a comma does not become two',
  );
  t.equal(mailer.waitingCount, 0);
});

t.test('the mail server says later: tried again, others go first', async (t) => {
  let tries = 0;
  const { port, received } = await startSmtp(t, (address) =>
    address === 'grey@example.com' && (tries += 1) <= 2 ? 451 : undefined,
  );
  const { mailer, results } = newMailer(t, port, { retryMs: [20, 20, 20] });
  await mailer.send(mailTo('grey@example.com'));
  await mailer.send(mailTo('ada@example.com'));
  await until('both are sent', () => received.length === 2);
  t.same(
    received.map(({ to }) => to[0]),
    ['ada@example.com', 'grey@example.com'],
  );
  await until('counted', () => results.length === 4);
  t.same([...results].sort(), ['retried', 'retried', 'sent', 'sent']);
});

t.test('refused for good: given up at once; away for too long: given up at last', async (t) => {
  const { port, received } = await startSmtp(t, (address) => (address === 'nobody@example.com' ? 550 : undefined));
  const refused = newMailer(t, port, { retryMs: [20] });
  await refused.mailer.send(mailTo('nobody@example.com'));
  await until('given up', () => refused.results.length === 1);
  t.same(refused.results, ['failed']);
  t.match(refused.logged, ['a mail could not be sent and is given up']);
  const away = newMailer(t, 1, { retryMs: [10, 10] });
  await away.mailer.send(mailTo('ada@example.com'));
  await until('given up', () => away.results.includes('failed'));
  t.same(away.results, ['retried', 'retried', 'failed']);
  const wrong = newMailer(t, port, { password: 'wrong', retryMs: [] });
  await wrong.mailer.send(mailTo('ada@example.com'));
  await until('given up', () => wrong.results.includes('failed'));
  t.same(received, []);
});

t.test('what waits is bounded, and told when it is lost', async (t) => {
  const { mailer, results, counted, logged } = newMailer(t, 1, { retryMs: [60_000], waitingMax: 2 });
  await mailer.send(mailTo('a@example.com'));
  await mailer.send(mailTo('b@example.com'));
  await t.rejects(mailer.send(mailTo('c@example.com')), { status: 503, message: /accounts\/mails-waiting/ });
  t.same(counted, ['accounts/mails-waiting']);
  await until('both were tried', () => results.filter((result) => result === 'retried').length === 2);
  await mailer.stop();
  t.ok(logged.includes('mails that waited for the mail server are not sent any more'));
});

t.test('one tenant leaves mails to the others, one receiver to the others of the tenant', async (t) => {
  const { mailer, counted } = newMailer(t, 1, { retryMs: [60_000], waitingMax: 20 });
  const send = (tenant: number, to: string): Promise<void> => mailer.send({ ...mailTo(to), tenant });
  for (let count = 0; count < 16; count += 1) await send(1, 'a@example.com');
  await t.rejects(send(1, 'a@example.com'), { status: 503, message: /accounts\/mails-waiting-of-user/ });
  for (let count = 0; count < 2; count += 1) await send(1, `b${count}@example.com`);
  await t.rejects(send(1, 'c@example.com'), { status: 503, message: /accounts\/mails-waiting-of-tenant/ });
  await send(2, 'd@example.com');
  t.same(counted, ['accounts/mails-waiting-of-user', 'accounts/mails-waiting-of-tenant']);
});

t.test('a mail server that offers no TLS gets neither password nor mail where TLS is required', async (t) => {
  const { port, received } = await startSmtp(t);
  const { mailer, results, logged } = newMailer(t, port, { tls: 'require', retryMs: [] });
  await mailer.send(mailTo('ada@example.com'));
  await until('given up', () => results.includes('failed'));
  t.same([received, logged.length], [[], 1]);
  const local = newMailer(t, port, { tls: 'auto', retryMs: [] });
  await local.mailer.send(mailTo('ada@example.com'));
  await until('sent on this machine', () => local.results.includes('sent'));
});
