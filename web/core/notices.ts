/** Short messages at the edge of the page, and what can be undone. */
import { signal } from '@preact/signals';

const SHOWN_MS = 6_000;
const UNDO_SHOWN_MS = 10_000;
const NOTICES_MAX = 4;
/** Undo entries of this page; the oldest go. */
const UNDO_MAX = 50;

export interface Notice {
  readonly id: number;
  readonly kind: 'done' | 'fault';
  readonly text: string;
  /** Undoes what the text says; the notice has a button for it. */
  readonly undo?: UndoEntry;
}

export interface UndoEntry {
  readonly id: number;
  readonly text: string;
  readonly atMs: number;
  readonly state: 'open' | 'done' | 'failed';
  readonly run: () => Promise<void>;
}

export const notices = signal<readonly Notice[]>([]);
export const undoList = signal<readonly UndoEntry[]>([]);
let lastId = 0;

export function dismiss(id: number): void {
  notices.value = notices.peek().filter((notice) => notice.id !== id);
}

/** Shows a message. Faults stay until they are closed. */
export function notify(text: string, { kind = 'done', undo }: Pick<Partial<Notice>, 'kind' | 'undo'> = {}): void {
  lastId += 1;
  const id = lastId;
  const notice: Notice = { id, kind, text, ...(undo === undefined ? {} : { undo }) };
  notices.value = [...notices.peek(), notice].slice(-NOTICES_MAX);
  if (kind === 'done') setTimeout(() => dismiss(id), undo === undefined ? SHOWN_MS : UNDO_SHOWN_MS);
}

export const notifyError = (error: unknown): void =>
  notify(error instanceof Error ? error.message : String(error), { kind: 'fault' });

/**
 * Says what was done and offers to undo it, here for 10 s and in the list of the account.
 * @param run the inverse request. It has to look first whether the thing is still as the person left it, and throws
 * otherwise: an undo never overwrites a later change of others.
 */
export function notifyUndoable(text: string, run: () => Promise<void>): void {
  lastId += 1;
  const undo: UndoEntry = { id: lastId, text, atMs: Date.now(), state: 'open', run };
  undoList.value = [undo, ...undoList.peek()].slice(0, UNDO_MAX);
  notify(text, { undo });
}

/** Runs the inverse request once. @throws what the request throws, after the entry is marked as failed. */
export async function runUndo({ id, run }: UndoEntry): Promise<void> {
  const mark = (state: UndoEntry['state']): void => {
    undoList.value = undoList.peek().map((entry) => (entry.id === id ? { ...entry, state } : entry));
  };
  if (undoList.peek().find((entry) => entry.id === id)?.state !== 'open') return;
  mark('done');
  try {
    await run();
  } catch (error) {
    mark('failed');
    throw error;
  }
}
