/** Hashes of passwords as they are stored, and the threads that compute them. */
import t from 'tap';
import { stat } from 'node:fs/promises';
import { PasswordHashes } from '../../src/accounts/passwords/hashes.ts';
import {
  hashGenerated,
  matchesGenerated,
  newScrypt,
  parseScrypt,
  scryptText,
} from '../../src/model/access/password-hash.ts';

const TURN = { tenant: 1, account: 'a' };
const hashes = new PasswordHashes({ refusals: { count: () => undefined }, cost: 14, threads: 1 });
t.teardown(() => hashes.stop());
const verify = (password: string, stored: string): Promise<boolean> =>
  hashes.inTurn(TURN, (slow) => slow.verify(password, stored, 'chosen'));

t.test('a stored hash names its algorithm and parameters; those of older servers are read', async (t) => {
  const [one, two] = [await hashes.hash('grüße-1', 'chosen', TURN), await hashes.hash('grüße-1', 'chosen', TURN)];
  t.match(one, /^\$scrypt\$ln=14,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  t.not(one, two, 'each has a salt of its own');
  t.same([await verify('grüße-1', one), await verify('grüße-2', one)], [true, false]);
  // Of scrypt(N = 16384, r = 8, p = 1), as servers before this one stored it.
  const before = 'scrypt$AAECAwQFBgcICQoLDA0ODw==$ZSFNRJM9KM49dsGp7cKzI2U5PDA1QigT84ovcDjgi8k=';
  t.same([await verify('mill-Race-7', before), await verify('mill-Race-8', before)], [true, false]);
  const generated = hashGenerated('x');
  t.same(
    [
      matchesGenerated('x', generated),
      matchesGenerated('y', generated),
      matchesGenerated('x', one),
      await verify('x', generated),
    ],
    [true, false, false, false],
  );
  for (const stored of [
    '',
    '$',
    'scrypt$$',
    '$scrypt$ln=30,r=8,p=1$c2FsdHNhbHQ$AAAA',
    one.replace('p=1', 'p=99'),
    one.slice(0, -1),
    one.replace('scrypt', 'other'),
  ]) {
    t.equal(parseScrypt(stored), undefined, stored);
    t.notOk(await verify('', stored), stored);
  }
});

t.test('hashing takes none of the threads with which files are read and the journal is written', async (t) => {
  // One more than libuv has threads, each for twice as long as one above, with 16 MiB.
  const many = new PasswordHashes({ refusals: { count: () => undefined }, cost: 14, threads: 5 });
  t.teardown(() => many.stop());
  const slow = scryptText({ ...newScrypt({ ln: 14, r: 8, p: 2 }), key: Buffer.alloc(32, 1) });
  let done = 0;
  const all = Array.from({ length: 5 }, (_, index) =>
    many
      .inTurn(TURN, (work) => work.verify(`password${index}`, slow, 'chosen'))
      .then(() => {
        done += 1;
      }),
  );
  t.equal(many.runningCount, 5);
  for (let file = 0; file < 8; file += 1) await stat('/');
  t.equal(done, 0, 'files are looked at while all passwords are being hashed');
  await Promise.all(all);
});

t.test('a hash that cannot be computed fails, and the next one is computed', async (t) => {
  const broken = hashes.inTurn(TURN, () => Promise.reject(new Error('no')));
  await t.rejects(broken, { message: 'no' });
  t.ok(await verify('a', await hashes.hash('a', 'device', TURN)));
  t.same([hashes.waitingCount, hashes.runningCount], [0, 0]);
});

t.test('a stop fails what is computed', async (t) => {
  const stopped = new PasswordHashes({ refusals: { count: () => undefined }, cost: 14, threads: 1 });
  const running = stopped.hash('a', 'chosen', TURN);
  await stopped.stop();
  await t.rejects(running);
  await t.rejects(stopped.hash('a', 'chosen', TURN), { message: 'the server is stopping' });
});
