/** A tenant: who it is, its limits, usage and applications; suspending and deleting it. */
import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { Trash2 } from 'lucide';
import { changeJson, getJson } from '../../../core/api/json.ts';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import { tenant as yours } from '../../../core/api/session.ts';
import { notify } from '../../../core/notices.ts';
import { href, queryText } from '../../../core/route.ts';
import type { ScreenProps } from '../../../core/route.ts';
import { collectionAt, pagePath, unwrapped, wholeOf } from '../../../core/server/collection.ts';
import { common } from '../../../core/text/common.ts';
import { numberText } from '../../../core/text/language.ts';
import { bytesText } from '../../../core/text/units.ts';
import { dayOf } from '../../../core/time/time.ts';
import { offerUndo } from '../../../core/api/undo.ts';
import { Button } from '../../../parts/button.tsx';
import { Confirm } from '../../../parts/dialog.tsx';
import { Form, SelectField, TextField } from '../../../parts/fields.tsx';
import { Meter } from '../../../parts/meter.tsx';
import { Page, Section } from '../../../parts/page.tsx';
import { FormFault, With } from '../../../parts/states.tsx';
import { Time } from '../../../parts/time.tsx';
import type { Application } from './application-data.ts';
import { words as adminWords } from '../titles/text.ts';
import { LIMITS, boundsOf, isBadLimit, limitText, tenantPath, withLimits } from './tenant-data.ts';
import type { Bound, Tenant, Usage as UsageCounts } from './tenant-data.ts';
import { words as tenantWords } from './text.ts';

const UPDATE = ['ROLE_TENANT_MANAGEMENT_ADMIN', 'ROLE_TENANT_MANAGEMENT_UPDATE'];
const ADMIN = ['ROLE_TENANT_MANAGEMENT_ADMIN'];
const MANAGEMENT = 'management';
const USAGE_DAYS = 31;
const DAY_MS = 86_400_000;
const USAGE = [
  'deviceCount',
  'measurementsCreatedCount',
  'eventsCreatedCount',
  'alarmsCreatedCount',
  'inventoriesCreatedCount',
  'requestCount',
  'deviceRequestCount',
  'storageSize',
] as const;

/** Today's use of what is bounded, with words for what has no bound. */
function Bounds({ tenant }: { readonly tenant: Tenant }) {
  const words = tenantWords();
  const today = dayOf(Date.now(), 'UTC');
  const loaded = useLoaded(
    (signal) => {
      const query = queryText({ tenant: tenant.id, dateFrom: today, dateTo: today });
      return getJson<UsageCounts>(`/tenant/statistics/summary${query}`, signal);
    },
    [tenant.id],
  );
  const seconds = Math.max(1, (Date.now() - Date.parse(today)) / 1_000);
  const text = (name: Bound['name'], value: number): string =>
    name === 'storage' ? bytesText(value) : numberText(value, { maximumFractionDigits: 1 });
  return (
    <With loaded={loaded}>
      {(usage) => (
        <dl class="facts section">
          {boundsOf(tenant, usage, seconds).map(({ name, value, max }) => (
            <>
              <dt key={name}>{words.boundNames[name]}</dt>
              <dd>
                {max === undefined ? (
                  words.unbounded(text(name, value))
                ) : (
                  <Meter
                    label={words.boundNames[name]}
                    value={value}
                    max={max}
                    text={words.ofBound(text(name, value), text(name, max))}
                  />
                )}
              </dd>
            </>
          ))}
        </dl>
      )}
    </With>
  );
}

function Usage({ tenant }: { readonly tenant: Tenant }) {
  const { id } = tenant;
  const words = tenantWords();
  const loaded = useLoaded(
    (signal) => {
      const days = { dateFrom: dayOf(Date.now() - (USAGE_DAYS - 1) * DAY_MS, 'UTC'), dateTo: dayOf(Date.now(), 'UTC') };
      const query = queryText({ tenant: id, ...days });
      return getJson<UsageCounts>(`/tenant/statistics/summary${query}`, signal);
    },
    [id],
  );
  return (
    <Section title={words.usage}>
      <Bounds tenant={tenant} />
      <With loaded={loaded}>
        {(usage) => (
          <dl class="facts">
            {USAGE.map((name) => (
              <>
                <dt key={name}>{words.usageNames[name]}</dt>
                <dd>{(name === 'storageSize' ? bytesText : numberText)(usage[name] ?? 0)}</dd>
              </>
            ))}
          </dl>
        )}
      </With>
    </Section>
  );
}

