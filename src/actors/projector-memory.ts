/** The projector's progress in the documents, and the outbox that the actors' commits fill. */
import type { HistoryRow } from '../ports/stores/history-writer.ts';
import type { InsertIntent, ProjectorProgress } from '../ingest/projector/progress.ts';
import { OUTBOX_PREFIX, outboxKey } from './runtime/outbox.ts';
import type { ActorSystem } from './actor-system.ts';
import type { DocumentChange, Documents } from '../ports/stores/documents.ts';

export const PROGRESS_KEY = 'projector';
const PAGE = 1_000;

interface Saved<Intent> {
  position: number;
  intent?: Intent;
}

/** What stands in a shard's documents about its projector. */
export function parseProgress<Intent>(text: string | undefined): { position: number; intent: Intent | undefined } {
  const saved = text === undefined ? { position: 0 } : (JSON.parse(text) as Saved<Intent>);
  return { position: saved.position, intent: saved.intent };
}

export class ProjectorMemory<Intent = InsertIntent> implements ProjectorProgress<Intent> {
  readonly #documents: Documents;
  readonly #actors: ActorSystem;
  #saved: Saved<Intent> = { position: 0 };

  constructor(documents: Documents, actors: ActorSystem) {
    this.#documents = documents;
    this.#actors = actors;
  }

  async load(): Promise<{ position: number; intent: Intent | undefined }> {
    const { position, intent } = parseProgress<Intent>(await this.#documents.get('meta', 0, PROGRESS_KEY));
    this.#saved = intent === undefined ? { position } : { position, intent };
    return { position, intent };
  }

  async saveIntent(intent: Intent): Promise<void> {
    this.#saved = { position: this.#saved.position, intent };
    await this.#save([]);
  }

  async savePosition(position: number): Promise<void> {
    this.#saved = { position };
    const done = await this.#entries(0, position, { idsOnly: true });
    await this.#save(done.map(({ id }) => ({ collection: 'meta', tenant: 0, id, value: undefined })));
  }

  async outbox(after: number, through: number): Promise<HistoryRow[]> {
    // First what is not on disk yet: whatever is committed in between is then found twice, not missed.
    const uncommitted = this.#actors.uncommittedRows(after, through);
    const entries = await this.#entries(after, through, { withNext: true });
    const rows = entries
      .flatMap(({ value }) => JSON.parse(value) as HistoryRow[])
      .filter(({ seq }) => seq > after && seq <= through);
    return [...rows, ...uncommitted];
  }

  /**
   * Entries whose last sequence is in (after, through]. @param withNext also the next one: its rows may
   * begin in this range. @param idsOnly an entry has the rows of a whole group, which a deletion need not read.
   */
  async #entries(
    after: number,
    through: number,
    { withNext = false, idsOnly = false }: { readonly withNext?: boolean; readonly idsOnly?: boolean },
  ): Promise<{ id: string; value: string }[]> {
    const found: { id: string; value: string }[] = [];
    const last = outboxKey(through);
    for (let from = outboxKey(after); ; ) {
      const page = await this.#documents.list('meta', 0, OUTBOX_PREFIX, { after: from, limit: PAGE, idsOnly });
      for (const entry of page) {
        if (entry.id <= last || withNext) found.push(entry);
        if (entry.id >= last) return found;
      }
      if (page.length < PAGE) return found;
      from = page[page.length - 1].id;
    }
  }

  async #save(changes: DocumentChange[]): Promise<void> {
    await this.#documents.commit(
      [...changes, { collection: 'meta', tenant: 0, id: PROGRESS_KEY, value: JSON.stringify(this.#saved) }],
      undefined,
    );
  }
}
