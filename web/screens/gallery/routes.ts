/** All parts in all states, for developers. */
import { Shapes } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';

export const galleryRoutes: readonly RouteEntry[] = [
  {
    path: '/gallery',
    title: () => 'Gallery',
    load: () => import('./gallery.tsx'),
    nav: { section: 'admin', order: 99, icon: Shapes },
  },
];
