/** Numbers as bytes are those that JSON has. */
import t from 'tap';
import { NUMBER_BYTES_MAX, writeNumber, writeThreeDigits } from '../../../src/scoring-workers/measurements/digits.ts';

t.test('numbers', async (t) => {
  const bytes = Buffer.alloc(NUMBER_BYTES_MAX + 1, '#');
  const numbers = [0, -0, 1, 9, 10, 99, 100, 2 ** 31 - 1, 2 ** 31, 4_999_999_999, 1e9, 1e18, 2 ** 53 - 1, 2 ** 53];
  const others = [0.1, 1 / 3, 5e-324, -1.7976931348623157e308, -1.2345678901234567e-300, 1e21, 1e-7, 123.25];
  for (const value of [...numbers, ...numbers.map((number) => -number), ...others]) {
    const end = writeNumber(value, bytes, 1);
    t.equal(bytes.toString('latin1', 0, end), `#${JSON.stringify(value)}`);
  }
});

t.test('three digits', async (t) => {
  const bytes = Buffer.alloc(3);
  for (const value of [0, 7, 10, 99, 100, 420, 999]) {
    t.equal(writeThreeDigits(value, bytes, 0), 3);
    t.equal(bytes.toString(), String(value).padStart(3, '0'));
  }
});
