/** What clients say over MQTT. */
import { ArrowDownUp } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './titles.ts';

export const trafficRoutes: readonly RouteEntry[] = [
  {
    path: '/traffic',
    title: () => words().title,
    load: () => import('./traffic.tsx'),
    nav: { section: 'operate', order: 2, icon: ArrowDownUp },
    keys: 'g t',
  },
];
