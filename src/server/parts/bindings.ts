/**
 * Models that are bound to measurements: scored as they come in. The part starts and stops those that compute models
 * too, as what waits is scored before they end.
 */
import { LiveBindings } from '../../scoring/bindings/live-bindings.ts';
import type { ServerCore } from '../cores/core.ts';
import type { OnnxPart } from './onnx.ts';
import type { Part } from './part.ts';
import type { ScoringPart } from './scoring.ts';

export interface BindingsPart extends Part {
  readonly bindings: LiveBindings;
}

/** Seconds from a measurement until its prediction is durable: bounds of the histogram. */
const BUCKETS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function bindingsPart(core: ServerCore, scoringPart: ScoringPart, onnxPart: OnnxPart): BindingsPart {
  const models: readonly Part[] = [scoringPart, onnxPart];
  const { metrics, events } = core;
  const outcomes = metrics.counter(
    'millrace_scoring_bindings_measurements_total',
    'Measurements that bindings have taken, by what became of them',
    ['outcome'],
  );
  const seconds = metrics.histogram(
    'millrace_scoring_bindings_seconds',
    'Time from the receipt of a measurement until its prediction is durable, the longest of each task',
    BUCKETS_SECONDS,
  );
  const bindings = new LiveBindings({
    documents: core.documents,
    history: core.historyReader,
    scoring: scoringPart.scoring,
    onnx: onnxPart.onnx,
    intake: core.intake,
    ids: core.ids,
    sources: core.sources,
    termOf: (tenant, source) => core.termOf(tenant, source),
    commands: core.commands,
    refusals: metrics,
    log: core.log,
    now: Date.now,
    clock: () => performance.now(),
    tenants: () => core.tenants.numbers,
    isOnlyTenant: () => core.tenants.isOnlyOne,
    onOutcome: (outcome, count) => outcomes.inc({ outcome }, count),
    onDelivered: (elapsed) => seconds.observe(elapsed),
    onActive: (listener) => {
      events.measurements = listener;
    },
  });
  events.watched.push((tenant) => bindings.watched(tenant));
  metrics.gauge(
    'millrace_scoring_bindings_backlog',
    'Measurements that wait to be scored by bindings, or are being scored',
    () => bindings.backlogCount,
  );
  metrics.gauge('millrace_scoring_bindings_backlog_bytes', 'Bytes that these take', () => bindings.backlogBytes);
  metrics.gauge(
    'millrace_scoring_bindings_devices',
    'Devices of the groups that bindings name',
    () => bindings.groupDevicesCount,
  );
  return {
    bindings,
    recordsChanged: (tenant, changes) => {
      for (const part of models) part.recordsChanged?.(tenant, changes);
      bindings.recordsChanged(tenant, changes);
    },
    start: () => {
      for (const part of models) part.start?.();
      bindings.start();
    },
    stop: async () => {
      await bindings.stop();
      await Promise.all(models.map((part) => part.stop?.()));
    },
  };
}
