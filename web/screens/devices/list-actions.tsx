/** What is done to several devices of the list: into a group, an operation, deletion. */
import { FolderPlus, Send, Trash2 } from 'lucide';
import { useRef, useState } from 'preact/hooks';
import { ApiError } from '../../core/api/error.ts';
import { workOnMany } from '../../core/api/many.ts';
import { useAction } from '../../core/api/request.ts';
import { sendRaw } from '../../core/api/send.ts';
import { notify } from '../../core/notices.ts';
import { queryText } from '../../core/route.ts';
import { addChildren, childrenAmong } from '../../core/server/children.ts';
import { idsOf } from '../../core/server/managed-object.ts';
import { common } from '../../core/text/common.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm, FormDialog } from '../../parts/dialog.tsx';
import { CheckField } from '../../parts/fields.tsx';
import { GroupField } from '../../parts/group-field.tsx';
import { FormFault } from '../../parts/states.tsx';
import { INVENTORY_ADMIN, offerUndoOfMembers } from '../groups/group-object.ts';
import { AnyOperation } from '../operations/any-operation.tsx';
import { CONTROL, createOperation } from '../operations/operation.ts';
import { words as deviceWords } from './text.ts';

/** Devices that are worked on at once: the page asks for each alone. */
const SELECTED_MAX = 10_000;

export interface ListActionsProps {
  readonly ids: ReadonlySet<string>;
  /** The query that the list shows, and how many match it; undefined while they are counted. */
  readonly query: string;
  readonly total: number | undefined;
  /** Selects these in their place: those that failed. */
  readonly onSelect: (ids: ReadonlySet<string>) => void;
  /** The list has changed. */
  readonly onChanged: () => void;
}

interface OpenProps extends Omit<ListActionsProps, 'query' | 'total'> {
  readonly onClose: () => void;
}

/**
 * Works on each device. Those that failed stay selected. @throws ApiError with the first refusal, after all were tried.
 */
async function workOnSelected(
  { ids, onSelect }: Pick<ListActionsProps, 'ids' | 'onSelect'>,
  work: (id: string) => Promise<unknown>,
): Promise<number> {
  const { done, failed } = await workOnMany([...ids], work);
  onSelect(new Set(failed.map(({ item }) => item)));
  if (failed.length === 0) return done.length;
  const [{ item, error }] = failed;
  const refusal =
    error instanceof ApiError ? error.refusal : { status: 0, error: '', message: String(error), method: '', url: '' };
  const message = deviceWords().someFailed(failed.length, done.length, `${item}: ${refusal.message}`);
  throw new ApiError({ ...refusal, message });
}

function AddToGroup(props: OpenProps) {
  const { ids, onSelect, onChanged, onClose } = props;
  const words = deviceWords();
  const [group, setGroup] = useState('');
  const add = useAction(async () => {
    // Those that are in it already are not taken out again by the undo.
    const members = new Set(await childrenAmong(group, 'childAssets', [...ids]));
    const added = [...ids].filter((id) => !members.has(id));
    if (added.length > 0) {
      await addChildren(group, 'childAssets', added);
      const link = { parent: group, kind: 'childAssets', ids: added } as const;
      offerUndoOfMembers(words.addedToGroup(added.length), link, true, onChanged);
    } else notify(words.addedToGroup(0));
    onSelect(new Set());
    onClose();
  });
  return (
    <FormDialog
      title={words.addToGroup}
      onClose={onClose}
      onSubmit={() => group !== '' && void add.run()}
      action={words.addCount(ids.size)}
      blocked={group === '' ? common().chooseGroup : undefined}
      isBusy={add.isRunning}
      error={add.error}
    >
      <GroupField condition="has(c8y_IsDeviceGroup)" value={group} onChange={setGroup} />
    </FormDialog>
  );
}

function RemoveSelected(props: OpenProps) {
  const { ids, onChanged, onClose } = props;
  const words = deviceWords();
  const [withChildren, setWithChildren] = useState(false);
  const [withUser, setWithUser] = useState(true);
  const remove = async (): Promise<void> => {
    const query = queryText({ cascade: String(withChildren), withDeviceUser: String(withUser) });
    try {
      const count = await workOnSelected(props, (id) =>
        sendRaw(`/inventory/managedObjects/${encodeURIComponent(id)}${query}`, { method: 'DELETE' }),
      );
      notify(words.removedMany(count));
    } finally {
      onChanged();
    }
  };
  return (
    <Confirm
      title={words.removeMany(ids.size)}
      action={words.removeMany(ids.size)}
      isDangerous
      phrase={String(ids.size)}
      run={remove}
      onClose={onClose}
    >
      <p>{words.removeManyText}</p>
      <CheckField label={words.removeManyChildren} isChecked={withChildren} onChange={setWithChildren} />
      <CheckField label={words.removeManyUsers} isChecked={withUser} onChange={setWithUser} />
    </Confirm>
  );
}

export function ListActions(props: ListActionsProps) {
  const words = deviceWords();
  const [open, setOpen] = useState<'group' | 'operation' | 'remove'>();
  const close = (): void => setOpen(undefined);
  const { query, total = 0 } = props;
  const shown = useRef(query);
  shown.current = query;
  const selectAll = useAction(async () => {
    const ids = await idsOf({ q: query }, total);
    // The list may show others by now.
    if (shown.current === query) props.onSelect(new Set(ids));
  });
  const blocked = props.ids.size > SELECTED_MAX ? words.selectedTooMany(SELECTED_MAX) : undefined;
  return (
    <>
      <Button icon={FolderPlus} roles={INVENTORY_ADMIN} blocked={blocked} onClick={() => setOpen('group')}>
        {words.addToGroup}
      </Button>
      <Button icon={Send} roles={CONTROL} blocked={blocked} onClick={() => setOpen('operation')}>
        {words.sendOperation}
      </Button>
      <Button icon={Trash2} kind="danger" roles={INVENTORY_ADMIN} blocked={blocked} onClick={() => setOpen('remove')}>
        {words.remove}
      </Button>
      {total > props.ids.size && (
        <Button
          kind="quiet"
          isBusy={selectAll.isRunning}
          blocked={total > SELECTED_MAX ? words.selectedTooMany(SELECTED_MAX) : undefined}
          onClick={() => void selectAll.run()}
        >
          {common().selectAllThatMatch(total)}
        </Button>
      )}
      <FormFault error={selectAll.error} />
      {open === 'group' && <AddToGroup {...props} onClose={close} />}
      {open === 'remove' && <RemoveSelected {...props} onClose={close} />}
      {open === 'operation' && (
        <AnyOperation
          title={words.sendOperationTo(props.ids.size)}
          known={[]}
          send={async (body) => {
            notify(words.operationsSent(await workOnSelected(props, (id) => createOperation(id, body))));
          }}
          onClose={close}
        />
      )}
    </>
  );
}
