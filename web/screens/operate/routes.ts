/** How the server is, and who is connected to it. */
import { Network, Server } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const operateRoutes: readonly RouteEntry[] = [
  {
    path: '/admin/server',
    title: () => words().server,
    load: () => import('./server.tsx'),
    nav: { section: 'operate', order: 0, icon: Server },
    keys: 'g s',
    needs: '/millrace/status',
  },
  {
    path: '/connections',
    title: () => words().connections,
    load: () => import('./connections.tsx'),
    nav: { section: 'operate', order: 1, icon: Network },
    roles: ['ROLE_TENANT_ADMIN'],
    needs: '/millrace/connections',
  },
];
