/** Fields of CSV files that people open with a spreadsheet. */
import t from 'tap';
import { csvField, csvText } from '../../src/model/documents/csv.ts';

t.test('quoted where it has to be', async (t) => {
  for (const [text, want] of [
    ['', ''],
    ['a', 'a'],
    ['a,b', '"a,b"'],
    ['a"b', '"a""b"'],
    ['a\nb', '"a\nb"'],
    ['a;=1', '"a;=1"'],
    ['a\t=1', '"a\t=1"'],
    ['=1', '=1'],
  ])
    t.equal(csvField(text), want);
});

t.test('no text is a formula, numbers are numbers', async (t) => {
  const formulas: [string, string][] = [
    ['=1+1', "'=1+1"],
    ['=HYPERLINK("http://evil.example","a")', '"\'=HYPERLINK(""http://evil.example"",""a"")"'],
    ['+1-1', "'+1-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ["-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"],
    ['-', "'-"],
    ['\t=1', '"\'\t=1"'],
    ['\r=1', '"\'\r=1"'],
    ['+49 30 1', "'+49 30 1"],
    ['--1', "'--1"],
  ];
  for (const [text, want] of formulas) t.equal(csvText(text), want, text);
  for (const text of [
    '',
    'a',
    'a=1',
    '-5',
    '+5',
    '-0.5',
    '-.5',
    '1e-7',
    '-1E+21',
    '2026-11-23T06:00:00.000Z',
    '{"a":-1}',
    ' =1',
  ]) {
    t.equal(csvText(text), csvField(text), text);
  }
});
