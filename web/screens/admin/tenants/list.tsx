/** Tenants below this one, and how to add one. */
import { Plus } from 'lucide';
import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { changeJson } from '../../../core/api/json.ts';
import { useAction } from '../../../core/api/request.ts';
import { randomText } from '../../../core/clipboard.ts';
import { notify } from '../../../core/notices.ts';
import { href } from '../../../core/route.ts';
import { collectionAt, pagePath } from '../../../core/server/collection.ts';
import { common } from '../../../core/text/common.ts';
import { numberParameter, textParameter, useUrlState } from '../../../core/url-state.ts';
import { Button } from '../../../parts/button.tsx';
import { CopyButton } from '../../../parts/copy.tsx';
import { FormDialog } from '../../../parts/dialog.tsx';
import { TextField, optionalLabel } from '../../../parts/fields.tsx';
import { FilterBar, SlowTextField } from '../../../parts/filter-bar.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { useList } from '../../../parts/list/list.ts';
import { Page } from '../../../parts/page.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { Time } from '../../../parts/time.tsx';
import { words as adminWords } from '../titles/text.ts';
import { TENANTS_PATH } from './tenant-data.ts';
import type { Tenant } from './tenant-data.ts';
import { words as tenantWords } from './text.ts';

const SHAPE = { company: textParameter(), page: numberParameter(1, { minimum: 1 }) };
const ADD = ['ROLE_TENANT_MANAGEMENT_ADMIN', 'ROLE_TENANT_MANAGEMENT_CREATE'];
const PASSWORD_LENGTH = 20;

function Add({ onClose }: { readonly onClose: () => void }) {
  const words = tenantWords();
  const { route } = useLocation();
  const [id, setId] = useState('');
  const [company, setCompany] = useState('');
  const [domain, setDomain] = useState('');
  const [adminName, setAdminName] = useState('admin');
  const [adminEmail, setAdminEmail] = useState('');
  const [adminPass, setAdminPass] = useState(() => `${randomText(PASSWORD_LENGTH)}aA1-`);
  const add = useAction(async () => {
    const optional = Object.fromEntries(Object.entries({ id, adminEmail }).filter(([, value]) => value !== ''));
    const made = await changeJson<Tenant>('POST', TENANTS_PATH, { company, domain, adminName, adminPass, ...optional });
    notify(words.made(made?.id ?? company));
    onClose();
    if (made !== undefined) route(href('/admin/tenants/:id', { id: made.id }));
  });
  return (
    <FormDialog
      title={words.add}
      onClose={onClose}
      onSubmit={() => void add.run()}
      action={words.add}
      isBusy={add.isRunning}
      error={add.error}
    >
      <TextField label={words.company} value={company} onInput={setCompany} isRequired hasFocus />
      <TextField label={words.domain} value={domain} onInput={setDomain} hint={words.domainHint} isRequired />
      <TextField label={optionalLabel(words.id)} value={id} onInput={setId} />
      <TextField label={words.administrator} value={adminName} onInput={setAdminName} isRequired />
      <TextField label={optionalLabel(words.email)} type="email" value={adminEmail} onInput={setAdminEmail} />
      <TextField
        label={words.password}
        value={adminPass}
        onInput={setAdminPass}
        hint={words.passwordHint}
        isMono
        isRequired
      />
      <CopyButton text={adminPass}>{common().copy}</CopyButton>
    </FormDialog>
  );
}

export default function Tenants() {
  const words = tenantWords();
  const [{ company, page }, set] = useUrlState(SHAPE);
  const [isAdding, setAdding] = useState(false);
  const query = company === '' ? {} : { company };
  const keyOf = ({ id }: Tenant): string => id;
  const list = useList({
    ...collectionAt<Tenant>(TENANTS_PATH, 'tenants', query),
    keyOf,
    page,
    inputs: [company],
  });
  const columns: readonly Column<Tenant>[] = [
    {
      id: 'id',
      title: words.id,
      isHeading: true,
      cell: ({ id }) => <a href={href('/admin/tenants/:id', { id })}>{id}</a>,
    },
    { id: 'company', title: words.company, cell: (tenant) => tenant.company ?? '' },
    { id: 'domain', title: words.domain, cell: ({ domain }) => domain ?? '' },
    { id: 'status', title: words.status, cell: ({ status }) => words.statuses[status] },
    { id: 'parent', title: words.parent, cell: ({ parent }) => parent ?? '' },
    { id: 'created', title: words.created, cell: ({ creationTime }) => <Time value={creationTime} /> },
  ];
  const clear = (): void => set({ company: '', page: 1 }, { isStep: true });
  return (
    <Page
      copy={{ path: pagePath(TENANTS_PATH, page, query) }}
      title={adminWords().tenants}
      actions={
        <Button kind="main" icon={Plus} roles={ADD} onClick={() => setAdding(true)}>
          {words.add}
        </Button>
      }
    >
      <FilterBar onClear={company === '' ? undefined : clear}>
        <SlowTextField label={words.company} value={company} onChange={(value) => set({ company: value, page: 1 })} />
      </FilterBar>
      <ListPage
        label={adminWords().tenants}
        list={list}
        columns={columns}
        keyOf={keyOf}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        hasFilters={company !== ''}
        onClearFilters={clear}
        empty={<p>{words.onlyManagement}</p>}
      />
      {isAdding && <Add onClose={() => setAdding(false)} />}
    </Page>
  );
}
