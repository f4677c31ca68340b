/** Undoing what a person did, unless others have changed it since. */
import { changedMeanwhile } from './error.ts';
import { notifyUndoable } from '../notices.ts';
import { common } from '../text/common.ts';

export interface Undo {
  /** Asks the server whether the thing is as the person left it. */
  readonly isAsLeft: () => Promise<boolean>;
  readonly run: () => Promise<void>;
}

/** Says what was done and offers to undo it. What others have changed since stays, and the person is told. */
export function offerUndo(text: string, { isAsLeft, run }: Undo): void {
  notifyUndoable(text, async () => {
    if (!(await isAsLeft())) throw changedMeanwhile(common().changedMeanwhile);
    await run();
  });
}

/** Whether the object is the one that the change has made of it. */
export const hasTime =
  (read: () => Promise<{ readonly lastUpdated?: string }>, changed: { readonly lastUpdated?: string }) =>
  async (): Promise<boolean> =>
    (await read()).lastUpdated === changed.lastUpdated;
