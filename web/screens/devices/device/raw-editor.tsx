/** Editing a managed object as JSON: what is sent is shown first, and what others have changed is not overwritten. */
import { useState } from 'preact/hooks';
import { ApiError } from '../../../core/api/error.ts';
import { useAction } from '../../../core/api/request.ts';
import { sendRaw } from '../../../core/api/send.ts';
import { nameOf, readObject } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { hasTime, offerUndo } from '../../../core/api/undo.ts';
import { Button } from '../../../parts/button.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { Difference } from '../../../parts/difference/difference.tsx';
import { JsonField, jsonFault, prettyJson } from '../../../parts/json.tsx';
import { FormFault } from '../../../parts/states.tsx';
import { words as deviceWords } from '../text.ts';
import { changeBody, editableText, keptMember, namedLine, rebased } from './raw-change.ts';

const pathOf = (id: string): string => `/inventory/managedObjects/${encodeURIComponent(id)}`;

/** The object as the server writes it. @throws ApiError. */
export const readText = async (id: string, signal?: AbortSignal): Promise<string> =>
  (await sendRaw(pathOf(id), signal === undefined ? {} : { signal })).text();

const putText = async (id: string, body: string): Promise<string> =>
  (await sendRaw(pathOf(id), { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body })).text();

/** Puts the change, and offers to undo it while others have not changed the object. @throws ApiError. */
async function saveChange(id: string, base: string, mine: string): Promise<ManagedObject> {
  const changed = JSON.parse(await putText(id, changeBody(base, mine))) as ManagedObject;
  offerUndo(deviceWords().changed(nameOf(changed)), {
    isAsLeft: hasTime(() => readObject(id), changed),
    run: async () => {
      await putText(id, changeBody(mine, base));
    },
  });
  return changed;
}

export interface RawEditorProps {
  readonly id: string;
  /** The object as it was read. */
  readonly text: string;
  readonly onSaved: (device: ManagedObject) => void;
  readonly onClose: () => void;
}

export function RawEditor({ id, text, onSaved, onClose }: RawEditorProps) {
  const words = deviceWords();
  const [base, setBase] = useState(() => editableText(text));
  const [mine, setMine] = useState(base);
  const [theirs, setTheirs] = useState<string>();
  const [both, setBoth] = useState<readonly string[]>([]);
  const [isReviewing, setReviewing] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const fault = jsonFault(mine);
  const kept = fault === undefined ? keptMember(mine) : undefined;
  const isSame = fault === undefined && changeBody(base, mine) === '{}';
  const blocked =
    fault ?? (kept === undefined ? undefined : words.rawKept(kept)) ?? (isSame ? words.rawUnchanged : undefined);
  const write = (next: string): void => {
    setMine(next);
    setRefusal(undefined);
  };
  const save = useAction(async () => {
    const now = editableText(await readText(id));
    if (changeBody(base, now) !== '{}') {
      setTheirs(now);
      return;
    }
    try {
      onSaved(await saveChange(id, base, mine));
      onClose();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 422) throw error;
      const line = namedLine(mine, error.message);
      setRefusal(line === undefined ? error.message : words.rawLine(line, error.message));
    }
  });
  const takeTheirs = (): void => {
    if (theirs === undefined) return;
    const next = rebased(base, mine, theirs);
    setBase(theirs);
    write(next.text);
    setBoth(next.both);
    setTheirs(undefined);
  };
  return (
    <div class="stack">
      {theirs !== undefined && (
        <section class="note" role="alert">
          <p>
            <strong>{words.rawMeanwhile}</strong> {words.rawMeanwhileText}
          </p>
          <Difference before={base} after={theirs} />
          <div class="row">
            <Button blocked={fault} onClick={takeTheirs}>
              {words.rawKeepMine}
            </Button>
            <Button onClick={onClose}>{words.rawDiscard}</Button>
          </div>
        </section>
      )}
      {both.length > 0 && <p class="note">{words.rawBoth(both)}</p>}
      <JsonField
        label={words.raw}
        value={mine}
        onInput={write}
        rows={24}
        hint={words.rawEditHint}
        refusal={refusal ?? (kept === undefined ? undefined : words.rawKept(kept))}
      />
      <div class="row">
        <Button
          kind="main"
          blocked={blocked ?? (theirs === undefined ? undefined : words.rawMeanwhile)}
          onClick={() => setReviewing(true)}
        >
          {words.rawReview}
        </Button>
        <Button blocked={fault} onClick={() => write(prettyJson(mine))}>
          {words.rawFormat}
        </Button>
        <Button onClick={onClose}>{common().cancel}</Button>
      </div>
      {isReviewing && (
        <Dialog
          title={words.rawReview}
          isWide
          onClose={() => setReviewing(false)}
          foot={
            <>
              <Button onClick={() => setReviewing(false)}>{common().cancel}</Button>
              <Button
                kind="main"
                isBusy={save.isRunning}
                onClick={() => void save.run().then((isDone) => isDone && setReviewing(false))}
              >
                {common().save}
              </Button>
            </>
          }
        >
          <Difference before={base} after={prettyJson(mine)} />
          <FormFault error={save.error} />
        </Dialog>
      )}
    </div>
  );
}
