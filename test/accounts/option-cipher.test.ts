/** Secrets at rest: what is encrypted comes back with the same key and place only. */
import t from 'tap';
import { TextCipher, openCipher } from '../../src/accounts/options/cipher.ts';

const KEY = 'a key of at least 32 characters, really';

t.test('encrypted and decrypted', async (t) => {
  const cipher = new TextCipher(KEY);
  for (const text of ['', 'x', 'ä€😀', 'v'.repeat(65_536)])
    t.equal(new TextCipher(KEY).decrypt(cipher.encrypt(text, 'p'), 'p'), text);
  t.not(cipher.encrypt('x', 'p'), cipher.encrypt('x', 'p'), 'never the same twice');
  t.notMatch(Buffer.from(cipher.encrypt('secret', 'p'), 'base64').toString('latin1'), 'secret');
});

t.test('another key, another place, or a changed text', async (t) => {
  const encrypted = new TextCipher(KEY).encrypt('secret', 'tenant 1');
  const bytes = Buffer.from(encrypted, 'base64');
  bytes[bytes.length - 1] ^= 1;
  for (const [cipher, text, place] of [
    [new TextCipher(`${KEY}!`), encrypted, 'tenant 1'],
    [new TextCipher(KEY), encrypted, 'tenant 2'],
    [new TextCipher(KEY), bytes.toString('base64'), 'tenant 1'],
    [new TextCipher(KEY), '', 'tenant 1'],
  ] as const) {
    t.throws(() => cipher.decrypt(text, place), { message: /cannot be decrypted/ });
  }
});

t.test('the key of the setting, or one that is made once', async (t) => {
  const kept = new Map<string, string>();
  const secrets = {
    add: async (added: ReadonlyMap<string, string>) => {
      for (const [name, value] of added) kept.set(name, value);
    },
    read: async (name: string) => kept.get(name),
  };
  const encrypted = (await openCipher(undefined, secrets)).encrypt('x', 'p');
  t.same([...kept.keys()], ['secret-key']);
  t.equal((await openCipher(undefined, secrets)).decrypt(encrypted, 'p'), 'x', 'also after a restart');
  t.throws(() => new TextCipher(KEY).decrypt(encrypted, 'p'));
  const given = await openCipher(KEY, secrets);
  t.equal(given.decrypt(new TextCipher(KEY).encrypt('y', 'p'), 'p'), 'y');
  t.equal(given.decrypt(encrypted, 'p'), 'x', 'with the setting what the generated key has encrypted is read');
  t.equal(new TextCipher(KEY).decrypt(given.encrypt('z', 'p'), 'p'), 'z', 'and nothing more is encrypted with that');
});
