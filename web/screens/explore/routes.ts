/** Series of many devices beside each other. */
import { ChartLine } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const exploreRoutes: readonly RouteEntry[] = [
  {
    path: '/explore',
    title: () => words().title,
    load: () => import('./explore.tsx'),
    nav: { section: 'data', order: 0, icon: ChartLine },
    allRoles: ['ROLE_INVENTORY_READ', 'ROLE_MANAGED_OBJECT_READ'],
    keys: 'g x',
  },
];
