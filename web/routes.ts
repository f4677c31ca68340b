/** The route table: every screen of the console has its row in the file of its area, and so its URL. */
import type { RouteEntry } from './core/route.ts';
import { accountRoutes } from './screens/account/routes.ts';
import { adminRoutes } from './screens/admin/routes.ts';
import { addDeviceRoutes } from './screens/devices/add/routes.ts';
import { deviceTabRoutes } from './screens/devices/device/routes.ts';
import { alarmRoutes } from './screens/alarms/routes.ts';
import { deviceRoutes } from './screens/devices/routes.ts';
import { eventRoutes } from './screens/events/routes.ts';
import { exploreRoutes } from './screens/explore/routes.ts';
import { exportRoutes } from './screens/export/routes.ts';
import { galleryRoutes } from './screens/gallery/routes.ts';
import { groupRoutes } from './screens/groups/routes.ts';
import { homeRoutes } from './screens/home/routes.ts';
import { limitRoutes } from './screens/limits/routes.ts';
import { operateRoutes } from './screens/operate/routes.ts';
import { measurementRoutes } from './screens/measurements/routes.ts';
import { registrationRoutes } from './screens/registration/routes.ts';
import { mapRoutes } from './screens/map/routes.ts';
import { bulkRoutes } from './screens/operations/bulk/routes.ts';
import { operationTabRoutes } from './screens/operations/device/routes.ts';
import { operationRoutes } from './screens/operations/routes.ts';
import { scoringRoutes } from './screens/scoring/routes.ts';
import { subscriptionRoutes } from './screens/subscriptions/routes.ts';
import { trafficRoutes } from './screens/traffic/routes.ts';
import { templateRoutes } from './screens/templates/routes.ts';

export const ROUTES: readonly RouteEntry[] = [
  ...homeRoutes,
  ...deviceRoutes,
  ...operateRoutes,
  ...limitRoutes,
  ...trafficRoutes,
  ...adminRoutes,
  ...scoringRoutes,
  ...subscriptionRoutes,
  ...addDeviceRoutes,
  ...registrationRoutes,
  ...deviceTabRoutes,
  ...measurementRoutes,
  ...alarmRoutes,
  ...operationTabRoutes,
  ...groupRoutes,
  ...operationRoutes,
  ...bulkRoutes,
  ...templateRoutes,
  ...mapRoutes,
  ...eventRoutes,
  ...exploreRoutes,
  ...exportRoutes,
  ...accountRoutes,
  ...galleryRoutes,
];
