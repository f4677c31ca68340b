/** What /health/ready reports: each part and its lag (issue 2, section 1 point 5). */
import type { ActorSystem } from '../actors/actor-system.ts';
import type { GroupCommit } from '../ingest/journal/group-commit.ts';
import type { Journal } from '../ingest/journal/journal.ts';
import type { Projector } from '../ingest/projector/projector.ts';
import type { Quarantine } from '../ingest/journal/quarantine.ts';

/** The parts that are asked. */
export interface HealthParts {
  readonly journal: Journal;
  readonly group: GroupCommit;
  readonly actors: ActorSystem;
  readonly projector: Projector;
  readonly quarantine: Quarantine;
  readonly watchedDocuments: { fault(): string | undefined };
  readonly disk: { readonly refusal: string | undefined; readonly freeBytes: number };
  readonly engine: { readonly state: string; readonly restartsCount: number };
  /** The last sequence that the actors have handled. */
  handledSeq(): number;
}

export function reportHealth(parts: HealthParts): { ready: boolean; parts: Record<string, { ready: boolean; [detail: string]: unknown }> } {
  const { journal, group, actors, projector, quarantine, engine } = parts;
  const refusal = group.refusal;
  const documentsFault = parts.watchedDocuments.fault();
  const report = {
    journal: { ready: refusal === undefined, ...(refusal === undefined ? {} : { refusal }), lastSequence: journal.lastSeq,
      sizeBytes: journal.sizeBytes, lagRecords: group.lastAppendedSeq - journal.lastSeq },
    documents: { ready: documentsFault === undefined, ...(documentsFault === undefined ? {} : { fault: documentsFault }),
      sequence: actors.committedSeq, lagRecords: journal.lastSeq - actors.committedSeq, followUps: actors.pendingCount },
    clickhouse: { ready: engine.state === 'ready', state: engine.state, restarts: engine.restartsCount,
      ...(projector.lastError === undefined ? {} : { lastError: projector.lastError }),
      sequence: projector.position, lagRecords: parts.handledSeq() - projector.position },
    // What was set aside is an alarm for people; only when nothing more can be set aside the projector stands still.
    quarantine: { ready: !quarantine.isFull, count: quarantine.count, sizeBytes: quarantine.sizeBytes },
    disk: { ready: parts.disk.refusal === undefined, freeBytes: parts.disk.freeBytes },
  };
  return { ready: Object.values(report).every((part) => part.ready), parts: report };
}
