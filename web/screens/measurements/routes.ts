/** Charts of a device's measurements. */
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const measurementRoutes: readonly RouteEntry[] = [
  {
    path: '/devices/:id/measurements',
    title: () => words().title,
    load: () => import('./measurements.tsx'),
    tab: { order: 10 },
    example: { id: 'device' },
  },
];
