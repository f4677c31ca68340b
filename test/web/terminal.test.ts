/** The terminal of the console without a browser: the screen, Telnet's negotiation, keys, and lines for ports without echo. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ROOT } from '../helpers/root.ts';
import { BOLD, INVERSE, PLAIN, TRUE_COLOUR } from '../../web/screens/operations/device/terminal/cells.ts';
import {
  BUDGET_MS,
  Inflow,
  SLICE_BYTES,
  WAITING_BYTES_MAX,
} from '../../web/screens/operations/device/terminal/inflow.ts';
import { controlOf, keyText, pasteText } from '../../web/screens/operations/device/terminal/keys.ts';
import { LineEditor } from '../../web/screens/operations/device/terminal/lines.ts';
import { LINES_MAX, Screen } from '../../web/screens/operations/device/terminal/screen.ts';
import { Telnet } from '../../web/screens/operations/device/terminal/telnet.ts';
import { colourText } from '../../web/screens/operations/device/terminal/view.tsx';

const ESC = '\u001b';
const CSI = `${ESC}[`;

/** A small screen after `text`. */
function drawn(text: string, columns = 10, rows = 4): Screen {
  const screen = new Screen(columns, rows);
  screen.write(text);
  return screen;
}

const shown = (text: string, columns?: number, rows?: number): string[] =>
  drawn(text, columns, rows).text.trimEnd().split('\n');

t.test('text, ends of lines, tabs and the last column', async (t) => {
  t.same(shown('one\r\ntwo\nx\by'), ['one', 'two', '   y']);
  t.same(shown('a\tb\rc'), ['c       b']);
  t.same(shown('0123456789'), ['0123456789'], 'the cursor waits at the last column');
  t.same(shown('0123456789\r\nx'), ['0123456789', 'x'], 'and no line is empty then');
  t.same(shown('0123456789ab'), ['0123456789', 'ab']);
  t.same(shown(`${CSI}?7l0123456789ab`), ['012345678b'], 'without wrapping');
});

t.test('the cursor is moved, and what is drawn is erased', async (t) => {
  t.same(shown(`${CSI}2;3Hx${CSI}Ay${CSI}3Dz${CSI}Bw`), [' z y', '  w']);
  t.same(shown(`abcdef${CSI}3G${CSI}K`), ['ab']);
  t.same(shown(`abcdef${CSI}3G${CSI}1K`), ['   def']);
  t.same(shown(`a\r\nb\r\nc${CSI}2;1H${CSI}J`), ['a']);
  t.same(shown(`a\r\nb\r\nc${CSI}2;1H${CSI}1J`), ['', '', 'c']);
  t.same(shown(`abcdef${CSI}2G${CSI}2P`), ['adef']);
  t.same(shown(`abcdef${CSI}2G${CSI}2@`), ['a  bcdef']);
  t.same(shown(`abcdef${CSI}2G${CSI}2X`), ['a  def']);
  t.same(shown(`abc${CSI}1G${CSI}4hxy${CSI}4lz`), ['xyzbc'], 'put in, then put over');
  t.same(shown(`-${CSI}5b`), ['------']);
  t.same(shown(`${CSI}99;99Hx`), ['', '', '', '         x']);
  t.same(shown(`ab${ESC}7\r\nc${ESC}8d`), ['abd', 'c']);
  const screen = drawn(`abc${CSI}44m${CSI}1;2H${CSI}K`);
  t.equal(screen.rows[0].pens[5].ground, 4, 'what is erased has the ground of now');
});

t.test('a region scrolls by itself, and lines are put in and taken out', async (t) => {
  const full = 'a\r\nb\r\nc\r\nd';
  t.same(shown(`${full}${CSI}2;3r${CSI}3;1H\nx`), ['a', 'c', 'x', 'd']);
  t.same(shown(`${full}${CSI}2;3r${CSI}2;1H${ESC}Mx`), ['a', 'x', 'b', 'd']);
  t.same(shown(`${full}${CSI}2;1H${CSI}Lx`), ['a', 'x', 'b', 'c']);
  t.same(shown(`${full}${CSI}2;1H${CSI}M`), ['a', 'c', 'd']);
  t.same(shown(`${full}${CSI}S`), ['b', 'c', 'd']);
  t.same(shown(`${full}${CSI}T`), ['', 'a', 'b', 'c']);
  t.same(drawn(`${full}${CSI}2;3r${CSI}3;1H\n\n`).kept.length, 0, 'lines of a region are not kept');
  t.same(
    drawn(`${full}\r\ne`).kept.map(({ cells }) => cells[0]),
    ['a'],
  );
});

