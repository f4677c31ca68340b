/**
 * The form of a measurement: the canonical one is 0, every other gives its text, converted values have no decimals of
 * their own.
 */
import t from 'tap';
import {
  FORM_DECIMALS_MAX,
  NO_FORM,
  decimalsForm,
  formedText,
  layoutForm,
  timeForm,
} from '../../src/ingest/measurements/form.ts';
import { parseTime } from '../../src/model/documents/iso-time.ts';
import { measurementText } from '../../src/model/entities/measurement.ts';

const value = { fragment: 'f', series: 's', value: 20, unit: 'C' };
const parts = { time: Date.UTC(2026, 0, 1), sourceId: '5', type: 'T', values: [value] };
const timeOf = (text: string): number => timeForm(Buffer.from(text), 0, text.length);

t.test('orders: 24 of them, each its own number', (t) => {
  const numbers = new Set<number>();
  const places = [-3, -2, -1, 1, 2, 3];
  for (const source of places) {
    for (const type of places) {
      for (const fragment of places) {
        if (new Set([source, type, fragment]).size < 3) continue;
        const starts = [0, source, type, fragment] as const;
        const order = [0, 1, 2, 3]
          .sort((one, other) => starts[one] - starts[other])
          .map((index) => ['time', 'source', 'type', 'f'][index]);
        const form = layoutForm([...starts], false);
        numbers.add(form);
        t.same(Object.keys(JSON.parse(formedText(parts, form)) as object), order);
      }
    }
  }
  t.equal(numbers.size, 24);
  t.equal(layoutForm([0, 1, 2, 3], false), 0);
  t.equal(formedText(parts, 0), measurementText(parts));
  t.end();
});

t.test('times: what has a form comes back, what has none says so', (t) => {
  for (const text of [
    '2026-01-01T00:00:00.000Z',
    '2026-01-01T00:00:00Z',
    '2026-01-01 00:00:00',
    '2026-01-01T00:00:00.1Z',
    '2026-01-01T00:00:00.12Z',
    '2026-01-01T00:00:00.1234Z',
    '2026-01-01T00:00:00.000000001+00:00',
    '1969-12-31T23:59:59.999999999Z',
    '0000-01-01T00:00:00.999999+18:59',
    '9999-12-31T23:59:59.000-18:59',
    '2026-01-01T00:00:00-0001',
    '2026-01-01T00:00:00+05',
    '2024-02-29T12:00:00.5-03:30',
  ]) {
    const form = timeOf(text);
    t.ok(form >= 0 && Number.isSafeInteger(form + decimalsForm(FORM_DECIMALS_MAX)), text);
    t.equal(
      (
        JSON.parse(formedText({ ...parts, time: parseTime(text) ?? NaN }, form + layoutForm([1, 0, 2, 3], false))) as {
          time: string;
        }
      ).time,
      text,
    );
  }
  t.equal(timeOf('2026-01-01T00:00:00.000Z'), 0);
  for (const text of [
    '2026-01-01',
    '2026-01-01T00:00Z',
    '2026-01-01t00:00:00Z',
    '2026-01-01T00:00:00z',
    '2026-01-01T00:00:00,1Z',
    '2026-01-01T00:00:00-00:00',
    '2026-01-01T00:00:00.0000000000Z',
  ])
    t.equal(timeOf(text), NO_FORM, text);
  t.end();
});

t.test('decimals, and a unit before its value', (t) => {
  const text = (decimals: number, isUnitFirst: boolean, isValueSent: boolean): string =>
    formedText(parts, decimalsForm(decimals) + layoutForm([0, 1, 2, 3], isUnitFirst), isValueSent);
  t.match(text(2, false, true), '{"value":20.00,"unit":"C"}');
  t.match(text(2, true, true), '{"unit":"C","value":20.00}');
  t.match(text(2, true, false), '{"unit":"C","value":20}', 'converted to another unit');
  t.equal(
    formedText({ ...parts, values: [value, { ...value, series: 'u' }] }, 7),
    measurementText({ ...parts, values: [value, { ...value, series: 'u' }] }),
  );
  t.end();
});
