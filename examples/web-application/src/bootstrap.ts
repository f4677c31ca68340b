// First: Angular waits for what zone.js sees, and the devkit puts no polyfills in.
import 'zone.js';
// The packages of the SDK are compiled in the browser.
import '@angular/compiler';
// The devkit makes en.json of it. Without a language the application does not start.
import '@c8y/ngx-components/locales/en.po';
import { enableProdMode } from '@angular/core';
import { platformBrowserDynamic } from '@angular/platform-browser-dynamic';
import type { BootstrapMetaData } from '@c8y/bootstrap';
import { provideBootstrapMetadata } from '@c8y/ngx-components';
import { FleetModule } from './fleet.module';

enableProdMode();

/** Called when options, user, tenant and application are loaded, and the user has logged in. */
export async function bootstrap(metadata: BootstrapMetaData): Promise<void> {
  await platformBrowserDynamic(provideBootstrapMetadata(metadata)).bootstrapModule(FleetModule);
  // The animation of index.html, beside the root element.
  document.querySelector('body > .init-load')?.remove();
}
