/** Template collections of SmartREST 2.0. */
import { FileCode } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const templateRoutes: readonly RouteEntry[] = [
  {
    path: '/templates',
    title: () => words().title,
    load: () => import('./list.tsx'),
    allRoles: ['ROLE_INVENTORY_READ', 'ROLE_MANAGED_OBJECT_READ'],
    nav: { section: 'devices', order: 25, icon: FileCode },
  },
  {
    path: '/templates/:id',
    title: () => words().collection,
    load: () => import('./collection.tsx'),
    example: { id: 'new' },
  },
];
