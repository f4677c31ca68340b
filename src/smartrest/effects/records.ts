/** Effects of rows as journal records: what the static templates ask for, addressed to the object of the topic. */
import type { OfferedRecord } from '../../ingest/journal/command-bus.ts';
import { encodeCommand } from '../../ingest/journal/command-record.ts';
import { encodeMeasurement } from '../../ingest/measurements/record.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { ActorKey } from '../../model/commands/command.ts';
import type { CommandKind } from '../../model/commands/kinds.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { SerialClaim } from '../../model/commands/external-ids.ts';
import { measurementText } from '../../model/entities/measurement.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import { SERIAL_TYPE } from '../../model/access/serial-claim.ts';
import type { Effect, NewMeasurement } from './effects.ts';

/** Whom and how a message concerns. */
export interface EffectTarget extends SerialClaim {
  readonly tenantNumber: number;
  /** Managed object of the topic. */
  readonly source: number;
  readonly userName: string;
  readonly mode: ProcessingMode;
  readonly receivedAt: number;
}

type OnAnswer = NonNullable<OfferedRecord['onAnswer']>;

/** Effects that send nothing to an actor: 100 of a known device, replies, heartbeats. */
export type LocalEffect = Extract<Effect, { kind: 'ensureDevice' | 'reply' | 'heartbeat' }>;
export type RecordedEffect = Exclude<Effect, LocalEffect>;

/**
 * The record of one effect. @param onAnswer is told of the actor's answer or refusal.
 * @param existing of a service: the object that its external ID is bound to and that the user may change; of
 * `eventOfType` the event, of `software` the object with the list.
 */
export function effectRecord(
  effect: RecordedEffect,
  target: EffectTarget,
  ids: IdSource,
  onAnswer: OnAnswer,
  existing?: number,
): OfferedRecord {
  if (effect.kind === 'measurement') return { record: measurementRecord(effect, target, ids) };
  const command = (kind: CommandKind, key: ActorKey, body: object): OfferedRecord => ({
    record: encodeCommand({
      kind,
      key,
      body,
      tenant: target.tenantNumber,
      mode: target.mode,
      receivedAt: target.receivedAt,
    }),
    onAnswer,
  });
  const user = target.userName;
  const claim = target.claimant === undefined ? {} : { claimant: target.claimant };
  const besideSource = (): string => String(ids.nextBeside(target.tenantNumber, target.source));
  switch (effect.kind) {
    case 'ensureChild':
      return command(COMMAND.DEVICE_ENSURE, `x:${SERIAL_TYPE}\n${effect.externalId}`, {
        type: SERIAL_TYPE,
        externalId: effect.externalId,
        id: String(ids.next()),
        owner: user,
        doc: effect.doc,
        ...claim,
        parent: { id: String(target.source), kind: 'childDevices' },
      });
    case 'service':
      return command(COMMAND.DEVICE_ENSURE, `x:${SERIAL_TYPE}\n${effect.externalId}`, {
        type: SERIAL_TYPE,
        externalId: effect.externalId,
        id: String(ids.next()),
        owner: user,
        doc: effect.doc,
        updateExisting: true,
        ...claim,
        ...(existing === undefined ? {} : { mayUpdate: String(existing) }),
        parent: { id: String(target.source), kind: 'childAdditions' },
      });
    case 'managedObject':
      return command(COMMAND.MANAGED_OBJECT_UPDATE, target.source, {
        doc: effect.doc,
        mayChangeOwner: false,
        ...(effect.onlyWhenAbsent ? { onlyWhenAbsent: true } : {}),
      });
    case 'alarm':
      return command(COMMAND.ALARM_CREATE, target.source, {
        id: besideSource(),
        type: effect.type,
        time: effect.time,
        severity: effect.severity,
        status: 'ACTIVE',
        doc: effect.doc,
        user,
      });
    case 'alarmOfType':
      return command(COMMAND.ALARM_OF_TYPE_UPDATE, target.source, { type: effect.type, doc: effect.doc, user });
    case 'event':
      return command(COMMAND.EVENT_CREATE, target.source, {
        id: effect.id ?? besideSource(),
        type: effect.type,
        time: effect.time,
        doc: effect.doc,
        ...(effect.position ? { managedObjectDoc: effect.position } : {}),
        ...(effect.unlessKnown === true ? { unlessKnown: true } : {}),
      });
    case 'eventOfType':
      return command(COMMAND.EVENT_UPDATE, target.source, { id: String(existing), doc: effect.doc });
    case 'software':
      return command(COMMAND.SOFTWARE_CHANGE, existing as number, { steps: effect.steps });
    case 'profile':
      return command(COMMAND.DEVICE_PROFILE_SET, target.source, {
        isExecuted: effect.isExecuted,
        ...(effect.profileId === undefined ? {} : { profileId: effect.profileId }),
      });
    case 'operation':
      return command(COMMAND.OPERATION_UPDATE, target.source, {
        ...(effect.id === undefined ? {} : { id: effect.id }),
        ...(effect.fragment === undefined ? {} : { fragment: effect.fragment }),
        ...(effect.fromStatus === undefined ? {} : { fromStatus: effect.fromStatus }),
        ...(effect.all ? { all: true } : {}),
        ...(effect.parameters ? { parameters: effect.parameters } : {}),
        doc: effect.doc,
        user,
      });
  }
}

function measurementRecord(effect: NewMeasurement, target: EffectTarget, ids: IdSource): Buffer {
  // The text that was sent is kept where the columns would lose it: several values, or digits beyond a double.
  const keepsText =
    effect.values.length > 1 || effect.values.some(({ value }) => Math.abs(value) > Number.MAX_SAFE_INTEGER);
  const document = keepsText
    ? measurementText({
        time: effect.time,
        sourceId: String(target.source),
        type: effect.type,
        values: effect.values.map((value) => ({ ...value, value: value.text })),
      })
    : '';
  return encodeMeasurement({
    tenant: target.tenantNumber,
    source: target.source,
    id: ids.next(),
    time: effect.time,
    mode: target.mode,
    receivedAt: target.receivedAt,
    type: effect.type,
    document,
    values: effect.values,
  });
}
