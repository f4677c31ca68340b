/** Titles of the screens of administration; their other texts are loaded with them. */
import { defineTexts } from '../../../core/text/language.ts';

const en = {
  users: 'Users',
  user: 'User',
  groups: 'User groups',
  group: 'User group',
  inventoryRoles: 'Inventory roles',
  options: 'Options',
  retention: 'Retention',
  audit: 'Audit log',
  certificates: 'Certificates',
  tenants: 'Tenants',
  tenant: 'Tenant',
  applications: 'Applications',
  application: 'Application',
};

export type AdminTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
