/**
 * The page of a device: its name, state and tabs, with the content of one tab. Screens of `/devices/:id/…` render it:
 * `<DevicePage id={params.id} copy={{ path: devicePath(params.id) }}>{…}</DevicePage>`. Their rows of the route table have `tab`.
 */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { useContext } from 'preact/hooks';
import { useLoaded } from '../../core/api/request.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { useSoon } from '../../core/live/pace.ts';
import { RouteTable, href } from '../../core/route.ts';
import { SEVERITIES, countBySeverity } from '../../core/server/alarm.ts';
import { nameOf, readObject } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { common } from '../../core/text/common.ts';
import { ConnectionState, SeverityBadge, connectionOf } from '../badge.tsx';
import { Page } from '../page.tsx';
import type { ViewCopy } from '../page.tsx';
import { PageTabs } from '../tabs.tsx';
import { Empty, Fault, Loading } from '../states.tsx';

/** The last device, so that another tab of it shows at once. */
const last = signal<ManagedObject | undefined>(undefined);

/** Shows the device, but where a later state of it is shown: answers and live messages overtake each other. */
function show(device: ManagedObject): ManagedObject {
  const shown = last.peek();
  const isLater = shown?.id === device.id && Date.parse(shown.lastUpdated ?? '') > Date.parse(device.lastUpdated ?? '');
  if (shown !== undefined && isLater) return shown;
  last.value = device;
  return device;
}

export interface DeviceContent {
  readonly device: ManagedObject;
  /** Shows another state of the device, after a change made here. */
  readonly onChanged: (device: ManagedObject) => void;
}

export interface DevicePageProps extends ViewCopy {
  readonly id: string;
  readonly children: (content: DeviceContent) => ComponentChildren;
}

function Tabs({ id, device, alarmCount }: { id: string; device: ManagedObject; alarmCount: number }) {
  const routes = useContext(RouteTable);
  const { path } = useLocation();
  const tabs = routes
    .filter(({ tab }) => tab !== undefined && (tab.isFor?.(device) ?? true))
    .sort((left, right) => (left.tab?.order ?? 0) - (right.tab?.order ?? 0))
    .map((entry) => {
      const target = href(entry.path as '/devices/:id', { id });
      return {
        href: target,
        text: entry.title(),
        isCurrent: path === target.split('?')[0],
        ...(entry.path.endsWith('/alarms') ? { count: alarmCount } : {}),
      };
    });
  return <PageTabs label={nameOf(device)} tabs={tabs} />;
}

export function DevicePage({ id, children, ...view }: DevicePageProps) {
  const words = common();
  const known = last.value?.id === id ? last.value : undefined;
  const loaded = useLoaded(async (signal) => show(await readObject(id, signal)), [id]);
  const alarms = useLoaded((signal) => countBySeverity({ source: id, resolved: 'false' }, signal), [id]);
  const recount = useSoon(alarms.reload);
  useLive([`/managedobjects/${id}`, `/alarms/${id}`], {
    onMessages: (messages) => {
      if (messages.some(({ channel }) => channel.startsWith('/alarms/'))) recount();
      const change = messages.map(changeOf).findLast((one) => one?.realtimeAction === 'UPDATE');
      if (change !== undefined && (change.data as ManagedObject).id === id) show(change.data as ManagedObject);
      if (messages.some((one) => changeOf(one)?.realtimeAction === 'DELETE' && one.channel.startsWith('/managed')))
        loaded.reload();
    },
    onGap: () => {
      loaded.reload();
      alarms.reload();
    },
  });
  const crumbs = [{ text: words.sections.devices, href: href('/devices') }];
  const { error } = loaded;
  const fault = error && <Fault error={error} retry={loaded.reload} />;
  if (known === undefined || error?.status === 404)
    return (
      <Page title={id} crumbs={crumbs} {...view}>
        {error?.status === 404 ? (
          <Empty title={words.deviceGone}>
            <p>{error.message}</p>
          </Empty>
        ) : (
          (fault ?? <Loading />)
        )}
      </Page>
    );
  const counts = alarms.data;
  const alarmCount = counts === undefined ? 0 : SEVERITIES.reduce((sum, severity) => sum + counts[severity], 0);
  const worst = SEVERITIES.find((severity) => (counts?.[severity] ?? 0) > 0);
  return (
    <Page
      title={nameOf(known)}
      crumbs={crumbs}
      beside={
        <span class="row">
          <ConnectionState state={connectionOf(known)} />
          {worst && counts && <SeverityBadge severity={worst} count={counts[worst]} />}
        </span>
      }
      {...view}
      tabs={<Tabs id={id} device={known} alarmCount={alarmCount} />}
    >
      {fault}
      {children({
        device: known,
        onChanged: show,
      })}
    </Page>
  );
}
