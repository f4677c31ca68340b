/** Subscriptions of Notifications 2.0: list, add, delete, a token with its command, and the consumers with their backlog. */
import { Plus } from 'lucide';
import { useState } from 'preact/hooks';
import { changeJson, getJson, pathOf } from '../../core/api/json.ts';
import { usePoll } from '../../core/api/poll.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { offerUndo } from '../../core/api/undo.ts';
import { notify } from '../../core/notices.ts';
import { socketUrl } from '../../core/places.ts';
import { href } from '../../core/route.ts';
import { collectionAt, pagePath } from '../../core/server/collection.ts';
import { common } from '../../core/text/common.ts';
import { numberParameter, useUrlState } from '../../core/url-state.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm, Dialog, FormDialog } from '../../parts/dialog.tsx';
import { CheckField, Form, SelectField, TextField } from '../../parts/fields.tsx';
import { Code } from '../../parts/json.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { useList } from '../../parts/list/list.ts';
import { Page } from '../../parts/page.tsx';
import { FormFault, With } from '../../parts/states.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Consumers } from '../operate/consumers.tsx';
import type { Status } from '../operate/metrics.ts';
import { words as subscriptionWords } from './text.ts';

const SHAPE = { page: numberParameter(1, { minimum: 1 }) };
const PATH = '/notification2/subscriptions';
const ADMIN = ['ROLE_NOTIFICATION_2_ADMIN'];
const APIS = ['*', 'alarms', 'events', 'measurements', 'managedobjects', 'operations'] as const;
const TOKEN_MINUTES = 1_440;
const CONSUMERS_EVERY_MS = 5_000;

interface Subscription {
  readonly id: string;
  readonly context: 'mo' | 'tenant';
  readonly subscription: string;
  readonly nonPersistent?: boolean;
  readonly source?: { readonly id: string; readonly name?: string };
  readonly subscriptionFilter?: { readonly apis?: readonly string[] };
}

