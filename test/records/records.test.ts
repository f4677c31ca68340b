/** Changes of records at once. */
import t from 'tap';
import { PlatformError } from '../../src/model/errors.ts';
import { retried } from '../../src/records/records.ts';
import { FakePlatform } from '../api/helpers/fake-platform.ts';

const changedMeanwhile = new PlatformError('general/changed-meanwhile', { collection: 'option', id: 'x' });

t.test(
  'a change is tried again when another writer was faster; in the end the server is busy, which is no conflict',
  async (t) => {
    const fake = new FakePlatform();
    const ports = fake.platform();
    let tries = 0;
    const waited: number[] = [];
    const wait = async (ms: number): Promise<void> => void waited.push(ms);
    const late = async (): Promise<string> => {
      tries += 1;
      if (tries < 20) throw changedMeanwhile;
      return 'done';
    };
    t.equal(await retried(ports, late, wait), 'done');
    await t.rejects(
      retried(ports, () => Promise.reject(new Error('other')), wait),
      { message: 'other' },
    );
    await t.rejects(
      retried(ports, () => Promise.reject(changedMeanwhile), wait),
      { code: 'general/busy', status: 503, message: /records\/changes-at-once/ },
    );
    t.same(fake.counted, ['records/changes-at-once']);
    t.equal(waited.length, 19 + 39);
    t.ok(Math.max(...waited) <= 250, 'ms of a pause');
  },
);
