import { NgModule } from '@angular/core';
import { BrowserAnimationsModule } from '@angular/platform-browser/animations';
import { BootstrapComponent, CoreModule, RouterModule, ViewContext, hookRoute } from '@c8y/ngx-components';
import { alarmsDeviceManagementRouteAndNodeConfig } from '@c8y/ngx-components/alarms/devicemanagement';
import { AssetsNavigatorModule } from '@c8y/ngx-components/assets-navigator';
import { ChildDevicesModule } from '@c8y/ngx-components/child-devices';
import { dataExplorerMeasurementsFeature } from '@c8y/ngx-components/datapoint-explorer/devicemanagement';
import { DeviceListModule } from '@c8y/ngx-components/device-list';
import { DeviceShellModule } from '@c8y/ngx-components/device-shell';
import { eventsDeviceManagementProviders } from '@c8y/ngx-components/events/devicemanagement';
import { OperationsModule } from '@c8y/ngx-components/operations';
import { RegisterDeviceModule } from '@c8y/ngx-components/register-device';
import { RepositoryModule } from '@c8y/ngx-components/repository';
import { SearchModule } from '@c8y/ngx-components/search';
import { InfoComponent } from './info.component';

/** The pages of a fleet: devices with their tabs, registration, groups, alarms, events, operations, the repository. */
@NgModule({
  imports: [
    BrowserAnimationsModule,
    RouterModule.forRoot(),
    CoreModule.forRoot(),
    AssetsNavigatorModule,
    DeviceListModule,
    DeviceShellModule,
    ChildDevicesModule,
    OperationsModule,
    RegisterDeviceModule,
    RepositoryModule,
    SearchModule,
    alarmsDeviceManagementRouteAndNodeConfig(),
  ],
  providers: [
    eventsDeviceManagementProviders,
    dataExplorerMeasurementsFeature,
    // The page of an alarm asks AngularJS, which is not here, for smart rules; without them it shows no button for one.
    { provide: '$injector', useValue: { get: () => null } },
    // A page of your own among those of a device.
    hookRoute({
      context: ViewContext.Device,
      path: 'device-info',
      label: 'Info',
      icon: 'asterisk',
      priority: 10_000,
      component: InfoComponent,
    }),
  ],
  bootstrap: [BootstrapComponent],
})
export class FleetModule {}
