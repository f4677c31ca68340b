/** German of text.ts. */
import type { AdminTexts } from './text.ts';

const de: AdminTexts = {
  users: 'Benutzer',
  user: 'Benutzer',
  groups: 'Benutzergruppen',
  group: 'Benutzergruppe',
  inventoryRoles: 'Inventarrollen',
  options: 'Optionen',
  retention: 'Aufbewahrung',
  audit: 'Protokoll',
  certificates: 'Zertifikate',
  tenants: 'Mandanten',
  tenant: 'Mandant',
  applications: 'Anwendungen',
  application: 'Anwendung',
};

export default de;
