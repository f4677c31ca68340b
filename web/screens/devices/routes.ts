/** The list of devices. */
import { Cpu } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const deviceRoutes: readonly RouteEntry[] = [
  {
    path: '/devices',
    title: () => words().title,
    load: () => import('./list.tsx'),
    nav: { section: 'devices', order: 0, icon: Cpu },
    allRoles: ['ROLE_INVENTORY_READ', 'ROLE_MANAGED_OBJECT_READ'],
    keys: 'g d',
  },
];
