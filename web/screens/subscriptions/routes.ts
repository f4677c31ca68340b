/** Subscriptions of Notifications 2.0. */
import { Rss } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

export const subscriptionRoutes: readonly RouteEntry[] = [
  {
    path: '/subscriptions',
    title: () => words().title,
    load: () => import('./subscriptions.tsx'),
    nav: { section: 'operate', order: 3, icon: Rss },
    roles: ['ROLE_NOTIFICATION_2_ADMIN'],
    needs: '/notification2/subscriptions',
  },
];
