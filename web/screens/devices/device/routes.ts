/** The first and the last tab of a device. */
import type { RouteEntry } from '../../../core/route.ts';
import { words } from '../text.ts';

export const deviceTabRoutes: readonly RouteEntry[] = [
  {
    path: '/devices/:id',
    title: () => words().info,
    load: () => import('./info.tsx'),
    tab: { order: 0 },
    example: { id: 'device' },
  },
  {
    path: '/devices/:id/raw',
    title: () => words().raw,
    load: () => import('./raw.tsx'),
    tab: { order: 99 },
    example: { id: 'device' },
  },
];