function Limits({ tenant, onChanged }: { readonly tenant: Tenant; readonly onChanged: () => void }) {
  const words = tenantWords();
  const [fields, setFields] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(LIMITS.map((name) => [name, limitText(tenant, name)])),
  );
  const save = useAction(async () => {
    if (LIMITS.some((name) => isBadLimit(fields[name]))) return;
    const path = tenantPath(tenant.id);
    const limitsOf = (of: Tenant): string => LIMITS.map((name) => limitText(of, name)).join();
    const changed = { ...tenant, customProperties: withLimits(tenant, fields) };
    await changeJson('PUT', path, { customProperties: changed.customProperties });
    offerUndo(words.changed(tenant.id), {
      isAsLeft: async () => limitsOf(await getJson<Tenant>(path)) === limitsOf(changed),
      run: async () => {
        const now = await getJson<Tenant>(path);
        const before = Object.fromEntries(LIMITS.map((name) => [name, limitText(tenant, name)]));
        await changeJson('PUT', path, { customProperties: withLimits(now, before) });
        setFields(before);
        onChanged();
      },
    });
    onChanged();
  });
  return (
    <Section title={words.limits}>
      <Form onSubmit={() => void save.run()} label={words.limits}>
        {LIMITS.map((name) => (
          <TextField
            key={name}
            label={words.limitNames[name]}
            inputMode="numeric"
            value={fields[name]}
            error={isBadLimit(fields[name]) ? words.badLimit : undefined}
            onInput={(value) => setFields({ ...fields, [name]: value })}
          />
        ))}
        <p class="field-hint">{words.limitHint}</p>
        <div>
          <Button type="submit" roles={UPDATE} isBusy={save.isRunning}>
            {common().save}
          </Button>
        </div>
        <FormFault error={save.error} />
      </Form>
    </Section>
  );
}

function Applications({ id }: { readonly id: string }) {
  const words = tenantWords();
  const path = `${tenantPath(id)}/applications`;
  const [chosen, setChosen] = useState('');
  const read = async (signal?: AbortSignal): Promise<readonly (Application | undefined)[]> =>
    unwrapped<Application | undefined>('application')(await wholeOf(collectionAt(path, 'references'), signal));
  const loaded = useLoaded(read, [id]);
  const all = useLoaded(
    (signal) => collectionAt<Application>('/application/applications', 'applications').load(1, signal),
    [],
  );
  const change = useAction(async (application: Application, isOn: boolean) => {
    const set = (on: boolean): Promise<unknown> =>
      on
        ? changeJson('POST', path, { application: { id: application.id } })
        : changeJson('DELETE', `${path}/${application.id}`);
    await set(isOn);
    loaded.reload();
    setChosen('');
    offerUndo((isOn ? words.subscribed : words.unsubscribed)(application.name, id), {
      isAsLeft: async () => (await read()).some((one) => one?.id === application.id) === isOn,
      run: async () => {
        await set(!isOn);
        loaded.reload();
      },
    });
  });
  const held = (loaded.data ?? []).filter((one) => one !== undefined);
  const others = (all.data ?? []).filter((one) => !held.some((has) => has.id === one.id));
  const picked = others.find((one) => one.id === chosen);
  return (
    <Section title={words.applications}>
      <With loaded={loaded}>
        {() => (
          <ul class="stack">
            {held.length === 0 && <li class="muted">{words.noApplications}</li>}
            {held.map((application) => (
              <li key={application.id} class="row row-apart">
                <a href={href('/admin/applications/:id', { id: application.id })}>{application.name}</a>
                <Button
                  kind="quiet"
                  roles={UPDATE}
                  label={`${words.unsubscribe}: ${application.name}`}
                  onClick={() => void change.run(application, false)}
                >
                  {words.unsubscribe}
                </Button>
              </li>
            ))}
          </ul>
        )}
      </With>
      <div class="filters">
        <SelectField
          label={words.subscribe}
          value={chosen}
          options={[{ value: '', text: words.choose }, ...others.map((one) => ({ value: one.id, text: one.name }))]}
          onChange={setChosen}
        />
        <Button
          roles={UPDATE}
          blocked={picked === undefined ? words.choose : undefined}
          onClick={() => picked && void change.run(picked, true)}
        >
          {words.subscribe}
        </Button>
      </div>
      <FormFault error={change.error} />
    </Section>
  );
}

