/** Where records are stored: by tenant, all of a tenant in one actor. */

/** Actor of a tenant's records, users and audit log: commands with this key are handled one after the other. */
export const TENANT_KEY = 't';

/** Tenant number of records that belong to the whole server: tenants, applications. */
export const SERVER_WIDE = 0;
