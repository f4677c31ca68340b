/** Documents in the encoding that they begin with (docs/spec/scoring.md#upload). */
import t from 'tap';
import { DocumentDecoder, declaredUtf8, decodedDocument } from '../../../src/scoring-workers/pmml/document/encoding.ts';

const BODY = '<PMML version="4.4" name="Grösse"/>';
const declared = (encoding: string): string => `<?xml version="1.0" encoding="${encoding}"?>${BODY}`;

t.test('the mark of two bytes or the declaration says the encoding', async (t) => {
  const wide = Buffer.from(`\ufeff${declared('UTF-16')}`, 'utf16le');
  const check = (bytes: Uint8Array, text: string): void => {
    t.equal(decodedDocument(bytes), text);
    const decoder = new DocumentDecoder();
    let parts = '';
    for (const byte of bytes) parts += decoder.write(Uint8Array.of(byte));
    t.equal(parts + decoder.end(), text, 'byte by byte');
  };
  check(Buffer.from(declared('ISO-8859-1'), 'latin1'), declared('ISO-8859-1'));
  check(Buffer.from(declared('utf-8')), declared('utf-8'));
  check(Buffer.from(`\ufeff${BODY}`), BODY);
  check(wide, declared('UTF-16'));
  check(Buffer.from(wide).swap16(), declared('UTF-16'));
  check(Buffer.from(BODY, 'utf16le'), BODY);
  check(Buffer.alloc(0), '');
  t.equal(declaredUtf8(declared('ISO-8859-1')), declared('UTF-8'));
});

t.test('another encoding is named', async (t) => {
  const refused = (bytes: Uint8Array, message: string): void => {
    t.throws(() => decodedDocument(bytes), { name: 'EncodingError', message });
  };
  refused(Buffer.from(declared('klingon')), "the encoding 'klingon' is not known");
  refused(Buffer.from(declared('UTF-16')), "its bytes are not of the encoding 'UTF-16'");
  refused(Buffer.from(BODY, 'latin1'), "its bytes are not of the encoding 'utf-8'");
  t.ok(decodedDocument(Buffer.of(0x89, 0x50, 0xff)), 'what is not XML is left to the parser');
});
