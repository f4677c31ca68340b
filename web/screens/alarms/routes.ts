/** The alarms workbench, the alarms of a device, and one alarm. */
import { Bell } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const alarmRoutes: readonly RouteEntry[] = [
  {
    path: '/alarms',
    title: () => words().title,
    load: () => import('./alarms.tsx'),
    nav: { section: 'watch', order: 1, icon: Bell },
    allRoles: ['ROLE_ALARM_READ'],
    keys: 'g a',
  },
  { path: '/alarms/:id', title: () => words().one, load: () => import('./alarm.tsx'), example: { id: '1' } },
  {
    path: '/devices/:id/alarms',
    title: () => words().title,
    load: () => import('./device-alarms.tsx'),
    tab: { order: 20 },
    example: { id: 'device' },
  },
];