export default function TenantScreen({ params: { id } }: ScreenProps) {
  const words = tenantWords();
  const { route } = useLocation();
  const [open, setOpen] = useState<'suspend' | 'remove'>();
  const loaded = useLoaded((signal) => getJson<Tenant>(tenantPath(id), signal), [id]);
  const tenant = loaded.data;
  const blocked = id === MANAGEMENT || id === yours.value?.name ? words.protectedTenant : undefined;
  const close = (): void => setOpen(undefined);
  const set = async (status: Tenant['status']): Promise<void> => {
    await changeJson('PUT', tenantPath(id), { status });
    loaded.reload();
  };
  const activate = useAction(async () => {
    await set('ACTIVE');
    notify(words.activated(id));
  });
  const suspend = async (): Promise<void> => {
    await set('SUSPENDED');
    offerUndo(words.suspended(id), {
      isAsLeft: async () => (await getJson<Tenant>(tenantPath(id))).status === 'SUSPENDED',
      run: () => set('ACTIVE'),
    });
  };
  const remove = async (): Promise<void> => {
    await changeJson('DELETE', tenantPath(id));
    notify(words.removed(id));
    route(href('/admin/tenants'));
  };
  return (
    <Page
      copy={[{ path: tenantPath(id) }, { path: pagePath(`${tenantPath(id)}/applications`, 1) }]}
      title={id}
      crumbs={[{ text: adminWords().tenants, href: href('/admin/tenants') }]}
      actions={
        <>
          {tenant?.status === 'SUSPENDED' ? (
            <Button roles={UPDATE} isBusy={activate.isRunning} onClick={() => void activate.run()}>
              {words.activate}
            </Button>
          ) : (
            <Button roles={UPDATE} blocked={blocked} onClick={() => setOpen('suspend')}>
              {words.suspend}
            </Button>
          )}
          <Button icon={Trash2} kind="danger" roles={ADMIN} blocked={blocked} onClick={() => setOpen('remove')}>
            {words.remove}
          </Button>
        </>
      }
    >
      <FormFault error={activate.error} />
      <With loaded={loaded}>
        {(found) => (
          <>
            <dl class="facts section">
              <dt>{words.status}</dt>
              <dd>{words.statuses[found.status]}</dd>
              <dt>{words.company}</dt>
              <dd>{found.company || '–'}</dd>
              <dt>{words.domain}</dt>
              <dd>{found.domain || '–'}</dd>
              <dt>{words.parent}</dt>
              <dd>{found.parent ?? '–'}</dd>
              <dt>{words.administrator}</dt>
              <dd>{[found.adminName, found.adminEmail].filter(Boolean).join(' · ') || '–'}</dd>
              <dt>{words.contact}</dt>
              <dd>{found.contactName || '–'}</dd>
              <dt>{words.created}</dt>
              <dd>
                <Time value={found.creationTime} hasAge />
              </dd>
            </dl>
            <div class="columns columns-even">
              <div>
                <Usage tenant={found} />
                <Applications key={id} id={id} />
              </div>
              <Limits key={id} tenant={found} onChanged={loaded.reload} />
            </div>
          </>
        )}
      </With>
      {open === 'suspend' && (
        <Confirm title={words.suspendTitle(id)} action={words.suspend} isDangerous run={suspend} onClose={close}>
          <p>{words.suspendText}</p>
        </Confirm>
      )}
      {open === 'remove' && (
        <Confirm
          title={words.removeTitle(id)}
          action={words.remove}
          isDangerous
          phrase={id}
          run={remove}
          onClose={close}
        >
          <p>{words.removeText}</p>
        </Confirm>
      )}
    </Page>
  );
}
