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
    const late = async (): Promise<string> => {
      tries += 1;
      if (tries < 20) throw changedMeanwhile;
      return 'done';
    };
    t.equal(await retried(ports, late), 'done');
    await t.rejects(
      retried(ports, () => Promise.reject(new Error('other'))),
      { message: 'other' },
    );
    await t.rejects(
      retried(ports, () => Promise.reject(changedMeanwhile)),
      { code: 'general/busy', status: 503, message: /records\/changes-at-once/ },
    );
    t.same(fake.counted, ['records/changes-at-once']);
  },
);
