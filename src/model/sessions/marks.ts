/**
 * Marks of messages that a session's client has acknowledged: what must not be sent to it again by itself. They are
 * kept with the session (mqtt/devices/operation-delivery.ts says which).
 */

/** Beyond it the oldest are forgotten. */
export const SESSION_MARKS_MAX = 1_000;

/** What the removal of a message says about marks. */
export interface MarkChange {
  /** That of the message, which was acknowledged. */
  readonly acknowledged?: string | undefined;
  /** Those that no client asks for any more. */
  readonly over?: readonly string[] | undefined;
}

/** The marks, the oldest first, after a change. */
export function changedMarks(marks: Iterable<string>, { acknowledged, over = [] }: MarkChange): string[] {
  const gone = new Set(over);
  const kept = [...marks].filter((mark) => mark !== acknowledged && !gone.has(mark));
  if (acknowledged !== undefined) kept.push(acknowledged);
  return kept.slice(-SESSION_MARKS_MAX);
}
