/** Options of the tenant by category and key. What is secret stays masked: it is set, never read. */
import { Pencil, Plus, Trash2 } from 'lucide';
import { useState } from 'preact/hooks';
import { ApiError } from '../../../core/api/error.ts';
import { changeJson, getJson, pathOf } from '../../../core/api/json.ts';
import { useAction } from '../../../core/api/request.ts';
import { notify } from '../../../core/notices.ts';
import { collectionAt, pagePath } from '../../../core/server/collection.ts';
import { common } from '../../../core/text/common.ts';
import { numberParameter, useUrlState } from '../../../core/url-state.ts';
import { offerUndo } from '../../../core/api/undo.ts';
import { Button } from '../../../parts/button.tsx';
import { FormDialog } from '../../../parts/dialog.tsx';
import { TextField } from '../../../parts/fields.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { useList } from '../../../parts/list/list.ts';
import { Page } from '../../../parts/page.tsx';
import { FormFault } from '../../../parts/states.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { words as adminWords } from '../titles/text.ts';
import { words as settingWords } from './text.ts';

const SHAPE = { page: numberParameter(1, { minimum: 1 }) };
const ADMIN = ['ROLE_OPTION_MANAGEMENT_ADMIN'];
const PATH = '/tenant/options';

interface Option {
  readonly category: string;
  readonly key: string;
  readonly value: string;
  readonly editable?: boolean;
}

const keyOf = ({ category, key }: Option): string => `${category}/${key}`;
const pathTo = ({ category, key }: Option): string => pathOf`/tenant/options/${category}/${key}`;
const isSecret = ({ key }: Option): boolean => key.startsWith('credentials.');

/** The value now; undefined of an option that is not there. @throws ApiError. */
async function valueNow(option: Option): Promise<string | undefined> {
  try {
    return (await getJson<Option>(pathTo(option))).value;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Offers to undo the change of an option that is not secret. */
function offerBefore(text: string, now: Option, before: string, onChanged: () => void): void {
  if (isSecret(now)) return notify(text);
  offerUndo(text, {
    isAsLeft: async () => (await valueNow(now)) === now.value,
    run: async () => {
      await changeJson('PUT', pathTo(now), { value: before });
      onChanged();
    },
  });
}

interface EditProps {
  /** undefined sets another one. */
  readonly option: Option | undefined;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function Edit({ option, onClose, onChanged }: EditProps) {
  const words = settingWords();
  const [category, setCategory] = useState(option?.category ?? '');
  const [key, setKey] = useState(option?.key ?? '');
  const [value, setValue] = useState(option === undefined || isSecret(option) ? '' : option.value);
  const save = useAction(async () => {
    const changed = { category, key, value };
    if (option === undefined) await changeJson('POST', PATH, changed);
    else await changeJson('PUT', pathTo(changed), { value });
    onChanged();
    // Setting one by its name may have replaced a value that the page does not show.
    if (option === undefined) notify(words.changed(keyOf(changed)));
    else offerBefore(words.changed(keyOf(changed)), changed, option.value, onChanged);
    onClose();
  });
  return (
    <FormDialog
      title={option === undefined ? words.addOption : keyOf(option)}
      onClose={onClose}
      onSubmit={() => void save.run()}
      isBusy={save.isRunning}
      error={save.error}
    >
      {option === undefined && (
        <>
          <TextField label={words.category} value={category} onInput={setCategory} isMono isRequired hasFocus />
          <TextField label={words.key} value={key} onInput={setKey} hint={words.secretHint} isMono isRequired />
        </>
      )}
      <TextField label={words.value} value={value} onInput={setValue} isMono />
    </FormDialog>
  );
}

export default function Options() {
  const words = settingWords();
  const [{ page }, set] = useUrlState(SHAPE);
  const [edited, setEdited] = useState<Option | 'new'>();
  const list = useList({ ...collectionAt<Option>(PATH, 'options'), keyOf, page, inputs: [] });
  const remove = useAction(async (option: Option) => {
    await changeJson('DELETE', pathTo(option));
    list.reload();
    const text = words.removed(keyOf(option));
    if (isSecret(option)) notify(text);
    else
      offerUndo(text, {
        isAsLeft: async () => (await valueNow(option)) === undefined,
        run: async () => {
          const { category, key, value } = option;
          await changeJson('POST', PATH, { category, key, value });
          list.reload();
        },
      });
  });
  const columns: readonly Column<Option>[] = [
    { id: 'category', title: words.category, cell: ({ category }) => <span class="mono">{category}</span> },
    { id: 'key', title: words.key, isHeading: true, cell: ({ key }) => <span class="mono">{key}</span> },
    { id: 'value', title: words.value, cell: ({ value }) => <span class="mono">{value}</span> },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (option) => {
        const blocked = option.editable === false ? words.notEditable : undefined;
        return (
          <span class="row">
            <Button
              icon={Pencil}
              kind="quiet"
              roles={ADMIN}
              blocked={blocked}
              label={`${words.edit}: ${keyOf(option)}`}
              onClick={() => setEdited(option)}
            >
              {words.edit}
            </Button>
            <Button
              icon={Trash2}
              kind="quiet"
              roles={ADMIN}
              blocked={blocked}
              label={`${words.remove}: ${keyOf(option)}`}
              onClick={() => void remove.run(option)}
            >
              {words.remove}
            </Button>
          </span>
        );
      },
    },
  ];
  return (
    <Page
      copy={{ path: pagePath(PATH, page) }}
      title={adminWords().options}
      actions={
        <Button kind="main" icon={Plus} roles={ADMIN} onClick={() => setEdited('new')}>
          {words.addOption}
        </Button>
      }
    >
      <p class="section muted">{words.optionHint}</p>
      <FormFault error={remove.error} />
      <ListPage
        label={adminWords().options}
        list={list}
        columns={columns}
        keyOf={keyOf}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        empty={<p>{words.secretHint}</p>}
      />
      {edited && (
        <Edit
          option={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onChanged={list.reload}
        />
      )}
    </Page>
  );
}