t.test('a program has a screen of its own, and the shell has its lines back', async (t) => {
  const screen = drawn(`sh$ vi${CSI}?1049h${CSI}H${CSI}2Jtext\r\n\n\n\n\n~`);
  t.ok(screen.isAlternate);
  t.equal(screen.kept.length, 0);
  screen.resize(12, 3);
  screen.write(`${CSI}?1049l!`);
  t.equal(screen.text.trimEnd(), 'sh$ vi!');
  t.notOk(screen.isAlternate);
});

// What the programs wrote on 80 by 24, and what tmux shows of it.
for (const program of ['vim', 'less'])
  t.test(`${program} looks as in tmux, in whatever parts it comes`, async (t) => {
    const file = readFileSync(join(ROOT, `test/fixtures/terminal/${program}.json`), 'utf8');
    const { written, shown: expected } = JSON.parse(file) as { written: string; shown: string[] };
    t.same(shown(written, 80, 24), expected);
    const screen = new Screen(80, 24);
    for (const letter of written) screen.write(letter);
    t.same(screen.text.trimEnd().split('\n'), expected);
  });

t.test('colours of 16, 256 and 24 bits; wide letters, marks and lines', async (t) => {
  const { pens } = drawn(
    `${CSI}1;31ma${CSI}38;5;200;7mb${CSI}0;48;2;1;2;3mc${CSI}38:2::4:5:6md${CSI}me${CSI}58;5;9;97mf`,
  ).rows[0];
  t.match(pens[0], { ink: 1, flags: BOLD });
  t.match(pens[1], { ink: 200, flags: BOLD | INVERSE });
  t.match(pens[2], { ink: -1, ground: TRUE_COLOUR + 0x010203, flags: 0 });
  t.match(pens[3], { ink: TRUE_COLOUR + 0x040506 });
  t.match(pens[4], { ink: -1, ground: -1 });
  t.match(pens[5], { ink: 15, flags: 0 });
  t.same([9, 21, 255, TRUE_COLOUR + 0x010203].map(colourText), [
    'var(--ansi-9)',
    'rgb(0 0 255)',
    'rgb(238 238 238)',
    'rgb(1 2 3)',
  ]);
  t.same(drawn('日本').rows[0].cells.slice(0, 5), ['日', '', '本', '', ' ']);
  t.same(shown(`日本${CSI}2Gx`), [' x本'], 'no half of a letter stays');
  t.same(shown('12345678日9', 9), ['12345678', '日9']);
  t.same(drawn(`e\u0301${'\u0301'.repeat(99)}x`).rows[0].cells.slice(1, 2), ['x']);
  t.same(shown(`${ESC}(0lqk${ESC}(Bq\u000eq${ESC})0q\u000fq`), ['┌─┐qq─q']);
});

t.test('sequences that come in parts, that mean nothing and that never end', async (t) => {
  const screen = new Screen(20, 2);
  for (const letter of `a${CSI}1;31mb${ESC}]0;title${ESC}\\c${ESC}]52;c;aWQ=\u0007d${ESC}P+q544e${ESC}\\e${CSI}?12$pf${CSI}>4;2mg\u009bh`)
    screen.write(letter);
  t.equal(screen.text.trimEnd(), 'abcdefgh');
  screen.write(`\r${CSI}${'1;'.repeat(5_000)}mx${ESC}]8;;${'y'.repeat(200_000)}\u0007z`);
  t.match(screen.text, /y+z$/, 'text begins again');
  t.same(drawn(`${CSI}99999999999;0H${CSI}999999999b${CSI}0;0r${CSI}5;2rx`).cursor, { x: 1, y: 0 });
  for (let seed = 1, round = 0; round < 300; round++) {
    const parts = Array.from({ length: 60 }, () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % 3 === 0 ? '日' : String.fromCharCode(seed % 3 === 1 ? 0x1b : 0x20 + (seed % 95));
    });
    const wild = drawn(`${parts.join('')}${parts.map((part) => `${CSI}${seed % 9};${seed % 7}${part}`).join('')}`);
    wild.resize(2 + (seed % 12), 1 + (seed % 5));
    t.ok(
      wild.rows.every(
        ({ cells, pens }) =>
          cells.length === wild.columns && pens.length === wild.columns && !cells.includes(undefined!),
      ),
      `round ${round} keeps its shape`,
    );
  }
});

