/** Arrays and matrices of the standard (docs/spec/pmml-equations.md#arrays). */
import t from 'tap';
import { readMatrix, readNumbers, readSparse, readTexts } from '../../../src/scoring-workers/pmml/document/arrays.ts';
import { readDocument } from '../../../src/scoring-workers/pmml/document/reader.ts';

t.test('arrays', async (t) => {
  const numbers = (text: string) => [...readNumbers(readDocument(text))];
  t.strictSame(numbers('<Array n="3" type="real">1 -2.5\n 3e2</Array>'), [1, -2.5, 300]);
  t.strictSame(numbers('<Array type="int"> </Array>'), []);
  t.strictSame(numbers('<Array type="real">INF "4"</Array>'), [Number.POSITIVE_INFINITY, 4]);
  t.strictSame(readTexts(readDocument('<Array n="4" type="string">ab "a b" "with \\" quote" "a\\b"</Array>')), [
    'ab',
    'a b',
    'with " quote',
    'a\\b',
  ]);
  t.throws(() => numbers('<Array n="4">1 2</Array>'), /has 2 values; its attribute 'n' says 4/);
  t.throws(() => numbers('<Array>1 x</Array>'), /'x' is not a number/);
  t.throws(() => readTexts(readDocument('<Array>"ab</Array>')), /a quote is not closed/);
  t.throws(() => numbers('<Array n="1e400">1</Array>'), /whole number from 0/);
});

t.test('sparse arrays', async (t) => {
  const document = readDocument(
    '<REAL-SparseArray n="6" defaultValue="1"><Indices>5 2</Indices><REAL-Entries>0.5 7</REAL-Entries></REAL-SparseArray>',
  );
  t.strictSame([...readNumbers(document)], [1, 7, 1, 1, 0.5, 1]);
  const { length, indexes, values } = readSparse(document);
  t.strictSame(
    { length, indexes: [...indexes], values: [...values] },
    { length: 6, indexes: [1, 4], values: [7, 0.5] },
  );
  t.strictSame([...readNumbers(readDocument('<INT-SparseArray n="2"/>'))], [0, 0]);
  const sparse = (n: string, indices: string) => () =>
    readNumbers(
      readDocument(
        `<INT-SparseArray n="${n}"><Indices>${indices}</Indices><INT-Entries>1 2</INT-Entries></INT-SparseArray>`,
      ),
    );
  t.throws(sparse('3', '1 4'), /index 4 is not between 1 and 3/);
  t.throws(sparse('3', '0 1'), /index 0 is not/);
  t.throws(sparse('3', '2 2'), /index 2 is there twice/);
  t.throws(sparse('3', '2'), /has 1 Indices and 2 INT-Entries/);
  t.throws(sparse('900000000000', '1 2'), /at most 4000000/);
});

t.test('matrices', async (t) => {
  const rows = (text: string) => {
    const { rows, columns, values } = readMatrix(readDocument(text));
    return Array.from({ length: rows }, (_, row) => [...values.slice(row * columns, (row + 1) * columns)]);
  };
  t.strictSame(rows('<Matrix nbRows="2" nbCols="3"><Array>1 2 3</Array><Array>4 5 6</Array></Matrix>'), [
    [1, 2, 3],
    [4, 5, 6],
  ]);
  t.strictSame(rows('<Matrix kind="diagonal" offDiagDefault="9"><Array>1 2</Array></Matrix>'), [
    [1, 9],
    [9, 2],
  ]);
  t.strictSame(rows('<Matrix kind="symmetric"><Array>1</Array><Array>2 3</Array></Matrix>'), [
    [1, 2],
    [2, 3],
  ]);
  const cells = '<MatCell row="1" col="2">5</MatCell>';
  t.strictSame(rows(`<Matrix nbRows="2" nbCols="2" diagDefault="1">${cells}</Matrix>`), [
    [1, 5],
    [0, 1],
  ]);
  t.strictSame(rows(`<Matrix kind="symmetric" diagDefault="1" offDiagDefault="7">${cells}</Matrix>`), [
    [1, 5],
    [5, 1],
  ]);
  t.throws(() => rows(`<Matrix nbRows="1" nbCols="1">${cells}</Matrix>`), /row 1, column 2 is not in a matrix/);
  t.throws(() => rows('<Matrix><Array>1 2</Array><Array>3</Array></Matrix>'), /row 2 has 1 numbers, the first one 2/);
  t.throws(() => rows('<Matrix nbRows="3"><Array>1 2</Array></Matrix>'), /its attributes say 3 rows/);
  t.throws(() => rows('<Matrix nbRows="100000" nbCols="100000"/>'), /at most 4000000/);
});
