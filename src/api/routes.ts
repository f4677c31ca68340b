import { alarmRoutes } from './alarms.ts';
import { eventRoutes } from './events.ts';
import { identityRoutes } from './identity.ts';
import { rootRoutes } from './roots.ts';
import type { Route } from './route.ts';
import { systemRoutes } from './system.ts';

/** The whole table. */
export const allRoutes = (): Route[] => [...systemRoutes(), ...rootRoutes(), ...identityRoutes(), ...eventRoutes(), ...alarmRoutes()];
