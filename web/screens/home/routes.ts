/** The start page. */
import { House } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const homeRoutes: readonly RouteEntry[] = [
  {
    path: '/',
    title: () => words().title,
    load: () => import('./home.tsx'),
    nav: { section: 'watch', order: 0, icon: House },
    allRoles: ['ROLE_INVENTORY_READ', 'ROLE_MANAGED_OBJECT_READ'],
    keys: 'g h',
  },
];