t.test('answers are fixed, few, and never a text of the device', async (t) => {
  const screen = drawn(`${CSI}c${CSI}>c${CSI}5n${CSI}2;3H${CSI}6n`);
  t.equal(screen.takeAnswer(), `${CSI}?62;22c${CSI}>0;10;0c${CSI}0n${CSI}2;3R`);
  t.equal(screen.takeAnswer(), '', 'once');
  screen.write(`${ESC}]0;rm -rf${ESC}\\${CSI}21t${CSI}18t${ESC}]10;?\u0007${ESC}P$qm${ESC}\\${CSI}x${ESC}Z\u0005`);
  t.equal(screen.takeAnswer(), '');
  screen.write(`${CSI}6n`.repeat(100_000));
  t.ok(screen.takeAnswer().length < 300);
});

t.test('what is kept has a bound', async (t) => {
  const screen = new Screen(80, 24);
  screen.write('y\r\n'.repeat(10_000));
  t.equal(screen.kept.length, LINES_MAX);
  t.ok(screen.takeSpoken().length <= 1_000);
  screen.write(`${CSI}3J`);
  t.equal(screen.kept.length, 0);
  screen.resize(10_000, 10_000);
  t.ok(screen.columns <= 500 && screen.rows.length <= 200);
});

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

t.test('a flood is read in slices, as many as a frame has time for', async (t) => {
  const screen = new Screen(10, 4);
  let nowMs = 0;
  // Each look at the clock takes a fifth of the budget.
  const inflow = new Inflow(screen, () => (nowMs += BUDGET_MS / 5));
  t.notOk(inflow.work(), 'nothing waits');
  inflow.push(utf8('日\r\n'.repeat(2 * SLICE_BYTES)));
  inflow.push(utf8('last'));
  let frames = 1;
  for (; inflow.work(); frames++) t.match(screen.text, /^(?:日\n)*日?$/, 'no letter is torn by the end of a slice');
  t.equal(frames, 3, 'of 11 slices each frame takes 5');
  t.equal(screen.text, '日\n日\n日\nlast');
  nowMs = Infinity;
  inflow.push(utf8('!'));
  t.notOk(inflow.work(), 'a frame that comes late takes one slice all the same');
  t.match(screen.text, /last!$/);
  inflow.push(utf8('more'));
  inflow.clear();
  t.notOk(inflow.work(), 'nothing is read after the end');
  t.notMatch(screen.text, /more/);
  t.equal(inflow.dropped, 0);
});

t.test('of a flood beyond the bound the oldest is dropped, counted, and no half sequence is read', async (t) => {
  const screen = new Screen(10, 4);
  const inflow = new Inflow(screen, () => 0);
  // The screen draws lines and corners, in bold, and has half a sequence; what is dropped ends in half of another one.
  inflow.push(utf8(`${CSI}1mone${ESC}(0${CSI}1;3`));
  inflow.work();
  const [first, half, rest] = [`1mtwo${CSI}4;`, '31mthree\r', '\nlq'];
  inflow.push(utf8(first + half + rest + '\0'.repeat(WAITING_BYTES_MAX - (first + half + rest).length)));
  t.equal(inflow.dropped, 0, 'so much may wait');
  inflow.push(utf8('\0'.repeat(first.length)));
  t.equal(inflow.dropped, first.length, 'as much goes as comes');
  while (inflow.work());
  t.equal(screen.text.trimEnd(), 'one\nlq');
  t.same(screen.rows[1].pens[0], PLAIN);
  t.equal(inflow.dropped, (first + half).length);
  // Larger than all that may wait: half a letter begins what stays.
  inflow.push(utf8(`é${CSI}3;1Hend${'\0'.repeat(WAITING_BYTES_MAX - 10)}`));
  while (inflow.work());
  t.equal(screen.text.trimEnd(), 'one\nlq\nend');
  t.equal(inflow.dropped, (first + half).length + 2);
});

t.test('a smaller screen keeps the line of the cursor', async (t) => {
  const screen = drawn('a\r\nb\r\nc\r\nd');
  screen.resize(10, 2);
  t.equal(screen.text, 'c\nd');
  t.same(screen.cursor, { x: 1, y: 1 });
  t.equal(screen.kept.length, 2);
  const short = drawn('a\r\nb');
  short.resize(10, 2);
  t.equal(short.text, 'a\nb');
  t.equal(short.kept.length, 0);
});

