import type { ConfigurationOptions } from '@c8y/devkit';

/** What the application is in the tenant (runTime), and how the devkit builds it (buildTime). */
export default {
  runTime: {
    name: 'Fleet',
    contextPath: 'fleet',
    key: 'fleet-application-key',
    description: 'The devices of the tenant',
    version: '1.0.0',
    globalTitle: 'Fleet',
    // Branding and options of the tenant, out of its application `public-options`.
    dynamicOptionsUrl: true,
    faviconUrl: '/favicon.ico',
    // New alarms appear at once, not at the next refresh.
    alarmsRefreshType: 'realtime',
    tabsHorizontal: true,
  },
  buildTime: {
    // No plugins are loaded, so no packages are shared with them: the build takes a fraction of the time.
    federation: 'none',
    skipMonacoLanguageSupport: true,
  },
} satisfies ConfigurationOptions;
