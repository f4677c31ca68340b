import t from 'tap';
import { ALARM_TYPE_BYTES_MAX, alarmChange, isOpenStatus, newAlarm } from '../../src/model/entities/alarm.ts';
import { ALARM_CHANGE, NEW_ALARM } from '../../src/model/entities/validators.ts';
import { joinMembers, parseMembers } from '../../src/model/documents/json-document.ts';
import { isMeasurementName, measurementText } from '../../src/model/entities/measurement.ts';
import { parseNumber, toJsonNumber } from '../../src/model/documents/number-scan.ts';
import { fitFailureReason, isOpenOperation } from '../../src/model/entities/operation.ts';

t.test('names of fragments and series (docs/spec/measurements.md#names)', (t) => {
  for (const name of ['c8y_Temperature', 'T', 'A+:1', 'A-', 'Länge', '%', '温度']) t.ok(isMeasurementName(name), name);
  for (const name of ['', 'a b', 'a\tb', 'a\u00a0b', 'a.b', 'a,b', 'a*', '[a', 'a]', '(a', 'a)', '@a', 'a$']) {
    t.notOk(isMeasurementName(name), JSON.stringify(name));
  }
  t.end();
});

t.test('the canonical document of a measurement', (t) => {
  const base = { time: Date.UTC(2024, 4, 2, 10), sourceId: '251', type: 'c8y_"Env"' };
  const head = '{"time":"2024-05-02T10:00:00.000Z","source":{"id":"251"},"type":"c8y_\\"Env\\""';
  t.equal(measurementText({ ...base, values: [] }), `${head}}`);
  t.equal(
    measurementText({ ...base, values: [{ fragment: 'f', series: 'T', value: '21.50', unit: '°C' }] }),
    `${head},"f":{"T":{"value":21.50,"unit":"°C"}}}`,
  );
  t.equal(
    measurementText({
      ...base,
      values: [
        { fragment: 'f', series: 'T', value: 1, unit: '' },
        { fragment: '__proto__', series: '1', value: 2, unit: 'x"' },
        { fragment: 'f', series: 'h', value: 3, unit: '' },
        { fragment: 'f', series: 'T', value: 4, unit: '' },
      ],
    }),
    `${head},"f":{"T":{"value":4},"h":{"value":3}},"__proto__":{"1":{"value":2,"unit":"x\\""}}}`,
  );
  t.end();
});

t.test('numbers keep what was sent where JSON allows it', (t) => {
  const cases = [
    ['21.50', '21.50'],
    ['+21.5', '21.5'],
    ['007', '7'],
    ['-0', '-0'],
    ['1e3', '1e3'],
    ['+1E-7', '1E-7'],
    ['-00.10', '-0.10'],
    ['9007199254740993', '9007199254740993'],
    ['+09007199254740993', '9007199254740993'],
    ['-012345678901234567890', '-12345678901234567890'],
  ];
  for (const [text, want] of cases) t.equal(toJsonNumber(text), want, text);
  for (const text of ['', ' 1', '0x10', 'NaN', 'Infinity', '1e999', '1,5', '.5', '5.', '--1', '1e'])
    t.equal(parseNumber(text), undefined, text);
  t.end();
});

const failure = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was thrown';
};

t.test('alarms', (t) => {
  const alarm = '{"source":{"id":"7"},"type":"x","text":"t","time":"2024-05-02","severity":"MAJOR"}';
  const made = (text: string) => newAlarm(NEW_ALARM.checked(parseMembers(text)));
  const changed = (text: string) => alarmChange(ALARM_CHANGE.checked(parseMembers(text)), parseMembers(alarm));
  t.same(made(alarm), {
    source: '7',
    type: 'x',
    time: Date.UTC(2024, 4, 2),
    severity: 'MAJOR',
    status: 'ACTIVE',
    doc: alarm,
  });
  const refused: [text: string, message: string][] = [
    ['{"source":{"id":"7"},"type":"x"}', 'Following mandatory fields should be included: severity,text,time'],
    [alarm.replace('MAJOR', 'major'), 'The field severity has the value'],
    [alarm.replace('"t"', '7'), 'The field text has the value 7'],
    [alarm.replace('2024-05-02', 'x'), 'ISO 8601'],
    [alarm.replace('"text"', '"status":"OPEN","text"'), 'ACTIVE, ACKNOWLEDGED, CLEARED'],
    [alarm.replace('"text"', '"a.b":1,"text"'), 'has no dot'],
    [alarm.replace('"7"', '"x"'), 'x'],
  ];
  for (const [text, message] of refused)
    t.match(
      failure(() => made(text)),
      message,
    );
  const ofType = (type: string): string => failure(() => made(alarm.replace('"x"', JSON.stringify(type))));
  t.match(ofType(''), 'The field type');
  t.match(ofType('ä'.repeat(ALARM_TYPE_BYTES_MAX / 2 + 1)), '1 to 1000 bytes');
  t.match(ofType('a\u0001'), 'without control characters');
  t.match(ofType('a\ud800'), 'without control characters');
  t.equal(ofType('ä'.repeat(ALARM_TYPE_BYTES_MAX / 2)), 'nothing was thrown');
  t.equal(
    changed('{"status":"CLEARED","text":"x","severity":"MINOR","c8y_X":{},"type":"x"}'),
    '{"status":"CLEARED","text":"x","severity":"MINOR","c8y_X":{}}',
    'a fixed member that is sent back is no change',
  );
  t.match(
    failure(() => changed('{"type":"y"}')),
    'it takes no change',
  );
  t.match(
    failure(() => changed('{"status":"GONE"}')),
    'The field status has the value',
  );
  t.ok(isOpenStatus('ACKNOWLEDGED'));
  t.notOk(isOpenStatus('CLEARED'));
  t.end();
});

t.test('operations', (t) => {
  const fitted = (changes: string, stored: string): string => {
    const members = parseMembers(changes);
    fitFailureReason(members, parseMembers(stored));
    return joinMembers(members);
  };
  const failed = '{"status":"FAILED","failureReason":"x"}';
  t.equal(fitted(failed, '{"status":"EXECUTING"}'), failed);
  t.equal(fitted('{"failureReason":"y"}', failed), '{"failureReason":"y"}');
  t.equal(fitted('{"failureReason":"y"}', '{"status":"PENDING"}'), '{"failureReason":null}');
  t.equal(fitted('{"status":"SUCCESSFUL"}', failed), '{"status":"SUCCESSFUL","failureReason":null}');
  t.ok(isOpenOperation('PENDING'));
  t.notOk(isOpenOperation('FAILED'));
  t.end();
});
