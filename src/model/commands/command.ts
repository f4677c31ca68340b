/**
 * Commands: every write is one (design, "log first, one writer per device"). A gateway validates its input and makes a
 * command; the journal stores it; the actor named by its key decides what it does.
 */
import { COMMAND } from './kinds.ts';
import type { CommandKind } from './kinds.ts';
import type { ProcessingMode } from './processing-mode.ts';

/**
 * The actor that handles a command: a managed object's id (number) or a text key (`x:<type>\n<externalId>`, `t`,
 * `s:<session>`).
 */
export type ActorKey = number | string;

/** A command whose body is JSON (all but MEASUREMENT). */
export interface Command<Body extends object = object> {
  readonly kind: CommandKind;
  /** The tenant's number. */
  readonly tenant: number;
  readonly key: ActorKey;
  readonly mode: ProcessingMode;
  /** When the gateway received it, ms since 1970; becomes creationTime and lastUpdated. */
  readonly receivedAt: number;
  readonly body: Body;
  /** Who waits for the answer, for the shares of commands under way; '' when absent. Not stored. */
  readonly user?: string;
}

/** Who asked for a command over REST, for the audit log. */
export interface AskedBy {
  readonly user: string;
  readonly application?: string;
}
/** In the body of a command of `AUDITED_KINDS`; absent from what devices send, whose data is not administration. */
export interface Asked {
  readonly askedBy?: AskedBy;
}
/**
 * Commands whose effect the actors write into the audit log when their body says who asked
 * (actors/runtime/command-audit.ts).
 */
export const AUDITED_KINDS = [
  COMMAND.MANAGED_OBJECT_CREATE,
  COMMAND.MANAGED_OBJECT_UPDATE,
  COMMAND.MANAGED_OBJECT_DELETE,
  COMMAND.CHILD_ADD,
  COMMAND.CHILD_REMOVE,
  COMMAND.EXTERNAL_ID_BIND,
  COMMAND.EXTERNAL_ID_UNBIND,
  COMMAND.EVENT_UPDATE,
  COMMAND.EVENT_DELETE,
  COMMAND.EVENT_BINARY_CHANGE,
  COMMAND.DATA_DELETE,
] as const;
