/** Devices that ask for credentials: announced, accepted, with their security token, one or all. */
import { Check, CheckCheck, Plus, Trash2, Upload } from 'lucide';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { api, got } from '../../core/api/api.ts';
import { useAction } from '../../core/api/request.ts';
import { sendRaw } from '../../core/api/send.ts';
import { notify } from '../../core/notices.ts';
import { href } from '../../core/route.ts';
import { PAGE_SIZE } from '../../core/server/managed-object.ts';
import { pagePath } from '../../core/server/collection.ts';
import { common } from '../../core/text/common.ts';
import { numberParameter, useUrlState } from '../../core/url-state.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button, LinkButton } from '../../parts/button.tsx';
import { Confirm, FormDialog } from '../../parts/dialog.tsx';
import { TextField, optionalLabel } from '../../parts/fields.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { useList } from '../../parts/list/list.ts';
import { Page } from '../../parts/page.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import { words as registrationWords } from './text.ts';
import type { RegistrationTexts } from './text.ts';

const PATH = '/devicecontrol/newDeviceRequests';
const ADMIN = ['ROLE_DEVICE_CONTROL_ADMIN'];
/** Requests have no channel. A hidden page does not ask. */
const POLL_MS = 5_000;
const SHAPE = { page: numberParameter(1, { minimum: 1 }) };

interface DeviceRequest {
  readonly id: string;
  readonly status: keyof RegistrationTexts['statuses'];
  readonly type?: string;
  readonly groupId?: string;
  readonly creationTime?: string;
}

async function listRequests(page: number, signal: AbortSignal): Promise<readonly DeviceRequest[]> {
  const query = { pageSize: PAGE_SIZE, currentPage: page };
  const answer = await got(api.GET('/devicecontrol/newDeviceRequests', { params: { query: query as never }, signal }));
  return (answer as unknown as { newDeviceRequests: DeviceRequest[] }).newDeviceRequests;
}

interface DialogOfOne {
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function Announce({ onDone, onClose }: DialogOfOne) {
  const words = registrationWords();
  const [id, setId] = useState('');
  const [type, setType] = useState('');
  const [group, setGroup] = useState('');
  const announce = useAction(async () => {
    const body = { id, ...(type === '' ? {} : { type }), ...(group === '' ? {} : { groupId: group }) };
    await got(api.POST('/devicecontrol/newDeviceRequests', { body: body as never }));
    notify(words.announced(id));
    onDone();
    onClose();
  });
  return (
    <FormDialog
      title={words.announce}
      onClose={onClose}
      onSubmit={() => void announce.run()}
      action={words.announce}
      isBusy={announce.isRunning}
      error={announce.error}
    >
      <TextField label={words.id} value={id} onInput={setId} isRequired hasFocus />
      <TextField label={optionalLabel(words.type)} value={type} onInput={setType} />
      <TextField label={optionalLabel(words.group)} value={group} onInput={setGroup} />
    </FormDialog>
  );
}

function Accept({ id, onDone, onClose }: DialogOfOne & { readonly id: string }) {
  const words = registrationWords();
  const [token, setToken] = useState('');
  return (
    <Confirm
      title={words.acceptTitle(id)}
      action={words.accept}
      onClose={onClose}
      run={async () => {
        const body = { status: 'ACCEPTED', ...(token === '' ? {} : { securityToken: token }) };
        await sendRaw(`${PATH}/${encodeURIComponent(id)}`, {
          method: 'PUT',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        });
        notify(words.accepted(id));
        onDone();
      }}
    >
      <p>{words.acceptText}</p>
      <TextField label={optionalLabel(words.token)} hint={words.tokenHint} value={token} onInput={setToken} />
    </Confirm>
  );
}

type Open = { readonly kind: 'announce' | 'all' } | { readonly kind: 'accept' | 'remove'; readonly id: string };

function columnsOf(words: RegistrationTexts, onOpen: (open: Open) => void): Column<DeviceRequest>[] {
  return [
    { id: 'id', title: words.id, isHeading: true, cell: ({ id }) => <span class="mono">{id}</span> },
    { id: 'status', title: words.status, cell: ({ status }) => <Badge>{words.statuses[status] ?? status}</Badge> },
    { id: 'type', title: words.type, cell: ({ type }) => type ?? '' },
    { id: 'time', title: words.time, cell: ({ creationTime }) => <Time value={creationTime} hasAge /> },
    {
      id: 'actions',
      title: words.actions,
      isNarrow: true,
      cell: ({ id, status }) => (
        <span class="cell-actions">
          {status === 'PENDING_ACCEPTANCE' && (
            <Button
              icon={Check}
              roles={ADMIN}
              label={words.acceptOf(id)}
              onClick={() => onOpen({ kind: 'accept', id })}
            >
              {words.accept}
            </Button>
          )}
          <Button
            icon={Trash2}
            kind="danger"
            roles={ADMIN}
            label={words.removeOf(id)}
            onClick={() => onOpen({ kind: 'remove', id })}
          >
            {words.remove}
          </Button>
        </span>
      ),
    },
  ];
}

async function acceptAll(words: RegistrationTexts): Promise<void> {
  const answer = await sendRaw(`${PATH}/acceptAll`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  });
  const results = (await answer.json()) as readonly { readonly successful: boolean }[];
  const good = results.filter(({ successful }) => successful).length;
  notify(words.acceptedAll(good, results.length - good));
}

export default function DeviceRequests() {
  const words = registrationWords();
  const [{ page }, set] = useUrlState(SHAPE);
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  const list = useList({ load: listRequests, keyOf: ({ id }) => id, page, inputs: [] });
  const { reload } = list;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), POLL_MS);
    return () => clearInterval(timer);
  }, [reload]);
  const columns = useMemo(() => columnsOf(words, setOpen), [words]);
  return (
    <Page
      copy={{ path: pagePath(PATH, page) }}
      title={words.requests}
      crumbs={[{ text: common().sections.devices, href: href('/devices') }]}
      actions={
        <>
          <LinkButton icon={Upload} href={href('/devices/import')}>
            {words.import}
          </LinkButton>
          <Button icon={CheckCheck} roles={ADMIN} onClick={() => setOpen({ kind: 'all' })}>
            {words.acceptAll}
          </Button>
          <Button kind="main" icon={Plus} roles={ADMIN} onClick={() => setOpen({ kind: 'announce' })}>
            {words.announce}
          </Button>
        </>
      }
    >
      <ListPage
        label={words.requests}
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        empty={<p>{words.requestsText}</p>}
      />
      {open?.kind === 'announce' && <Announce onDone={reload} onClose={close} />}
      {open?.kind === 'accept' && <Accept id={open.id} onDone={reload} onClose={close} />}
      {open?.kind === 'all' && (
        <Confirm
          title={words.acceptAllTitle}
          action={words.acceptAll}
          onClose={close}
          run={async () => {
            await acceptAll(words);
            reload();
          }}
        >
          <p>{words.acceptAllText}</p>
        </Confirm>
      )}
      {open?.kind === 'remove' && (
        <Confirm
          title={words.removeTitle(open.id)}
          action={words.remove}
          isDangerous
          onClose={close}
          run={async () => {
            await sendRaw(`${PATH}/${encodeURIComponent(open.id)}`, { method: 'DELETE' });
            reload();
          }}
        >
          <p>{words.removeText}</p>
        </Confirm>
      )}
    </Page>
  );
}
