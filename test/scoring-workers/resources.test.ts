/** What is in resource files (docs/spec/scoring.md#resources). */
import t from 'tap';
import { inspectResource, readLookupTables } from '../../src/scoring-workers/resources/resources.ts';
import { zipOf } from '../helpers/zip.ts';

async function* content(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1_000) yield bytes.subarray(at, at + 1_000);
}
const inspect = (name: string, bytes: Buffer, max = 1_000_000): ReturnType<typeof inspectResource> =>
  inspectResource(name, content(bytes), max);

const row = (number: number, cells: string): string => `<row r="${number}">${cells}</row>`;
const workbook = (
  sheet: string,
  texts = '<si><t>code</t></si><si><r><t>na</t></r><r><t>me</t></r></si>',
): Promise<Buffer> =>
  zipOf({
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>',
    'xl/workbook.xml':
      '<workbook xmlns:r="urn:r"><sheets><sheet name="Codes" sheetId="1" r:id="r1"/></sheets></workbook>',
    'xl/sharedStrings.xml': `<sst>${texts}</sst>`,
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${sheet}</sheetData></worksheet>`,
  });

t.test('a workbook', async (t) => {
  const bytes = await workbook(
    row(1, '<c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>ok</t></is></c>') +
      row(2, '<c r="A2"><v>1.5E1</v></c><c r="C2" t="b"><v>1</v></c>') +
      row(3, ''),
  );
  t.same(await inspect('codes.xlsx', bytes), { type: 'Lookup Tables', names: ['Codes'] });
  const table = (await readLookupTables('codes.xlsx', content(bytes), 1_000_000)).get('Codes');
  t.same(table, { columns: ['code', 'name', 'ok'], rows: [['15', '', 'true']] });
});

t.test('CSV is a table with the name of the file', async (t) => {
  const bytes = Buffer.from('\ufeffcode,name\n1,"a,b"\n');
  t.same(await inspect('codes.csv', bytes), { type: 'Lookup Tables', names: ['codes'] });
  const tables = await readLookupTables('codes.csv', content(bytes), 1_000_000);
  t.same(tables.get('codes'), { columns: ['code', 'name'], rows: [['1', 'a,b']] });
});

t.test('a JAR is listed by its classes', async (t) => {
  const files = { 'META-INF/MANIFEST.MF': 'x', 'a/B.class': 'x', 'a/B$1.class': 'x', 'C.class': 'x' };
  t.same(await inspect('f.jar', await zipOf(files)), { type: 'Custom Functions', names: ['a.B', 'C'] });
});

t.test('what is no resource is refused', async (t) => {
  const bomb = `<si><t>${'x'.repeat(1_000)}</t></si>`;
  const refused: [string, Buffer, RegExp][] = [
    ['x.txt', Buffer.from('x'), /JAR file/],
    ['x', Buffer.from('x'), /JAR file/],
    ['f.jar', Buffer.from('x'), /not a ZIP archive/],
    ['f.xlsx', Buffer.from('x'), /not a ZIP archive/],
    ['f.xlsx', await zipOf({ a: 'b' }), /no sheet/],
    ['f.xlsx', await workbook('<row><c r="ZZZZ1"><v>1</v></c></row>'), /in no column/],
    ['f.xlsx', await workbook('<row>', bomb), /unclosed|unexpected|close/i],
    ['f.csv', Buffer.from('a,b\n1\n'), /record|column/i],
    ['f.csv', Buffer.from(''), /no header/],
    ['f.csv', Buffer.alloc(2_000_000, 'x'), /more than 1000000 bytes/],
  ];
  for (const [name, bytes, reason] of refused)
    await t.rejects(inspect(name, bytes), { name: 'ContentError', message: reason }, `${name} ${reason}`);
});
