/** Passwords that the server and its commands make can be given as an argument: `--password PASSWORD`, `-P PASSWORD`. */
import t from 'tap';
import { generatePassword } from '../../src/cli/remote/client.ts';
import { randomPassword } from '../../src/model/access/password-hash.ts';

t.test('a generated password does not begin as an option does', (t) => {
  const passwords = Array.from({ length: 2_000 }, () => [generatePassword(), randomPassword(18)]).flat();
  t.strictSame(
    passwords.filter((password) => password.startsWith('-')),
    [],
  );
  t.equal(new Set(passwords).size, passwords.length);
  t.end();
});