function Add({ onClose, onChanged }: { readonly onClose: () => void; readonly onChanged: () => void }) {
  const words = subscriptionWords();
  const [subscription, setSubscription] = useState('');
  const [context, setContext] = useState<Subscription['context']>('mo');
  const [source, setSource] = useState('');
  const [api, setApi] = useState<(typeof APIS)[number]>('*');
  const [nonPersistent, setNonPersistent] = useState(false);
  const add = useAction(async () => {
    const of = context === 'mo' ? { source: { id: source.trim() } } : {};
    const body = { context, subscription, nonPersistent, subscriptionFilter: { apis: [api] }, ...of };
    await changeJson('POST', PATH, body);
    notify(words.added(subscription));
    onChanged();
    onClose();
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
      <TextField
        label={words.name}
        value={subscription}
        onInput={setSubscription}
        hint={words.nameHint}
        isRequired
        hasFocus
      />
      <SelectField
        label={words.context}
        value={context}
        options={(['mo', 'tenant'] as const).map((value) => ({
          value: value as Subscription['context'],
          text: words.contexts[value],
        }))}
        onChange={setContext}
      />
      {context === 'mo' && <TextField label={words.source} value={source} onInput={setSource} isMono isRequired />}
      <SelectField
        label={words.apis}
        value={api}
        options={APIS.map((value) => ({ value, text: words.apiNames[value] }))}
        onChange={setApi}
      />
      <CheckField label={words.isVolatile} isChecked={nonPersistent} onChange={setNonPersistent} />
    </FormDialog>
  );
}

function Token({ of, onClose }: { readonly of: Subscription; readonly onClose: () => void }) {
  const words = subscriptionWords();
  const [subscriber, setSubscriber] = useState('monitor');
  const [token, setToken] = useState<string>();
  const make = useAction(async () => {
    const { subscription, nonPersistent = false } = of;
    const body = { subscription, subscriber, nonPersistent, expiresInMinutes: TOKEN_MINUTES };
    setToken((await changeJson<{ token: string }>('POST', '/notification2/token', body))?.token);
  });
  return (
    <Dialog
      title={`${words.token}: ${of.subscription}`}
      onClose={onClose}
      isWide
      foot={
        <Button kind="main" type="submit" form="token" roles={ADMIN} isBusy={make.isRunning}>
          {words.token}
        </Button>
      }
    >
      <Form id="token" onSubmit={() => void make.run()}>
        <p>{words.tokenText}</p>
        <TextField label={words.subscriber} value={subscriber} onInput={setSubscriber} isRequired hasFocus />
        <FormFault error={make.error} />
      </Form>
      {token !== undefined && (
        <Code
          label={words.command}
          text={`npx wscat -c '${socketUrl(`/notification2/consumer/?token=${encodeURIComponent(token)}`)}'`}
        />
      )}
    </Dialog>
  );
}

function Backlog() {
  const loaded = useLoaded((signal) => getJson<Pick<Status, 'consumers'>>('/millrace/status', signal), []);
  usePoll(CONSUMERS_EVERY_MS, loaded.isLoading ? undefined : loaded.reload);
  return <With loaded={loaded}>{({ consumers = [] }) => <Consumers consumers={consumers} />}</With>;
}

export default function Subscriptions() {
  const words = subscriptionWords();
  const [{ page }, set] = useUrlState(SHAPE);
  const [isAdding, setAdding] = useState(false);
  const [tokenOf, setTokenOf] = useState<Subscription>();
  const [removed, setRemoved] = useState<Subscription>();
  const keyOf = ({ id }: Subscription): string => id;
  const list = useList({ ...collectionAt<Subscription>(PATH, 'subscriptions'), keyOf, page, inputs: [] });
  const remove = async (): Promise<void> => {
    if (removed === undefined) return;
    await changeJson('DELETE', pathOf`/notification2/subscriptions/${removed.id}`);
    list.reload();
    const { id: _, source, ...rest } = removed;
    const same = { context: rest.context, subscription: rest.subscription, source: source?.id };
    offerUndo(words.removed(removed.subscription), {
      isAsLeft: async () => (await collectionAt(PATH, 'subscriptions', same).load(1)).length === 0,
      run: async () => {
        await changeJson('POST', PATH, source === undefined ? rest : { ...rest, source: { id: source.id } });
        list.reload();
      },
    });
  };
  const columns: readonly Column<Subscription>[] = [
    { id: 'name', title: words.name, isHeading: true, cell: ({ subscription }) => subscription },
    {
      id: 'context',
      title: words.context,
      cell: ({ source }) =>
        source === undefined ? (
          words.contexts.tenant
        ) : (
          <a href={href('/devices/:id', { id: source.id })}>{source.name ?? source.id}</a>
        ),
    },
    {
      id: 'apis',
      title: words.apis,
      cell: ({ subscriptionFilter }) =>
        (subscriptionFilter?.apis ?? ['*']).map((name) => words.apiNames[name] ?? name).join(', '),
    },
    {
      id: 'persistence',
      title: words.persistence,
      cell: ({ nonPersistent }) => (nonPersistent ? words.volatile : words.persistent),
    },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (row) => (
        <span class="row">
          <Button
            kind="quiet"
            roles={ADMIN}
            label={`${words.token}: ${row.subscription}`}
            onClick={() => setTokenOf(row)}
          >
            {words.token}
          </Button>
          <Button
            kind="quiet"
            roles={ADMIN}
            label={words.removeTitle(row.subscription)}
            onClick={() => setRemoved(row)}
          >
            {words.remove}
          </Button>
        </span>
      ),
    },
  ];
  return (
    <Page
      copy={[{ path: pagePath(PATH, page) }, { path: '/millrace/status' }]}
      title={words.title}
      actions={
        <Button kind="main" icon={Plus} roles={ADMIN} onClick={() => setAdding(true)}>
          {words.add}
        </Button>
      }
    >
      <p class="section muted">{words.hint}</p>
      <div class="section">
        <ListPage
          label={words.title}
          list={list}
          columns={columns}
          keyOf={keyOf}
          page={page}
          onPage={(value) => set({ page: value }, { isStep: true })}
          empty={<p>{words.hint}</p>}
        />
      </div>
      <Backlog />
      {isAdding && <Add onClose={() => setAdding(false)} onChanged={list.reload} />}
      {tokenOf && <Token of={tokenOf} onClose={() => setTokenOf(undefined)} />}
      {removed && (
        <Confirm
          title={words.removeTitle(removed.subscription)}
          action={words.remove}
          isDangerous
          run={remove}
          onClose={() => setRemoved(undefined)}
        >
          <p>{words.removeText}</p>
        </Confirm>
      )}
    </Page>
  );
}
