/** The rows of the console's route table for the tests of every screen, and how a page goes from one to the next. */
import type { Page } from 'playwright-core';

export const GALLERY = '/gallery';

interface RouteRow {
  readonly path: string;
  readonly example?: Readonly<Record<string, string>>;
}

/** A state of the screen in its address that is not the default. */
const STATES: Readonly<Record<string, string>> = {
  '/devices': 'name=Stat&sort=name&page=1',
  '/limits': 'q=mqtt',
  '/connections': 'text=none',
  '/traffic': 'kind=in&topic=s/%23',
  '/admin/users': 'name=adm',
  '/admin/groups': 'page=2',
  '/admin/groups/:id': 'page=2',
  '/admin/inventory-roles': 'page=2',
  '/admin/options': 'page=2',
  '/admin/certificates': 'page=2',
  '/admin/applications': 'page=2',
  '/admin/audit': 'user=admin&from=now-30d',
  '/admin/tenants': 'company=none',
  '/scoring/jobs': 'page=2',
  '/scoring/bindings': 'page=2',
  '/subscriptions': 'page=2',
  '/devices/requests': 'page=2',
  '/devices/:id/measurements': 'from=now-30d&agg=1h',
  '/alarms': 'severity=MAJOR,MINOR&status=ALL',
  '/devices/:id/alarms': 'severity=MAJOR&status=ALL',
  '/devices/:id/operations': 'page=2',
  '/devices/:id/logs': 'page=2',
  '/devices/:id/software': 'name=none',
  '/groups': 'name=none',
  '/groups/:id': 'name=none',
  '/devices/:id/children': 'kind=childAssets&name=none',
  '/operations': 'status=PENDING&from=now-30d',
  '/operations/bulk': 'cancelled=yes',
  '/templates': 'name=none',
  '/events': 'type=c8y_Door&from=now-30d',
  '/devices/:id/events': 'view=stream',
  '/devices/:id/timeline': 'kinds=alarms',
  '/map': 'at=48.0000%2C11.0000%2C4',
  '/explore': 'from=now-30d',
  '/data/export': 'kind=events&type=c8y_Door',
};

/** The console's route table. Its types belong to web/tsconfig.json, so the import names a built file. */
async function routeRows(): Promise<readonly RouteRow[]> {
  const { ROUTES } = await import(new URL('../../../web/routes.js', import.meta.url).href);
  return ROUTES;
}

const filled = ({ path, example = {} }: RouteRow, device: string): string =>
  path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(example[name] === 'device' ? device : (example[name] ?? '')),
  );

/** The path of every row of the route table. @param device stands in the place of one. */
export const pathsOf = async (device: string): Promise<readonly string[]> =>
  (await routeRows()).map((row) => filled(row, device));

/** The same with a state in the address, where the screen has one. @throws when a state has no row. */
export async function addressesOf(device: string): Promise<readonly string[]> {
  const rows = await routeRows();
  const absent = Object.keys(STATES).filter((path) => !rows.some((row) => row.path === path));
  if (absent.length > 0) throw new Error(`no row of the route table: ${absent.join(', ')}`);
  return rows.map((row) => filled(row, device) + (row.path in STATES ? `?${STATES[row.path]}` : ''));
}

/** Follows a link: to load the page for each row would take five times as long. */
export const follow = (page: Page, path: string): Promise<void> =>
  page.evaluate(`(() => {
    const link = document.createElement('a');
    link.href = ${JSON.stringify(`/console${path}`)};
    document.body.append(link);
    link.click();
    link.remove();
  })()`);
