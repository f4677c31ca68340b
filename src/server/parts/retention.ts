/** Retention, and whether the clock is believed by what deletes by age. */
import { reserveBytesOf } from '../../ingest/journal/freeing-commands.ts';
import { RetentionRunner, newestRetentionDay } from '../../jobs/retention/runner.ts';
import { RetentionRemoval } from '../../jobs/retention/store.ts';
import type { Command } from '../../model/commands/command.ts';
import { refusedBy } from '../../model/errors.ts';
import { ClockTrust, machineClock } from '../../operate/clock-trust.ts';
import { ClickHouseRetention } from '../../store/clickhouse/retention.ts';
import type { ServerCore } from '../cores/core.ts';
import type { Part } from './part.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

/** Retention waits this long for what was acknowledged before. */
const VISIBLE_MS = 60_000;

/**
 * Commands that are not refused while the journal is at its bound or the disk is nearly full: retention is what frees
 * it.
 */
const freeing = ({ commands }: ServerCore): { request<Answer>(command: Command): Promise<Answer> } => ({
  request: (command) => commands.requestBeyondBound(command),
});

export function clockOf(core: ServerCore): ClockTrust {
  const { config, documents, metrics, log } = core;
  const clock = new ClockTrust({
    commands: freeing(core),
    documents,
    now: Date.now,
    steady: machineClock(),
    refusals: metrics,
    log,
    differenceMaxMs: config.retentionClockDifferenceMaxMs,
    settleMs: config.retentionClockSettleMs,
    newestKnown: () => newestRetentionDay(documents, core.tenants.numbers, core.journalTime),
  });
  metrics.gauge(
    'millrace_retention_waits_for_clock',
    '1 while retention and the end of MQTT sessions wait since the clock differs from the newest time in the journal',
    () => (clock.isWaiting ? 1 : 0),
  );
  return clock;
}

export interface RetentionPart extends Part {
  readonly retention: RetentionRunner;
}

export function retentionPart(core: ServerCore, clock: ClockTrust): RetentionPart {
  const { config, documents, metrics, log } = core;
  const commands = freeing(core);
  const retention = new RetentionRunner({
    commands,
    clock,
    documents,
    ids: core.ids,
    refusals: metrics,
    log,
    now: Date.now,
    isMine: (tenant) => core.isMine(tenant, TENANT_KEY),
    hour: config.retentionHour,
    defaultDays: config.retentionDefaultDays,
    tenants: () => core.tenants.numbers,
    disk: {
      freeBytes: () => core.historyFreeBytes,
      warnBytes: config.diskFreeWarnBytes,
      isEarly: config.retentionEarly === 'yes',
    },
    store: new RetentionRemoval({
      refusals: metrics,
      history: new ClickHouseRetention(core.clickHouse, core.recent),
      counted: core.historyReader,
      commands,
      documents,
      now: Date.now,
      visible: () => core.visible(VISIBLE_MS),
      requireRoom: () => {
        if (core.historyFreeBytes >= reserveBytesOf(config.diskFreeMinBytes)) return;
        throw refusedBy(core.cluster === undefined ? 'disk/free-bytes' : 'clickhouse/free-bytes');
      },
    }),
  });
  metrics.total(
    'millrace_retention_removed_total',
    'Measurements, entities and records that retention removed',
    () => retention.removedCount,
  );
  return {
    retention,
    recordsChanged: (_tenant, changes) => retention.recordsChanged(changes),
    start: () => retention.start(),
    stop: () => retention.stop(),
  };
}
