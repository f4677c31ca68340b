/** The child process of the journal's contract: `node … lmdb-journal-writer.js <directory>`. */
import { LmdbJournal } from '../../src/store/lmdb/journal.ts';
import { openLmdb } from '../../src/store/lmdb/environment.ts';
import { writeUntilKilled } from './journal-contract.ts';

await writeUntilKilled(new LmdbJournal(openLmdb(process.argv[2])));
