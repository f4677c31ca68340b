/** What the limits of the server mean. */
import { Gauge } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const limitRoutes: readonly RouteEntry[] = [
  {
    path: '/limits',
    title: () => words().title,
    load: () => import('./limits.tsx'),
    nav: { section: 'operate', order: 10, icon: Gauge },
  },
];
