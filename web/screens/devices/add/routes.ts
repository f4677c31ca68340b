/** How to add a device. */
import type { RouteEntry } from '../../../core/route.ts';
import { words } from '../text.ts';

export const addDeviceRoutes: readonly RouteEntry[] = [
  { path: '/devices/new', title: () => words().add, load: () => import('./add.tsx') },
];
