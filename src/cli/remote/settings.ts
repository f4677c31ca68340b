/** The flags that every command has which talks to a server: where it is and who asks. */
import type { Setting, SettingValues } from '../../config/settings.ts';

export const TENANT_DEFAULT = 't1';
export const PASSWORD_VARIABLE = 'MILLRACE_ADMIN_PASSWORD';
/** Of the user who manages tenants. */
export const MANAGEMENT_PASSWORD_VARIABLE = 'MILLRACE_MANAGEMENT_PASSWORD';

/** The names of variables are those of the server where they mean the same, so that one shell serves both. */
export const REMOTE_SETTINGS = [
  {
    name: 'url',
    type: 'url',
    default: null,
    file: false,
    description: 'URL of the server; that of the server on --data when it is asked, else http://localhost:8080.',
  },
  {
    name: 'tenant',
    type: 'text',
    default: TENANT_DEFAULT,
    maximum: 32,
    file: false,
    description: 'Tenant that is logged in to.',
  },
  {
    name: 'user',
    type: 'text',
    default: 'admin',
    maximum: 254,
    environment: 'MILLRACE_ADMIN_USER',
    description: 'User that is logged in.',
  },
  {
    name: 'password',
    type: 'text',
    default: null,
    maximum: 256,
    secret: true,
    environment: PASSWORD_VARIABLE,
    description:
      'Password of that user. Without one the server that runs on --data is asked over its control socket, and needs none; so it is without --url when the variable gives one.',
  },
  {
    name: 'data',
    type: 'text',
    unit: 'directory',
    default: './data',
    description: 'Data directory of the server on this machine.',
  },
  {
    name: 'json',
    type: 'switch',
    default: false,
    environment: null,
    description: 'Print JSON in place of a table: of a list, a line for each entry.',
  },
] as const satisfies readonly Setting[];

export type RemoteOptions = SettingValues<typeof REMOTE_SETTINGS>;

/** A text that only a command takes, not a server. */
export const textFlag = <Name extends string>(name: Name, description: string) =>
  ({ name, type: 'text', default: null, environment: null, description }) as const satisfies Setting;

/** A password that the command gives; kept out of the list of processes by its variable. */
export const NEW_PASSWORD = {
  name: 'new-password',
  type: 'text',
  default: null,
  maximum: 32,
  secret: true,
  environment: 'MILLRACE_NEW_PASSWORD',
  description: 'The new password; one is generated and printed when none is given.',
} as const satisfies Setting;
