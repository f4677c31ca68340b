/** The journal, the group commit and the projector: design 1 to 4, and what "acknowledged" means. */
import type { MutantTable } from './mutant.ts';

export const JOURNAL: readonly MutantTable[] = [
  { heading: 'Group commit', mutants: [
    { rule: 'a sender is acknowledged when its group is durable, not before', file: 'src/ingest/group-commit.ts', tests: ['ingest/group-commit'],
      changes: [['    group.tokens.push(token);\n    if (!this.#committing', '    group.tokens.push(token);\n    sink.durable(token);\n    if (!this.#committing']] },
    { rule: 'nothing more is taken when the journal has reached its bytes on disk', file: 'src/ingest/group-commit.ts', tests: ['ingest/group-commit'],
      changes: [['if (this.#options.journal.sizeBytes >= this.#options.journalBytesMax)', 'if (false)']] },
  ] },
];
