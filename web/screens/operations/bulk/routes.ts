/** Bulk operations. */
import type { RouteEntry } from '../../../core/route.ts';
import { BULK_ADMIN, BULK_READ } from './bulk.ts';
import { words } from './text.ts';

export const bulkRoutes: readonly RouteEntry[] = [
  { path: '/operations/bulk', title: () => words().title, load: () => import('./list.tsx'), roles: BULK_READ },
  { path: '/operations/bulk/new', title: () => words().create, load: () => import('./create.tsx'), roles: BULK_ADMIN },
];
