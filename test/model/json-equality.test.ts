/** When two JSON texts say the same. */
import t from 'tap';
import { isSameJson } from '../../src/model/documents/json-equality.ts';

const pair = (left: string, right: string): string => `${left.slice(0, 60)} | ${right.slice(0, 60)}`;

t.test('notation, escapes and order do not count', async (t) => {
  const cases: [string, string][] = [
    ['1', '1.0'],
    ['100', '1E+2'],
    ['0.10', '1e-1'],
    ['0', '0.000e99'],
    ['9007199254740993', '9007199254740993.0'],
    ['1e400', '10.0e399'],
    ['-1', '-10e-1'],
    ['120', '12e1'],
    ['"Ü"', '"\\u00dc"'],
    ['"a/b"', '"a\\/b"'],
    ['{}', '{}'],
    ['[]', '[]'],
    ['true', 'true'],
    ['{"a":1,"b":[2,{"c":"Ü","d":null}]}', '{"b":[2.0,{"d":null,"c":"\\u00dc"}],"\\u0061":1e0}'],
    ['{"n":9007199254740993,"s":"1,2]"}', '{"s":"1\\u002c2]","n":9007199254740993.0}'],
    ['[1e400,{"a":"\\"12345678901234567890"}]', '[1.0e400,{"a":"\\"12345678901234567890"}]'],
    ['{"__proto__":{"a":1},"b":2}', '{"b":2,"__proto__":{"a":1.0}}'],
  ];
  for (const [left, right] of cases) {
    t.ok(isSameJson(left, right), pair(left, right));
    t.ok(isSameJson(right, left), pair(right, left));
  }
});

t.test('everything else does', async (t) => {
  const cases: [string, string][] = [
    ['1', '2'],
    ['1', '-1'],
    ['1', '"1"'],
    ['null', '0'],
    ['true', 'false'],
    ['""', 'null'],
    ['[]', '{}'],
    ['{"a":null}', '{}'],
    ['[1,2]', '[2,1]'],
    ['[1]', '[1,1]'],
    ['9007199254740993', '9007199254740992'],
    ['0.1', '0.10000000000000000001'],
    ['1e400', '1e401'],
    ['1e-400', '0'],
    ['1e-400', '1e-401'],
    ['1e99999999999999999', '1e99999999999999998'],
    ['"a"', '"\\u0062"'],
    ['"\\ud800"', '"\\ud801"'],
    ['{"n":9007199254740993}', '{"n":9007199254740992}'],
    ['[[1e400]]', '[[1e401]]'],
    ['{"a":9007199254740993}', '{"a":"9007199254740993e0"}'],
    ['{"a":0.12345678901234567}', '{"a":0.123456789012345671}'],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'],
    ['{"__proto__":{}}', '{}'],
  ];
  for (const [left, right] of cases) {
    t.notOk(isSameJson(left, right), pair(left, right));
    t.notOk(isSameJson(right, left), pair(right, left));
  }
});

t.test('of any length and depth', async (t) => {
  const zeros = '0'.repeat(1_000_000);
  t.ok(isSameJson(`1${zeros}`, `10${zeros}e-1`));
  t.notOk(isSameJson(`1${zeros}`, `10${zeros}`));
  t.ok(isSameJson(`{"a":0.${zeros}1,"b":"${zeros}"}`, `{"b":"${zeros}","a":0.${zeros}10}`));
  const deep = (number: string): string => `${'['.repeat(200)}${number}${']'.repeat(200)}`;
  t.ok(isSameJson(deep('12345678901234567890'), deep('1.234567890123456789e19')));
  t.notOk(isSameJson(deep('12345678901234567890'), deep('12345678901234567891')));
});
