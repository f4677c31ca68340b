/** What an SSH session asks and keeps: lines that are typed, sizes of the screen, host keys. */
import t from 'tap';
import { TypedLine, fingerprintOf, keptFingerprint, sizeOf } from '../../src/remote-access/ssh-login.ts';

t.test('sizes of a screen', async (t) => {
  t.strictSame(sizeOf('{"cols":80,"rows":24,"more":1}'), { cols: 80, rows: 24 });
  for (const bad of ['', '{', 'null', '1', '[]', '{"cols":80}', '{"cols":0,"rows":1}', '{"cols":1001,"rows":1}'])
    t.equal(sizeOf(bad), undefined, bad);
  for (const bad of ['{"cols":1.5,"rows":1}', '{"cols":"80","rows":24}', '{"cols":1e99,"rows":24}'])
    t.equal(sizeOf(bad), undefined, bad);
});

/** @returns what is shown, and the line. */
function typed(isShown: boolean, ...keys: string[]): readonly [shown: string, lines: (string | undefined)[]] {
  let shown = '';
  const lines: (string | undefined)[] = [];
  const line = new TypedLine(
    isShown,
    (text) => {
      shown += text;
    },
    (text) => lines.push(text),
  );
  for (const one of keys) line.type(one);
  return [shown, lines];
}

t.test('a typed line', async (t) => {
  t.strictSame(typed(false, '\x1b[200~secret\x1b[201~', '\x1b[A', '\r'), ['\r\n', ['secret']], 'pasted');
  t.strictSame(typed(true, 'ro', 'ox', '\x7f', 't\r'), ['roox\b \bt\r\n', ['root']]);
  t.strictSame(typed(false, 'secret\x7f', '\r'), ['\r\n', ['secre']], 'a hidden one');
  t.strictSame(typed(true, '\x7f', '\x1b[A', 'ä😀\b\t', '\n'), ['ä😀\b \b\r\n', ['ä']], 'whole letters, no other keys');
  t.strictSame(typed(false, 'a', '\x03'), ['\r\n', [undefined]], 'cancelled');
  t.strictSame(typed(false, 'a\rb\r'), ['\r\n', ['a']], 'one line');
  t.strictSame(typed(false, 'x'.repeat(2_000), '\r')[1], ['x'.repeat(1_024)], 'a bound');
});

t.test('host keys as they are kept', async (t) => {
  const key = Buffer.from('AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl', 'base64');
  const fingerprint = 'SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU';
  t.equal(fingerprintOf(key), fingerprint, 'that of github.com');
  t.equal(keptFingerprint(` ${fingerprint}\n`), fingerprint);
  const text = key.toString('base64');
  for (const line of [text, `ssh-ed25519 ${text} root@host`, `host ssh-ed25519 ${text}`])
    t.equal(keptFingerprint(line), fingerprint);
  t.equal(keptFingerprint('nonsense'), 'nonsense');
});
