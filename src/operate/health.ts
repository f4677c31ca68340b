/**
 * The parts of a node: what /health/ready and /metrics show of each comes from one description, on a single node and on
 * a node of a cluster.
 */
import type { ActorSystem } from '../actors/actor-system.ts';
import type { GroupCommit } from '../ingest/journal/group-commit.ts';
import type { Journal } from '../ports/stores/journal.ts';
import type { Quarantine } from '../ports/stores/quarantine.ts';
import { STREAM } from '../ingest/projector/one-stream.ts';
import type { Projector } from '../ingest/projector/projector.ts';
import type { Metrics } from './metrics.ts';

/** `ready: false` takes the node out of service; the other members are details for operators. */
export interface PartState {
  readonly ready: boolean;
  readonly [detail: string]: unknown;
}

/** A value that is read on request. A `queue` is one label of `millrace_queue_size`. */
type PartMetric =
  | readonly [type: 'gauge' | 'total', name: string, help: string, read: () => number]
  | readonly [type: 'queue', label: string, read: () => number];

export interface ObservedPart {
  /** In /health/ready; a part without a state has metrics only. */
  readonly name?: string;
  state?(): PartState;
  readonly metrics: readonly PartMetric[];
}

/** @returns ready when all parts are. */
export function healthOf(parts: readonly ObservedPart[]): { ready: boolean; parts: Record<string, PartState> } {
  const states = parts.flatMap(({ name, state }): [string, PartState][] =>
    name === undefined || state === undefined ? [] : [[name, state()]],
  );
  return { ready: states.every(([, { ready }]) => ready), parts: Object.fromEntries(states) };
}

export function registerParts(metrics: Metrics, parts: readonly ObservedPart[]): void {
  const queues: [string, () => number][] = [];
  for (const metric of parts.flatMap((part) => part.metrics)) {
    if (metric[0] === 'queue') queues.push([metric[1], metric[2]]);
    else metrics[metric[0]](metric[1], metric[2], metric[3]);
  }
  metrics.gauges('millrace_queue_size', 'What waits, by queue', 'queue', () =>
    queues.map(([label, read]) => [label, read()] as const),
  );
}

/** What gateways write, until it is durable. */
export const journalPart = (
  journal: { readonly sizeBytes: number },
  intake: Pick<GroupCommit, 'openBytes' | 'groupsCount' | 'recordsCount'>,
  state: () => PartState,
): ObservedPart => ({
  name: 'journal',
  state,
  metrics: [
    ['gauge', 'millrace_journal_size_bytes', 'Bytes of the journal', () => journal.sizeBytes],
    ['total', 'millrace_group_commits_total', 'Group commits', () => intake.groupsCount],
    ['total', 'millrace_records_total', 'Records committed', () => intake.recordsCount],
    ['queue', 'group-open-bytes', () => intake.openBytes],
  ],
});

/** What the journal has, until it is in the history. */
export const historyPart = (
  projector: Pick<Projector, 'pendingRows' | 'insertErrorsCount' | 'setAsideCount'>,
  state: () => PartState,
): ObservedPart => ({
  name: 'clickhouse',
  state,
  metrics: [
    [
      'total',
      'millrace_projector_insert_errors_total',
      'Inserts that failed and were tried again',
      () => projector.insertErrorsCount,
    ],
    [
      'total',
      'millrace_projector_set_aside_total',
      'Measurements, rows and DELETEs that the history refused',
      () => projector.setAsideCount,
    ],
    ['queue', 'projector-rows', () => projector.pendingRows],
  ],
});

/** What was set aside is an alarm for people; only when nothing more can be set aside the projector stands still. */
export const quarantinePart = (quarantine: Quarantine): ObservedPart => ({
  name: 'quarantine',
  state: () => ({ ready: !quarantine.isFull, count: quarantine.count, sizeBytes: quarantine.sizeBytes }),
  metrics: [
    ['gauge', 'millrace_quarantine_entries', 'Lines of the quarantine file', () => quarantine.count],
    ['gauge', 'millrace_quarantine_size_bytes', 'Bytes of the quarantine file', () => quarantine.sizeBytes],
  ],
});

