/** The person's account. */
import type { RouteEntry } from '../../core/route.ts';
import { common } from '../../core/text/common.ts';

export const accountRoutes: readonly RouteEntry[] = [
  { path: '/account', title: () => common().account, load: () => import('./account.tsx') },
];
