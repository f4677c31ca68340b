/** Applications that the tenant has, and how to add one. */
import { ExternalLink, Plus } from 'lucide';
import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { changeJson } from '../../../core/api/json.ts';
import { useAction } from '../../../core/api/request.ts';
import { notify } from '../../../core/notices.ts';
import { serverUrl } from '../../../core/places.ts';
import { href } from '../../../core/route.ts';
import { collectionAt, pagePath } from '../../../core/server/collection.ts';
import { common } from '../../../core/text/common.ts';
import { numberParameter, useUrlState } from '../../../core/url-state.ts';
import { Button, LinkButton } from '../../../parts/button.tsx';
import { FormDialog } from '../../../parts/dialog.tsx';
import { SelectField, TextField } from '../../../parts/fields.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { useList } from '../../../parts/list/list.ts';
import { Page } from '../../../parts/page.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { words as tenantWords } from './text.ts';
import { words as adminWords } from '../titles/text.ts';
import { APPLICATIONS_PATH, APPLICATION_ADMIN, TYPES, pageOf } from './application-data.ts';
import type { Application } from './application-data.ts';

const SHAPE = { page: numberParameter(1, { minimum: 1 }) };

/** Of a page of the server with the prefix of a proxy. */
export const openUrl = (page: string): string => (page.startsWith('/') ? serverUrl(page) : page);

function Add({ onClose }: { readonly onClose: () => void }) {
  const words = tenantWords();
  const { route } = useLocation();
  const [type, setType] = useState<(typeof TYPES)[number]>('HOSTED');
  const [name, setName] = useState('');
  const [path, setPath] = useState('');
  const [url, setUrl] = useState('');
  const add = useAction(async () => {
    const place = type === 'EXTERNAL' ? { externalUrl: url } : type === 'HOSTED' ? { contextPath: path || name } : {};
    const body = { type, name, key: `${name}-key`, ...place };
    const made = await changeJson<Application>('POST', APPLICATIONS_PATH, body);
    notify(words.made(name));
    onClose();
    if (made !== undefined) route(href('/admin/applications/:id', { id: made.id }));
  });
  return (
    <FormDialog
      title={words.addApplication}
      onClose={onClose}
      onSubmit={() => void add.run()}
      action={words.addApplication}
      isBusy={add.isRunning}
      error={add.error}
    >
      <SelectField
        label={words.type}
        value={type}
        options={TYPES.map((value) => ({ value, text: words.types[value] }))}
        onChange={setType}
      />
      <TextField label={words.name} value={name} onInput={setName} isRequired hasFocus />
      {type === 'HOSTED' && (
        <TextField
          label={words.contextPath}
          value={path}
          onInput={setPath}
          placeholder={name}
          hint={words.contextPathHint}
        />
      )}
      {type === 'EXTERNAL' && <TextField label={words.url} type="url" value={url} onInput={setUrl} isRequired />}
    </FormDialog>
  );
}

export default function Applications() {
  const words = tenantWords();
  const [{ page }, set] = useUrlState(SHAPE);
  const [isAdding, setAdding] = useState(false);
  const keyOf = ({ id }: Application): string => id;
  const list = useList({
    ...collectionAt<Application>(APPLICATIONS_PATH, 'applications'),
    keyOf,
    page,
    inputs: [],
  });
  const columns: readonly Column<Application>[] = [
    {
      id: 'name',
      title: words.name,
      isHeading: true,
      cell: ({ id, name }) => <a href={href('/admin/applications/:id', { id })}>{name}</a>,
    },
    { id: 'type', title: words.type, cell: ({ type }) => words.types[type] },
    { id: 'availability', title: words.availability, cell: ({ availability }) => words.availabilities[availability] },
    { id: 'owner', title: words.owner, cell: ({ owner }) => owner?.tenant?.id ?? '' },
    { id: 'contextPath', title: words.contextPath, cell: ({ contextPath }) => contextPath ?? '' },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (application) => {
        const found = pageOf(application);
        return (
          found && (
            <LinkButton icon={ExternalLink} href={openUrl(found)}>
              {words.open}
            </LinkButton>
          )
        );
      },
    },
  ];
  return (
    <Page
      copy={{ path: pagePath(APPLICATIONS_PATH, page) }}
      title={adminWords().applications}
      actions={
        <Button kind="main" icon={Plus} roles={APPLICATION_ADMIN} onClick={() => setAdding(true)}>
          {words.addApplication}
        </Button>
      }
    >
      <ListPage
        label={adminWords().applications}
        list={list}
        columns={columns}
        keyOf={keyOf}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        empty={<p>{words.noApplication}</p>}
      />
      {isAdding && <Add onClose={() => setAdding(false)} />}
    </Page>
  );
}