/** The disk of the data directory. */
export const diskPart = (freeBytes: () => number, state: () => PartState): ObservedPart => ({
  name: 'disk',
  state,
  metrics: [['gauge', 'millrace_disk_free_bytes', 'Free space of the data directory', freeBytes]],
});

/** What a single node is made of. */
export interface NodeParts {
  readonly journal: Journal;
  readonly intake: GroupCommit;
  readonly actors: ActorSystem;
  readonly commands: { readonly underWayCount: number };
  readonly projector: Projector;
  readonly quarantine: Quarantine;
  readonly watchedDocuments: { fault(): string | undefined };
  readonly disk: { readonly refusal: string | undefined; readonly freeBytes: number };
  readonly engine: { readonly state: string; readonly restartsCount: number };
  /** The engine stands still while a backup copies its files, and comes back by itself. */
  readonly backups: { readonly isEngineStopped: boolean };
  /** The last sequence that the actors have handled. */
  handledSeq(): number;
}

/** The parts of a single node, each with its lag in records. */
export function singleNodeParts(node: NodeParts): readonly ObservedPart[] {
  const { journal, intake, actors, projector, engine, disk } = node;
  const journalLag = (): number => intake.lastAppendedSeq - journal.lastSeq;
  const position = (): number => projector.position(STREAM) ?? 0;
  const historyLag = (): number => node.handledSeq() - position();
  return [
    journalPart(journal, intake, () => ({
      ready: intake.refusal === undefined,
      ...(intake.refusal === undefined ? {} : { refusal: intake.refusal }),
      lastSequence: journal.lastSeq,
      sizeBytes: journal.sizeBytes,
      lagRecords: journalLag(),
    })),
    {
      name: 'documents',
      state: () => {
        const fault = node.watchedDocuments.fault();
        return {
          ready: fault === undefined,
          ...(fault === undefined ? {} : { fault }),
          sequence: actors.committedSeq,
          lagRecords: journal.lastSeq - actors.committedSeq,
          followUps: actors.pendingCount,
        };
      },
      metrics: [
        ['queue', 'commands-under-way', () => node.commands.underWayCount],
        ['queue', 'mailboxes', () => actors.mailboxCount],
        ['queue', 'follow-ups', () => actors.pendingCount],
        ['total', 'millrace_commands_total', 'Commands that actors handled', () => actors.commandsCount],
      ],
    },
    historyPart(projector, () => ({
      // Devices go on while a backup is made: taking the node out of service would be the outage.
      ready: engine.state === 'ready' || node.backups.isEngineStopped,
      state: node.backups.isEngineStopped ? 'backup' : engine.state,
      restarts: engine.restartsCount,
      ...(projector.lastError === undefined ? {} : { lastError: projector.lastError }),
      sequence: position(),
      lagRecords: historyLag(),
    })),
    quarantinePart(node.quarantine),
    diskPart(
      () => disk.freeBytes,
      () => ({ ready: disk.refusal === undefined, freeBytes: disk.freeBytes }),
    ),
    {
      metrics: [
        [
          'gauge',
          'millrace_backup_running',
          '1 while a backup copies the files of the history; queries wait for its end with 503',
          () => Number(node.backups.isEngineStopped),
        ],
        ['gauge', 'millrace_journal_last_sequence', 'Last durable sequence', () => journal.lastSeq],
        ['gauge', 'millrace_journal_lag_records', 'Records appended and not yet durable', journalLag],
        ['gauge', 'millrace_projector_lag_records', 'Records handled and not yet in the history', historyLag],
        [
          'total',
          'millrace_clickhouse_restarts_total',
          'Restarts of the embedded ClickHouse',
          () => engine.restartsCount,
        ],
      ],
    },
  ];
}
