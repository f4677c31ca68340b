import t from 'tap';
import { chooseKind, parseAccept, parseContentType, vendorType } from '../../../src/api/http/media-types.ts';
import type { MediaKind } from '../../../src/api/http/media-types.ts';

t.test('Accept: both vendor spellings in any letter case, quality, what counts as present', async (t) => {
  const check = (
    header: string,
    want: { present: boolean; branded?: boolean; kind: MediaKind | undefined },
    producible: readonly MediaKind[] = ['vendor', 'json'],
  ): void => {
    const accept = parseAccept(header);
    t.equal(accept.isPresent, want.present, `${header}: present`);
    t.equal(accept.isBranded, want.branded ?? false, `${header}: branded`);
    t.equal(chooseKind(accept, producible), want.kind, `${header}: kind`);
  };
  check('', { present: false, kind: 'vendor' });
  check('*/*', { present: true, kind: 'vendor' });
  check('application/json', { present: true, kind: 'json' });
  check('Application/JSON; charset=utf-8', { present: true, kind: 'json' });
  check('application/vnd.com.nsn.platform.managedObject+json', { present: true, kind: 'vendor' });
  check('APPLICATION/VND.COM.NSN.CUMULOCITY.MANAGEDOBJECT+JSON;ver=0.9;charset=UTF-8', {
    present: true,
    branded: true,
    kind: 'vendor',
  });
  check('text/html,application/xhtml+xml,*/*;q=0.8', { present: true, kind: 'vendor' });
  check('application/json;q=0.1, application/vnd.com.nsn.platform.event+json', { present: true, kind: 'vendor' });
  check('image/png', { present: true, kind: undefined });
  check('application/json;q=0', { present: true, kind: undefined });
  check('text/csv', { present: true, kind: 'csv' }, ['vendor', 'json', 'csv']);
  check('text/csv', { present: true, kind: undefined });
  check('text/*', { present: true, kind: 'csv' }, ['vendor', 'json', 'csv', 'ndjson']);
  check('text/*', { present: true, kind: 'html' }, ['json', 'html', 'text']);
  check('text/*;q=0.5, application/json', { present: true, kind: 'json' }, ['vendor', 'json', 'csv']);
  check('text/*, application/json;q=0.5', { present: true, kind: 'json' });
  check('text/*', { present: true, kind: undefined });
  check(',;,q=,*', { present: true, kind: 'vendor' });
});

t.test('Content-Type: names, charset, other types', async (t) => {
  t.match(parseContentType(''), { kind: 'none' });
  t.match(parseContentType('Text/X'), { kind: 'other', text: 'Text/X' });
  t.equal(parseAccept(`a/${'b'.repeat(900)}`).text?.length, 200);
  t.match(parseContentType('application/json;charset=UTF-8;ver=0.9'), { kind: 'json', isUtf8: true });
  t.match(parseContentType('application/VND.com.nsn.cumulocity.managedObjectReference+json; ver=0.9'), {
    kind: 'vendor',
    name: 'managedobjectreference',
  });
  t.match(parseContentType('application/json; charset="latin1"'), { isUtf8: false });
  t.match(parseContentType('application/json; CHARSET="utf-8"'), { kind: 'json', isUtf8: true });
  t.match(parseContentType('application/x-www-form-urlencoded'), { kind: 'form' });
  t.match(parseContentType('multipart/form-data; boundary=x'), { kind: 'multipart' });
  t.match(parseContentType('text/xml'), { kind: 'other' });
  t.equal(vendorType('event', true), 'application/vnd.com.nsn.cumulocity.event+json;charset=UTF-8;ver=0.9');
});
