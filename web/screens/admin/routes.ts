/** Administration: who may what, and what the tenant keeps. */
import {
  AppWindow,
  BadgeCheck,
  Building2,
  KeyRound,
  ScrollText,
  SlidersHorizontal,
  Timer,
  Users,
  UsersRound,
} from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './titles/text.ts';

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
  {
    path: '/admin/options',
    title: () => words().options,
    load: () => import('./settings/options.tsx'),
    nav: { section: 'admin', order: 3, icon: SlidersHorizontal },
    roles: ['ROLE_OPTION_MANAGEMENT_READ', 'ROLE_OPTION_MANAGEMENT_ADMIN'],
  },
  {
    path: '/admin/retention',
    title: () => words().retention,
    load: () => import('./settings/retention.tsx'),
    nav: { section: 'admin', order: 4, icon: Timer },
    roles: ['ROLE_RETENTION_RULE_READ', 'ROLE_RETENTION_RULE_ADMIN'],
  },
  {
    path: '/admin/audit',
    title: () => words().audit,
    load: () => import('./settings/audit.tsx'),
    nav: { section: 'admin', order: 5, icon: ScrollText },
    roles: ['ROLE_AUDIT_READ', 'ROLE_AUDIT_ADMIN'],
  },
  {
    path: '/admin/certificates',
    title: () => words().certificates,
    load: () => import('./settings/certificates.tsx'),
    nav: { section: 'admin', order: 6, icon: BadgeCheck },
    roles: ['ROLE_TENANT_ADMIN', 'ROLE_TENANT_MANAGEMENT_ADMIN', 'ROLE_TENANT_MANAGEMENT_READ'],
  },
  {
    path: '/admin/tenants',
    title: () => words().tenants,
    load: () => import('./tenants/list.tsx'),
    nav: { section: 'admin', order: 7, icon: Building2 },
    roles: ['ROLE_TENANT_MANAGEMENT_READ'],
  },
  {
    path: '/admin/tenants/:id',
    title: () => words().tenant,
    load: () => import('./tenants/tenant.tsx'),
    roles: ['ROLE_TENANT_MANAGEMENT_READ'],
    example: { id: 't1' },
  },
  {
    path: '/admin/applications',
    title: () => words().applications,
    load: () => import('./tenants/applications.tsx'),
    nav: { section: 'admin', order: 8, icon: AppWindow },
    roles: ['ROLE_APPLICATION_MANAGEMENT_READ', 'ROLE_APPLICATION_MANAGEMENT_ADMIN'],
  },
  {
    path: '/admin/applications/:id',
    title: () => words().application,
    load: () => import('./tenants/application.tsx'),
    roles: ['ROLE_APPLICATION_MANAGEMENT_READ', 'ROLE_APPLICATION_MANAGEMENT_ADMIN'],
    example: { id: '1' },
  },
];
