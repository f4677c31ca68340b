/** Events of all devices, of one, one alone; and everything that happened to a device in one order. */
import { Zap } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const eventRoutes: readonly RouteEntry[] = [
  {
    path: '/events',
    title: () => words().title,
    load: () => import('./events.tsx'),
    nav: { section: 'watch', order: 2, icon: Zap },
    allRoles: ['ROLE_EVENT_READ'],
    keys: 'g e',
  },
  { path: '/events/:id', title: () => words().one, load: () => import('./event.tsx'), example: { id: '1' } },
  {
    path: '/devices/:id/events',
    title: () => words().title,
    load: () => import('./device-events.tsx'),
    tab: { order: 30 },
    example: { id: 'device' },
  },
  {
    path: '/devices/:id/timeline',
    title: () => words().timeline,
    load: () => import('./timeline.tsx'),
    tab: { order: 40 },
    example: { id: 'device' },
  },
];
