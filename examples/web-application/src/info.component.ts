import { JsonPipe } from '@angular/common';
import { Component, inject } from '@angular/core';
import { ActivatedRoute } from '@angular/router';
import type { IManagedObject } from '@c8y/client';
import { ContextRouteService, CoreModule } from '@c8y/ngx-components';

/** What the inventory knows of a device. */
@Component({
  selector: 'fleet-info',
  imports: [CoreModule, JsonPipe],
  template: `
    <c8y-title>{{ device['name'] }}</c8y-title>
    <div class="card">
      <dl class="card-block dl-horizontal">
        <dt>Id</dt><dd>{{ device.id }}</dd>
        <dt>Type</dt><dd>{{ device['type'] }}</dd>
        <dt>Owner</dt><dd>{{ device['owner'] }}</dd>
        <dt>Hardware</dt><dd>{{ device['c8y_Hardware'] | json }}</dd>
        <dt>Firmware</dt><dd>{{ device['c8y_Firmware'] | json }}</dd>
        <dt>Last message</dt><dd>{{ device['c8y_Availability']?.lastMessage }}</dd>
      </dl>
    </div>
  `,
})
export class InfoComponent {
  readonly device = inject(ContextRouteService).getContextData(inject(ActivatedRoute))?.contextData as IManagedObject;
}
