/** Operations of all devices, and bulk operations. */
import { SendHorizontal } from 'lucide';
import { BY_READING } from '../../core/api/rights.ts';
import type { RouteEntry } from '../../core/route.ts';
import { CONTROL, CONTROL_READ } from './operation.ts';
import { words } from './text.ts';

export const operationRoutes: readonly RouteEntry[] = [
  {
    path: '/operations',
    title: () => words().title,
    load: () => import('./all.tsx'),
    allRoles: [...CONTROL_READ],
    nav: { section: 'devices', order: 20, icon: SendHorizontal },
    keys: 'g o',
    roles: [...CONTROL_READ, ...CONTROL, BY_READING],
  },
];
