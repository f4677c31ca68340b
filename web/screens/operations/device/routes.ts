/** Tabs of a device that send operations; a device has those of what it says it can do. */
import type { RouteEntry } from '../../../core/route.ts';
import { words as operationWords } from '../text.ts';
import { isCapable } from './capability.ts';
import type { Capability } from './capability.ts';
import { words } from './text.ts';

const tab = (
  capability: Capability,
  order: number,
  load: RouteEntry['load'],
  title: () => string = () => words()[capability],
): RouteEntry => ({
  path: `/devices/:id/${capability}`,
  title,
  load,
  tab: { order, isFor: (device) => isCapable(device, capability) },
  example: { id: 'device' },
});

export const operationTabRoutes: readonly RouteEntry[] = [
  {
    path: '/devices/:id/operations',
    title: () => operationWords().title,
    load: () => import('./operations.tsx'),
    tab: { order: 50 },
    example: { id: 'device' },
  },
  tab('shell', 51, () => import('./shell.tsx')),
  tab('configuration', 52, () => import('./configuration.tsx')),
  tab('software', 53, () => import('./software.tsx')),
  tab('firmware', 54, () => import('./firmware.tsx')),
  tab('logs', 55, () => import('./logs.tsx')),
  tab('remote', 56, () => import('./remote.tsx')),
];
