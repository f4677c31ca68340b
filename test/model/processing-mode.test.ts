/**
 * Which mode a command has when it was sent with another, and what that means
 * (docs/spec/conventions.md#processing-modes).
 */
import t from 'tap';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { CommandKind } from '../../src/model/commands/kinds.ts';
import {
  applicableMode,
  isAlarmStored,
  isNotified,
  isStored,
  isStoredAs,
  PROCESSING_MODE,
  processingModeOf,
} from '../../src/model/commands/processing-mode.ts';

const { PERSISTENT, TRANSIENT, QUIESCENT, CEP } = PROCESSING_MODE;
const MODES = [PERSISTENT, TRANSIENT, QUIESCENT, CEP] as const;
const MANAGED_OBJECTS = [
  'MANAGED_OBJECT_CREATE',
  'MANAGED_OBJECT_UPDATE',
  'MANAGED_OBJECT_DELETE',
  'CHILD_ADD',
  'CHILD_REMOVE',
  'DEVICE_ENSURE',
] as const;

t.test('modes by name, in any letter case', (t) => {
  t.same(['PERSISTENT', 'transient', 'Quiescent', 'CEP', 'other', ''].map(processingModeOf), [
    PERSISTENT,
    TRANSIENT,
    QUIESCENT,
    CEP,
    undefined,
    undefined,
  ]);
  t.end();
});

t.test('persistent is stored and told, transient told, quiescent stored, CEP neither', (t) => {
  t.same(MODES.map(isStored), [true, false, true, false]);
  t.same(MODES.map(isNotified), [true, true, false, false]);
  t.same(MODES.map(isAlarmStored), [true, false, true, true]);
  t.end();
});

t.test('QUIESCENT and CEP apply to measurements and events, QUIESCENT to managed objects too', (t) => {
  const modesOf = (kind: CommandKind): number[] => MODES.map((mode) => applicableMode(kind, mode));
  for (const name of [
    'MEASUREMENT',
    'EVENT_CREATE',
    'EVENT_UPDATE',
    'EVENT_DELETE',
    'EVENT_BINARY_CHANGE',
    'DATA_DELETE',
  ] as const) {
    t.same(modesOf(COMMAND[name]), [PERSISTENT, TRANSIENT, QUIESCENT, CEP], name);
  }
  for (const name of MANAGED_OBJECTS)
    t.same(modesOf(COMMAND[name]), [PERSISTENT, TRANSIENT, QUIESCENT, PERSISTENT], name);
  for (const name of [
    'ALARM_CREATE',
    'ALARM_UPDATE',
    'ALARM_OF_TYPE_UPDATE',
    'OPERATION_CREATE',
    'OPERATION_UPDATE',
  ] as const) {
    t.same(modesOf(COMMAND[name]), [PERSISTENT, TRANSIENT, PERSISTENT, PERSISTENT], name);
  }
  t.same(
    MODES.map((mode) => isStoredAs(COMMAND.ALARM_CREATE, mode)),
    [true, false, true, true],
  );
  t.same(
    MODES.map((mode) => isStoredAs(COMMAND.EVENT_CREATE, mode)),
    [true, false, true, false],
  );
  t.end();
});
