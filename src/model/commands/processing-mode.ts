/**
 * Processing modes (docs/spec/conventions.md#processing-modes): what becomes of a message besides its acknowledgement.
 */

import { COMMAND } from './kinds.ts';
import type { CommandKind } from './kinds.ts';

export const PROCESSING_MODE = { PERSISTENT: 0, TRANSIENT: 1, QUIESCENT: 2, CEP: 3 } as const;
export type ProcessingMode = (typeof PROCESSING_MODE)[keyof typeof PROCESSING_MODE];

/**
 * The mode that a command has: where the one that was asked for does not apply it is PERSISTENT, as without one.
 * TRANSIENT applies to everything; QUIESCENT and CEP to measurements and events, QUIESCENT to managed objects too
 * (docs/spec/conventions.md#processing-modes).
 */
export function applicableMode(kind: CommandKind, mode: ProcessingMode): ProcessingMode {
  if (mode === PROCESSING_MODE.PERSISTENT || mode === PROCESSING_MODE.TRANSIENT) return mode;
  switch (kind) {
    case COMMAND.MEASUREMENT:
    case COMMAND.EVENT_CREATE:
    case COMMAND.EVENT_UPDATE:
    case COMMAND.EVENT_DELETE:
    case COMMAND.EVENT_BINARY_CHANGE:
    case COMMAND.DATA_DELETE:
    case COMMAND.SOURCE_DELETE:
      return mode;
    case COMMAND.MANAGED_OBJECT_CREATE:
    case COMMAND.MANAGED_OBJECT_UPDATE:
    case COMMAND.MANAGED_OBJECT_DELETE:
    case COMMAND.CHILD_ADD:
    case COMMAND.CHILD_REMOVE:
    case COMMAND.DEVICE_ENSURE:
      return mode === PROCESSING_MODE.QUIESCENT ? mode : PROCESSING_MODE.PERSISTENT;
    default:
      return PROCESSING_MODE.PERSISTENT;
  }
}

/** Stored in documents and history. */
export const isStored = (mode: ProcessingMode): boolean =>
  mode !== PROCESSING_MODE.TRANSIENT && mode !== PROCESSING_MODE.CEP;
/** Whether what a command asks for is stored when a client sent it with the mode. */
export const isStoredAs = (kind: CommandKind, mode: ProcessingMode): boolean => isStored(applicableMode(kind, mode));
/**
 * Alarms know no CEP (docs/spec/conventions.md#processing-modes): no subscriber would hear of one that is not stored.
 */
export const isAlarmStored = (mode: ProcessingMode): boolean => mode !== PROCESSING_MODE.TRANSIENT;
/** Sent to real-time subscribers. */
export const isNotified = (mode: ProcessingMode): boolean =>
  mode === PROCESSING_MODE.PERSISTENT || mode === PROCESSING_MODE.TRANSIENT;

/** @returns the mode of a header value or undefined when the name is unknown. Letter case does not matter. */
export function processingModeOf(name: string): ProcessingMode | undefined {
  switch (name.toUpperCase()) {
    case 'PERSISTENT':
      return PROCESSING_MODE.PERSISTENT;
    case 'TRANSIENT':
      return PROCESSING_MODE.TRANSIENT;
    case 'QUIESCENT':
      return PROCESSING_MODE.QUIESCENT;
    case 'CEP':
      return PROCESSING_MODE.CEP;
    default:
      return undefined;
  }
}
