/** What /health/ready reports: each part and its lag (issue 2, section 1 point 5). */
import type { ActorSystem } from '../actors/actor-system.ts';
import type { GroupCommit } from '../ingest/group-commit.ts';
import type { Journal } from '../ingest/journal.ts';
import type { Projector } from '../ingest/projector.ts';

/** The parts that are asked. */
export interface HealthParts {
  readonly journal: Journal;
  readonly group: GroupCommit;
  readonly actors: ActorSystem;
  readonly projector: Projector;
  readonly disk: { readonly refusal: string | undefined; readonly freeBytes: number };
  readonly engine: { readonly state: string; readonly restartsCount: number };
  readonly handledSeq: number;
}

export function reportHealth(parts: HealthParts): { ready: boolean; parts: Record<string, { ready: boolean; [detail: string]: unknown }> } {
  const { journal, group, actors, projector, engine } = parts;
  const refusal = group.refusal;
  const report = {
    journal: { ready: refusal === undefined, ...(refusal === undefined ? {} : { refusal }), lastSequence: journal.lastSeq,
      sizeBytes: journal.sizeBytes, lagRecords: group.lastAppendedSeq - journal.lastSeq },
    documents: { ready: true, sequence: parts.handledSeq, lagRecords: journal.lastSeq - parts.handledSeq, followUps: actors.pendingCount },
    clickhouse: { ready: engine.state === 'ready', state: engine.state, restarts: engine.restartsCount,
      ...(projector.lastError === undefined ? {} : { lastError: projector.lastError }),
      sequence: projector.position, lagRecords: parts.handledSeq - projector.position },
    disk: { ready: parts.disk.refusal === undefined, freeBytes: parts.disk.freeBytes },
  };
  return { ready: Object.values(report).every((part) => part.ready), parts: report };
}