t.test('keys are what programs of xterm-256color expect', async (t) => {
  const sent = (key: string, more = {}, isApplication = false): string | undefined =>
    keyText({ key, ...more }, isApplication);
  t.equal(sent('ArrowUp'), `${CSI}A`);
  t.equal(sent('ArrowUp', {}, true), `${ESC}OA`);
  t.equal(sent('ArrowLeft', { ctrlKey: true }, true), `${CSI}1;5D`);
  t.same([sent('F1'), sent('F5'), sent('F12', { shiftKey: true })], [`${ESC}OP`, `${CSI}15~`, `${CSI}24;2~`]);
  t.same(
    [sent('Enter'), sent('Tab'), sent('Tab', { shiftKey: true }), sent('Backspace')],
    ['\r', '\t', `${CSI}Z`, '\u007f'],
  );
  t.same(
    [sent('c', { ctrlKey: true }), sent(' ', { ctrlKey: true }), sent('[', { ctrlKey: true })],
    ['\u0003', '\0', ESC],
  );
  t.equal(sent('b', { altKey: true }), `${ESC}b`);
  t.same(
    [
      sent('a'),
      sent('V', { ctrlKey: true, shiftKey: true }),
      sent('r', { metaKey: true }),
      sent('@', { ctrlKey: true, altKey: true }),
    ],
    [undefined, undefined, undefined, undefined],
    'these are the browser’s, or come as input',
  );
  t.equal(controlOf('ä'), undefined);
  t.equal(pasteText(`a\r\nb\n${CSI}201~c\u0003`, true), `${CSI}200~a\rb\r[201~c${CSI}201~`);
  t.equal(pasteText('a\tb', false), 'a\tb');
});

t.test('lines are mended here and sent when they end', async (t) => {
  const lines = new LineEditor();
  t.same(lines.write(`stax\u007f\u007fä${CSI}A`, '\n'), { sent: '', shown: 'stax\b \b\b \bä' });
  t.same(lines.write('t日\u007f\rnext', '\r\n'), { sent: 'stät\r\n', shown: 't日\b \b\b \b\r\nnext' });
  t.same(lines.write('\u0003', '\n'), { sent: '\u0003', shown: '\r\n' });
  t.same(
    lines.write('\u007f\r', '\n'),
    { sent: '\n', shown: '\r\n' },
    'nothing is left of the one that was interrupted',
  );
});

t.test('a line that was begun is not sent after a change to keys and back', async (t) => {
  const lines = new LineEditor();
  lines.isOn = true;
  lines.write('rebo', '\n');
  lines.isOn = true;
  t.equal(lines.write('ot\r', '\n').sent, 'reboot\n', 'the same mode again is no change');
  lines.write('rm ', '\n');
  lines.isOn = false;
  lines.isOn = true;
  t.equal(lines.write('ls\r', '\n').sent, 'ls\n');
});

const [IAC, DONT, DO, WONT, WILL, SB, SE] = [255, 254, 253, 252, 251, 250, 240];
const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);
const text = (read: { text: Uint8Array }): string => Buffer.from(read.text).toString('latin1');

t.test('Telnet is taken out of the stream, and answered once', async (t) => {
  const telnet = new Telnet();
  t.same(telnet.read(bytes(IAC, WILL, 1, IAC, DO, 34)).answer, bytes(IAC, DO, 1, IAC, WONT, 34));
  t.ok(telnet.isEchoing);
  t.same(telnet.read(bytes(IAC, DO, 34)).answer, bytes(), 'once');
  t.equal(text(telnet.read(bytes(104, IAC, SB, 34, 1, IAC))), 'h');
  t.equal(text(telnet.read(bytes(SE, 105, IAC, IAC, 13, 0))), 'i\u00ff\r');
  t.same(telnet.read(bytes(IAC, WONT, 1)).answer, bytes(IAC, DONT, 1));
  t.notOk(telnet.isEchoing);
  t.same(telnet.read(bytes(IAC, WILL, 1)).answer, bytes(IAC, DO, 1), 'for each password');
  t.same(telnet.write(bytes(1, 255)), bytes(1, 255, 255));
});

t.test('Telnet tells type and size of the screen when it is asked', async (t) => {
  const telnet = new Telnet(80, 24);
  t.same(telnet.resize(81, 25), bytes(), 'not before');
  t.same(telnet.read(bytes(IAC, DO, 31)).answer, bytes(IAC, WILL, 31, IAC, SB, 31, 0, 81, 0, 25, IAC, SE));
  t.same(telnet.resize(255, 300), bytes(IAC, SB, 31, 0, IAC, 255, 1, 44, IAC, SE));
  t.same(telnet.read(bytes(IAC, DO, 24)).answer, bytes(IAC, WILL, 24));
  const asked = [IAC, SB, 24, 1, IAC, SE];
  t.equal(
    Buffer.from(telnet.read(bytes(...asked)).answer).toString('latin1'),
    '\u00ff\u00fa\u0018\0xterm-256color\u00ff\u00f0',
  );
  t.ok(telnet.read(bytes(...Array.from({ length: 1_000 }, () => asked).flat())).answer.length < 300, 'not for ever');
});
