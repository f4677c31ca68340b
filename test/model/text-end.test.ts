/** Ends of texts are found in linear time: clients send them. */
import t from 'tap';
import { lastSegment, withoutEnd } from '../../src/model/documents/text-end.ts';

/** The square of it is 10^12 steps, which the test would not end. */
const MANY = 1_000_000;

t.test('the end of a text', async (t) => {
  const check = (text: string, characters: string, want: string): void => {
    t.equal(withoutEnd(text, characters), want, JSON.stringify(text));
  };
  check('', '/', '');
  check('//', '/', '');
  check('/a//b//', '/', '/a//b');
  check('a\r\n\n', '\r\n', 'a');
  const slashes = '/'.repeat(MANY);
  t.equal(withoutEnd(`${slashes}x`, '/').length, MANY + 1);
  t.equal(withoutEnd(`x${slashes}`, '/'), 'x');
});

t.test('the last segment of a URL', async (t) => {
  const check = (url: string, want: string): void => {
    t.equal(lastSegment(url), want, url);
  };
  check('http://host/inventory/managedObjects/12', '12');
  check('http://host/inventory/managedObjects/12//', '12');
  check('12', '12');
  check('/', '');
  check('', '');
  t.equal(lastSegment(`${'/'.repeat(MANY)}x`), 'x');
});
