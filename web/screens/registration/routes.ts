/** New devices: their requests, and the import of many. */
import { Inbox } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

const CONTROL = ['ROLE_DEVICE_CONTROL_READ', 'ROLE_DEVICE_CONTROL_ADMIN'];

export const registrationRoutes: readonly RouteEntry[] = [
  {
    path: '/devices/requests',
    title: () => words().requests,
    load: () => import('./requests.tsx'),
    nav: { section: 'devices', order: 15, icon: Inbox },
    roles: CONTROL,
  },
  { path: '/devices/import', title: () => words().import, load: () => import('./import.tsx'), roles: CONTROL },
];
