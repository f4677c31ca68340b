/** Documents come back exactly as they were sent. */
import t from 'tap';
import { PlatformError } from '../../src/model/errors.ts';
import {
  NESTING_MAX,
  compact,
  joinMembers,
  memberText,
  mergeMembers,
  parseMembers,
  requireShallow,
  splitElements,
  splitMembers,
  stringMember,
} from '../../src/model/documents/json-document.ts';
import { Random } from '../smartrest/random.ts';
import { rounds } from '../helpers/rounds.ts';

/** Without characters that end a line for some readers of the output. */
const name = (text: string): string => JSON.stringify(text.slice(0, 80)).replace(/[^ -~]/g, '?');

t.test('one member of a document', (t) => {
  const text = joinMembers(parseMembers('{"a":{"name":1},"names":2,"name":"x\\",\\"y","\\u00e4\\"":[3],"":4}'));
  for (const [member, value] of splitMembers(text)) t.equal(memberText(text, member), value, name(member));
  t.equal(memberText(text, 'nam'), undefined);
  t.equal(memberText('{}', 'name'), undefined);
  t.end();
});

t.test('what was sent comes back, without white space outside of strings', (t) => {
  const check = (sent: string, want: string = sent): void => {
    t.equal(joinMembers(parseMembers(sent)), want, name(sent));
  };
  check('{}');
  check(' {\t\r\n } ', '{}');
  check('{"b":1,"a":2,"10":3,"2":4,"1":5}');
  check('{"n":1.0,"big":9007199254740993,"huge":1e400,"tiny":-0.0e-400,"e":1E+2,"z":-0}');
  check('{"empty":{},"list":[],"nested":{"a":{},"b":[{}]},"c8y_IsDevice":{}}');
  check('{"__proto__":{"x":1},"constructor":2,"toString":null,"":0}');
  check('{"text":" a  b\\t\\n\\"\\\\ {[,:]} ","\\\\":"\\\\\\"","end":"\\\\"}');
  check('{ "a" : [ 1 , { "b c" : " d " } , "e , f" ] , "g" : true }', '{"a":[1,{"b c":" d "},"e , f"],"g":true}');
  check('{"umlaut":"Länge 温度 😀","温度":"\\u00e4\\ud83d\\ude00","\u2028":"\u2028\u2029\u00a0"}');
  check('{"value":"\\ud800","\\udc00x":"\\udfff","/":"\\/"}');
  check('{"a":1,"b":2,"a":3}', '{"a":3,"b":2}');
  check('{"a":1,"b":2,"\\u0061":3}', '{"a":3,"b":2}');
  check('{"__proto__":1,"__proto__":2}', '{"__proto__":2}');
  check('{"\\u0041\\n":1}', '{"A\\n":1}');
  t.end();
});

t.test('what is no JSON is not repeated: it may be a password', (t) => {
  for (const text of [
    '{"password":Sec12"}',
    `{"a":"${'x'.repeat(100)}","password":Sec12-secret,"b":"${'x'.repeat(100)}"}`,
    '{"password":"Sec12"',
    'Sec12',
    '{"password":"Sec12\t"}',
  ]) {
    t.throws(() => parseMembers(text), { code: 'general/bad-json' });
    try {
      parseMembers(text);
    } catch (error) {
      t.notMatch((error as Error).message, /ec12/, (error as Error).message);
    }
  }
  t.end();
});

t.test('JSON that is no object is refused with 422', (t) => {
  for (const [text, what] of [
    ['[]', 'an array'],
    [' [{"a":1}] ', 'an array'],
    ['1', 'a number'],
    ['"a"', 'a string'],
    ['null', 'null'],
    ['true', 'a boolean'],
  ]) {
    t.throws(
      () => parseMembers(text),
      { code: 'validation/not-an-object', status: 422, message: `The JSON is ${what}; it takes an object` },
      text,
    );
  }
  t.end();
});

t.test('what is no JSON is refused with 400', (t) => {
  const check = (text: string): void => {
    try {
      parseMembers(text);
      t.fail(`taken: ${name(text)}`);
    } catch (error) {
      t.ok(error instanceof PlatformError && error.code === 'general/bad-json', name(text));
    }
  };
  for (const text of [
    '',
    ' ',
    '{',
    '}',
    '{}{}',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '{"a":01}',
    '{"a":+1}',
    '{"a":.5}',
    '{"a":1.}',
    '{"a":NaN}',
    '{"a":"\t"}',
    '{"a":"\\x"}',
    '{"a":1}x',
    '\ufeff{}',
    '{\u00a0}',
    '{"a":1 "b":2}',
    '{\v}',
    '{"a"\f:1}',
    '{"a":"\\u12g4"}',
    '{"a":undefined}',
    '{/**/}',
  ])
    check(text);
  check(`{"a":${'['.repeat(NESTING_MAX)}${']'.repeat(NESTING_MAX)}}`);
  check(`{"a":${'{"b":'.repeat(NESTING_MAX)}1${'}'.repeat(NESTING_MAX)}}`);
  check(`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`);
  t.end();
});

t.test('nesting up to the bound is taken, brackets in strings do not count', (t) => {
  const deep = `{"a":${'['.repeat(NESTING_MAX - 1)}${']'.repeat(NESTING_MAX - 1)},"s":"${'{['.repeat(1_000)}"}`;
  t.equal(joinMembers(parseMembers(deep)), deep);
  t.end();
});

