/** Files of what the server keeps. */
import { Download } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const exportRoutes: readonly RouteEntry[] = [
  {
    path: '/data/export',
    title: () => words().title,
    load: () => import('./export.tsx'),
    nav: { section: 'data', order: 5, icon: Download },
  },
];
