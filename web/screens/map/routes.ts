/** The map. */
import { Map as MapIcon } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const mapRoutes: readonly RouteEntry[] = [
  {
    path: '/map',
    title: () => words().title,
    load: () => import('./map.tsx'),
    nav: { section: 'devices', order: 30, icon: MapIcon },
    allRoles: ['ROLE_INVENTORY_READ', 'ROLE_MANAGED_OBJECT_READ'],
    keys: 'g m',
  },
];
