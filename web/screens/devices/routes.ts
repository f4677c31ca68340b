/** The list of devices, how to add one, and the first tabs of a device. */
import { Cpu } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const deviceRoutes: readonly RouteEntry[] = [
  {
    path: '/devices',
    title: () => words().title,
    load: () => import('./list.tsx'),
    nav: { section: 'devices', order: 0, icon: Cpu },
    keys: 'g d',
  },
  { path: '/devices/new', title: () => words().add, load: () => import('./add/add.tsx') },
  {
    path: '/devices/:id',
    title: () => words().info,
    load: () => import('./device/info.tsx'),
    tab: { order: 0 },
    example: { id: 'device' },
  },
  {
    path: '/devices/:id/raw',
    title: () => words().raw,
    load: () => import('./device/raw.tsx'),
    tab: { order: 99 },
    example: { id: 'device' },
  },
];