t.test('merge: a member replaces the old one as a whole, null removes it', (t) => {
  const check = (old: string, sent: string, want: string, changed = true): void => {
    const members = parseMembers(old);
    t.equal(mergeMembers(members, parseMembers(sent)), changed, `${old} + ${sent} changed`);
    t.equal(joinMembers(members), want, `${old} + ${sent}`);
  };
  check('{"a":1,"b":2}', '{"a":3}', '{"a":3,"b":2}');
  check('{"a":1}', '{"b":2}', '{"a":1,"b":2}');
  check('{"a":{"x":1,"y":2}}', '{"a":{"x":3}}', '{"a":{"x":3}}');
  check('{"a":1,"b":2}', '{"a":null}', '{"b":2}');
  check('{"a":1}', '{"b":null}', '{"a":1}', false);
  check('{"a":1}', '{"a":1}', '{"a":1}', false);
  check('{"a":1}', '{}', '{"a":1}', false);
  check('{"a":{"b":1}}', '{ "a" : { "b" : 1 } }', '{"a":{"b":1}}', false);
  check('{"a":1}', '{"a":1.0}', '{"a":1}', false);
  check(
    '{"a":"\u00dc/","b":{"x":[1e2,{"y":null}],"z":"A"}}',
    '{"b":{"z":"\\u0041","x":[100.0,{"y":null}]},"a":"\\u00dc\\/"}',
    '{"a":"\u00dc/","b":{"x":[1e2,{"y":null}],"z":"A"}}',
    false,
  );
  check('{"a":1,"b":"\u00dc"}', '{"b":"\\u00dc","a":2}', '{"a":2,"b":"\u00dc"}');
  check('{"a":1}', '{"a":"null"}', '{"a":"null"}');
  check('{"a":1}', '{"a":{"b":null}}', '{"a":{"b":null}}');
  check('{"a":1}', '{"__proto__":{"b":1}}', '{"a":1,"__proto__":{"b":1}}');
  check('{"__proto__":1,"a":1}', '{"__proto__":null}', '{"a":1}');
  t.end();
});

t.test('members that hold a string', (t) => {
  const members = parseMembers('{"s":"a\\"\\u00e4","n":1,"o":{},"l":["x"],"z":null,"e":""}');
  const cases: [string, string | undefined][] = [
    ['s', 'a"ä'],
    ['e', ''],
    ['n', undefined],
    ['o', undefined],
    ['l', undefined],
    ['z', undefined],
    ['?', undefined],
  ];
  for (const [name, want] of cases) t.equal(stringMember(members, name), want, name);
  t.same(splitElements('[]'), []);
  t.same(splitElements('[1,{"a":[1,2]},"x,]",[],null]'), ['1', '{"a":[1,2]}', '"x,]"', '[]', 'null']);
  t.end();
});

t.test('random documents: split, join and compact agree with JSON.parse', (t) => {
  const random = new Random();
  const texts = [
    '',
    'a',
    'b c',
    '"',
    '\\',
    '\\"',
    '\n',
    '10',
    '2',
    '__proto__',
    'ä温😀',
    '\ud800',
    ',',
    ':',
    '{',
    '}',
    '[',
    ']',
    ' \\ ',
    '\u0000',
  ];
  const space = (): string => random.pick(['', '', '', ' ', '\n\t', '\r ']);
  const value = (depth: number): string => {
    const kind = random.below(depth > 3 ? 4 : 6);
    if (kind === 0) return random.pick(['0', '-1.50', '1e3', '12345678901234567890', '0.1']);
    if (kind === 1) return random.pick(['true', 'false', 'null']);
    if (kind <= 3) return JSON.stringify(random.pick(texts) + random.pick(texts));
    const count = random.below(4);
    const items = Array.from({ length: count }, () => `${space()}${value(depth + 1)}${space()}`);
    if (kind === 4) return `[${count === 0 ? space() : items.join(',')}]`;
    const members = items.map((item) => `${space()}${JSON.stringify(random.pick(texts))}${space()}:${item}`);
    return `{${count === 0 ? space() : members.join(',')}}`;
  };
  for (let round = 0; round < rounds(2_000, 5_000); round += 1) {
    const count = random.below(6);
    const parts = Array.from({ length: count }, () => `${space()}${JSON.stringify(random.pick(texts))}:${value(0)}`);
    const text = `{${parts.join(',')}${space()}}`;
    const want = JSON.parse(text) as Record<string, unknown>;
    const members = parseMembers(text);
    const again = joinMembers(members);
    const isRight =
      again === joinMembers(splitMembers(again)) &&
      compact(again) === again &&
      JSON.stringify(JSON.parse(again)) === JSON.stringify(want) &&
      JSON.stringify([...members.keys()].sort()) === JSON.stringify(Object.keys(want).sort()) &&
      [...members].every(([name, part]) => JSON.stringify(JSON.parse(part)) === JSON.stringify(want[name]));
    if (!isRight) t.fail(`${JSON.stringify(text)}, seed ${random.seed}`);
  }
  t.pass(`seed ${random.seed}`);
  t.end();
});

t.test('JSON that is only read has the same depth', async (t) => {
  const nested = (depth: number): string => `[{"a":"[[[\\"[","b":${'['.repeat(depth)}${']'.repeat(depth)}},[]]`;
  t.doesNotThrow(() => requireShallow(nested(NESTING_MAX - 2)));
  t.throws(() => requireShallow(nested(NESTING_MAX - 1)), {
    code: 'general/bad-json',
    message: /nested deeper than 200/,
  });
  t.doesNotThrow(() => requireShallow('[[],'.repeat(10) + '[]' + ']'.repeat(10)), 'what is closed counts no more');
});
