/** Groups, and the children of a device. */
import { Folders } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const groupRoutes: readonly RouteEntry[] = [
  {
    path: '/groups',
    title: () => words().title,
    load: () => import('./groups.tsx'),
    nav: { section: 'devices', order: 10, icon: Folders },
    allRoles: ['ROLE_INVENTORY_READ', 'ROLE_MANAGED_OBJECT_READ'],
    keys: 'g g',
  },
  {
    path: '/groups/:id',
    title: () => words().group,
    load: () => import('./group.tsx'),
    allRoles: ['ROLE_INVENTORY_READ', 'ROLE_MANAGED_OBJECT_READ'],
    example: { id: 'device' },
  },
  {
    path: '/devices/:id/children',
    title: () => words().children,
    load: () => import('./children.tsx'),
    tab: { order: 80 },
    example: { id: 'device' },
  },
];
