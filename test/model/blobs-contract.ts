/** What every adapter of the blobs port promises; run by the tests of the adapters. */
import type { Test } from 'tap';
import { BlobTooLarge, ownerOfKey, ownerText } from '../../src/ports/blobs.ts';
import type { Blobs } from '../../src/ports/blobs.ts';

/** One place where an adapter keeps content; opened several times, one after the other. */
export interface BlobsPlace {
  open(): Promise<{ readonly blobs: Blobs; close(): Promise<void> }>;
}

async function* slowly(pieces: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  for (const piece of pieces) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    yield piece;
  }
}

export async function contentOf(pieces: AsyncIterable<Uint8Array> | undefined): Promise<Buffer | undefined> {
  if (pieces === undefined) return undefined;
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) parts.push(piece);
  return Buffer.concat(parts);
}

async function keysOf(blobs: Blobs): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of blobs.keys()) keys.push(key);
  return keys.sort();
}

export function blobsContract(t: Test, name: string, newPlace: (t: Test) => BlobsPlace): void {
  const test = (title: string, run: (t: Test, blobs: Blobs) => Promise<void>): void => {
    t.test(`${name}: ${title}`, async (t) => {
      const { blobs, close } = await newPlace(t).open();
      await run(t, blobs);
      await close();
    });
  };

  test('what was put is read', async (t, blobs) => {
    const large = Buffer.alloc(1_000_003).map((_, index) => index % 251);
    for (const [title, pieces] of [
      ['nothing', []],
      ['one byte', [Buffer.from('x')]],
      ['several pieces', [large.subarray(0, 7), large.subarray(7)]],
    ] as const) {
      const whole = Buffer.concat(pieces);
      for (const content of [pieces, slowly(pieces)]) {
        const { key, bytes } = await blobs.put(content, 2_000_000);
        t.equal(bytes, whole.length, title);
        t.ok((await contentOf(await blobs.read(key)))?.equals(whole), title);
      }
    }
  });

  test('each content has a key of its own', async (t, blobs) => {
    const [one, two] = await Promise.all([blobs.put([Buffer.from('same')], 9), blobs.put([Buffer.from('same')], 9)]);
    t.not(one.key, two.key);
    await blobs.remove(one.key);
    t.equal(String(await contentOf(await blobs.read(two.key))), 'same');
  });

  test('files of a user have the tenant and the user in their keys, and their bytes are told', async (t, blobs) => {
    const owner = { tenant: 77, user: 'a user/ü', isDevice: false };
    const { key } = await blobs.put([Buffer.from('12'), Buffer.from('345')], 9, owner);
    t.same(ownerOfKey(key), { tenant: 77, text: ownerText(owner) });
    t.equal(String(await contentOf(await blobs.read(key))), '12345');
    for await (const found of blobs.keys()) t.match(found, { key, bytes: 5 });
    t.equal(await blobs.remove(key), 5);
    t.equal(await blobs.read(key), undefined);
    t.equal(await blobs.remove(key), 0);
  });

  test('ranges are inclusive and end with the content', async (t, blobs) => {
    const { key } = await blobs.put([Buffer.from('0123456789')], 10);
    const check = async (from: number, through: number, want: string): Promise<void> => {
      t.equal(String(await contentOf(await blobs.read(key, { from, through }))), want, `${from}-${through}`);
    };
    await check(0, 0, '0');
    await check(3, 5, '345');
    await check(9, 9, '9');
    await check(7, 1_000_000_000_000, '789');
    await check(10, 12, '');
  });

  test('content above the limit leaves nothing behind', async (t, blobs) => {
    await blobs.put([Buffer.alloc(10)], 10);
    const before = await keysOf(blobs);
    for (const pieces of [[Buffer.alloc(11)], slowly([Buffer.alloc(6), Buffer.alloc(5)])]) {
      const failure: unknown = await blobs.put(pieces, 10).then(
        () => undefined,
        (error: Error) => error,
      );
      t.ok(failure instanceof BlobTooLarge, String(failure));
    }
    t.same(await keysOf(blobs), before);
  });

  test('a source that fails leaves nothing behind', async (t, blobs) => {
    const failing = async function* (): AsyncIterable<Uint8Array> {
      yield Buffer.from('a');
      throw new Error('the client went');
    };
    await t.rejects(blobs.put(failing(), 10), { message: 'the client went' });
    t.same(await keysOf(blobs), []);
  });

  test('what is removed or was never there is undefined', async (t, blobs) => {
    const { key } = await blobs.put([Buffer.from('x')], 1);
    await blobs.remove(key);
    await blobs.remove(key);
    for (const absent of [key, '', '..', '../secret', '0', `${key}x`, 'ä']) {
      t.equal(await blobs.read(absent), undefined, absent);
      await blobs.remove(absent);
    }
  });

  test('keys with the time they were written', async (t, blobs) => {
    t.same(await keysOf(blobs), []);
    const before = Date.now();
    const { key } = await blobs.put([Buffer.from('x')], 1);
    for await (const entry of blobs.keys()) {
      t.equal(entry.key, key);
      t.ok(Math.abs(entry.writtenAt - before) < 60_000, String(entry.writtenAt - before));
    }
  });

  t.test(`${name}: content outlives the adapter`, async (t) => {
    const place = newPlace(t);
    const first = await place.open();
    const { key } = await first.blobs.put([Buffer.from('kept')], 4);
    await first.close();
    const second = await place.open();
    t.equal(String(await contentOf(await second.blobs.read(key))), 'kept');
    t.same(await keysOf(second.blobs), [key]);
    await second.close();
  });
}
