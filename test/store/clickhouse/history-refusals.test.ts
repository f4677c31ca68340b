/** Which of ClickHouse's exceptions may set a row aside. */
import { ClickHouseError } from '@clickhouse/client';
import t from 'tap';
import { HistoryRefusal } from '../../../src/ports/stores/history-writer.ts';
import { refusalOf, refusing } from '../../../src/store/clickhouse/history-refusals.ts';

const exception = (code: number): Error =>
  new ClickHouseError({ message: `of code ${code}`, code: String(code), type: 'ANY' });

t.test('the data, the store, or one of both', async (t) => {
  // CANNOT_PARSE_NUMBER, CANNOT_PARSE_DATETIME, INCORRECT_DATA, VIOLATED_CONSTRAINT, TOO_MANY_BYTES.
  for (const code of [72, 41, 117, 469, 307])
    t.match(refusalOf(exception(code)), { code, isCertain: true, message: `of code ${code}` });
  // LOGICAL_ERROR, BAD_ARGUMENTS, CANNOT_READ_ALL_DATA.
  for (const code of [49, 36, 33]) t.match(refusalOf(exception(code)), { code, isCertain: false });
  // MEMORY_LIMIT_EXCEEDED, NOT_ENOUGH_SPACE, TIMEOUT_EXCEEDED, TOO_MANY_PARTS, UNKNOWN_TABLE, READONLY,
  // NO_SUCH_COLUMN_IN_TABLE, UNKNOWN_EXCEPTION.
  for (const code of [241, 243, 159, 252, 60, 164, 16, 1002])
    t.notOk(refusalOf(exception(code)) instanceof HistoryRefusal, `${code}`);
  for (const error of [
    new Error('connect ECONNREFUSED'),
    Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }),
    new Error('Timeout error.'),
  ]) {
    t.equal(refusalOf(error), error, error.message);
  }
  t.equal(await refusing(Promise.resolve(5)), 5);
  await t.rejects(refusing(Promise.reject(exception(469))), { code: 469, isCertain: true });
});
