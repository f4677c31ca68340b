/** Login attempts in the audit log (docs/spec/audit.md#records-of-the-server) and their bounds. */
import t from 'tap';
import { FAILED_USERS_MAX, LOGIN_AUDIT_LIMIT, LoginAudit, SUCCESS_PAUSE_MS } from '../../src/accounts/login/audit.ts';
import type { Command } from '../../src/model/commands/command.ts';
import type { RecordsChange } from '../../src/model/commands/records.ts';
import type { Log } from '../../src/ports/log.ts';

function open(fails = false): {
  audit: LoginAudit;
  written: string[];
  texts: string[];
  refused: string[];
  warned: object[];
  clock: { now: number };
} {
  const written: string[] = [];
  const texts: string[] = [];
  const refused: string[] = [];
  const warned: object[] = [];
  const clock = { now: 60_000 };
  const log: Log = {
    debug() {},
    info() {},
    warn: (details) => void warned.push(details as object),
    error() {},
    isLevelEnabled: () => true,
    child: () => log,
  };
  const request = async <Answer>(command: Command): Promise<Answer> => {
    const [entry] = (command.body as RecordsChange).audits ?? [];
    written.push(`${command.tenant} ${entry.user}: ${entry.activity}`);
    texts.push(entry.text);
    if (fails) throw new Error('busy');
    return undefined as Answer;
  };
  const audit = new LoginAudit({
    commands: { request },
    refusals: { count: (limit) => void refused.push(limit) },
    log,
    now: () => clock.now,
  });
  return { audit, written, texts, refused, warned, clock };
}

t.test('failed ones: the first of a user at once, the others of its minute as one with their number', async (t) => {
  const { audit, written, texts, refused } = open();
  for (let index = 0; index < 13; index += 1) audit.attempted(2, 'ada', false);
  audit.attempted(3, 'ada', false);
  for (const _ of [1, 2]) audit.attempted(2, 'bob', false);
  t.same(written, ['2 ada: Login failed', '3 ada: Login failed', '2 bob: Login failed']);
  audit.flush();
  t.same(texts.slice(3), [
    "12 further logins of user 'ada' failed within a minute",
    "Another login of user 'bob' failed within a minute",
  ]);
  audit.flush();
  t.equal(written.length, 5, 'once');
  for (let index = 0; index < FAILED_USERS_MAX + 3; index += 1) audit.attempted(2, `guess ${index}`, false);
  t.equal(written.length, 5 + FAILED_USERS_MAX);
  t.same(refused, [LOGIN_AUDIT_LIMIT, LOGIN_AUDIT_LIMIT, LOGIN_AUDIT_LIMIT]);
  audit.flush();
  audit.attempted(2, 'ada', false);
  t.equal(written.length, 6 + FAILED_USERS_MAX, 'the next minute');
});

t.test('successful ones: of people, now and then', async (t) => {
  const { audit, written, refused, clock } = open();
  for (const name of ['ada', 'ada', 'bob', 'device_1']) audit.attempted(2, name, true);
  t.same(written, ['2 ada: Login', '2 bob: Login']);
  clock.now += SUCCESS_PAUSE_MS;
  audit.attempted(2, 'ada', true);
  t.equal(written.length, 3);
  t.same(refused, []);
});

t.test('a record that cannot be written is in the log', async (t) => {
  const { audit, warned } = open(true);
  audit.attempted(2, 'x'.repeat(5_000), false);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  t.match(warned, [{ activity: 'Login failed', user: 'x'.repeat(200) }]);
});
