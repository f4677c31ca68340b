/** Administration: who may what, and what the tenant keeps. */
import { KeyRound, Users, UsersRound } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

const USERS = ['ROLE_USER_MANAGEMENT_READ', 'ROLE_USER_MANAGEMENT_CREATE', 'ROLE_USER_MANAGEMENT_ADMIN'];
const GROUPS = ['ROLE_USER_MANAGEMENT_READ', 'ROLE_USER_MANAGEMENT_ADMIN'];

export const adminRoutes: readonly RouteEntry[] = [
  {
    path: '/admin/users',
    title: () => words().users,
    load: () => import('./users/list.tsx'),
    nav: { section: 'admin', order: 0, icon: Users },
    keys: 'g u',
    roles: USERS,
  },
  {
    path: '/admin/users/:name',
    title: () => words().user,
    load: () => import('./users/user.tsx'),
    roles: USERS,
    example: { name: 'admin' },
  },
  {
    path: '/admin/groups',
    title: () => words().groups,
    load: () => import('./users/groups.tsx'),
    nav: { section: 'admin', order: 1, icon: UsersRound },
    roles: GROUPS,
  },
  {
    path: '/admin/groups/:id',
    title: () => words().group,
    load: () => import('./users/group.tsx'),
    roles: GROUPS,
    example: { id: '1' },
  },
  {
    path: '/admin/inventory-roles',
    title: () => words().inventoryRoles,
    load: () => import('./users/inventory-roles.tsx'),
    nav: { section: 'admin', order: 2, icon: KeyRound },
    roles: GROUPS,
  },
];
