/** The flags of `millrace simulate`. */
import type { Setting, SettingValues } from '../../config/settings.ts';

/** Passed by the server's own variables where they mean the same, so that one shell serves both commands. */
export const SIMULATE_SETTINGS = [
  {
    name: 'devices',
    type: 'integer',
    unit: 'devices',
    default: 100,
    minimum: 0,
    maximum: 100_000,
    description: 'Number of devices that send data, each with a connection of its own.',
  },
  {
    name: 'agents',
    type: 'integer',
    unit: 'agents',
    default: 0,
    minimum: 0,
    maximum: 1_000,
    description:
      'Number of agents beside them that carry out operations: restart, shell, software, firmware, configuration, logs, network, profiles. Nothing happens on this machine, but for tunnels of remote access to it.',
  },
  {
    name: 'rate',
    type: 'integer',
    unit: 'messages a second',
    default: 100,
    minimum: 1,
    maximum: 1_000_000,
    description: 'Messages a second of the whole fleet; fewer are sent when the server acknowledges more slowly.',
  },
  {
    name: 'duration',
    type: 'integer',
    unit: 'seconds',
    default: 0,
    minimum: 0,
    maximum: 31_536_000,
    description: 'Ends after this many seconds; 0 goes on until Ctrl-C.',
  },
  { name: 'host', type: 'host', default: 'localhost', environment: null, description: 'Host of the server.' },
  {
    name: 'mqtt-port',
    type: 'integer',
    default: 1883,
    minimum: 1,
    maximum: 65_535,
    description: 'MQTT port of the server.',
  },
  {
    name: 'url',
    type: 'url',
    default: 'http://localhost:8080',
    description: 'URL of the server, to which agents bring files.',
  },
  { name: 'tenant', type: 'text', default: 't1', maximum: 32, description: 'Tenant that the devices log in to.' },
  {
    name: 'user',
    type: 'text',
    default: 'admin',
    maximum: 254,
    environment: 'MILLRACE_ADMIN_USER',
    description: 'User that the devices log in as.',
  },
  {
    name: 'password',
    type: 'text',
    default: null,
    maximum: 256,
    secret: true,
    required: true,
    environment: 'MILLRACE_ADMIN_PASSWORD',
    description: 'Password of that user.',
  },
  {
    name: 'in-flight',
    type: 'integer',
    unit: 'messages',
    default: 8,
    minimum: 1,
    maximum: 1000,
    description: 'Messages of one device that may wait for their acknowledgement.',
  },
  {
    name: 'seed',
    type: 'integer',
    default: 1,
    minimum: 0,
    maximum: 4_294_967_295,
    description: 'Seed of every value; the same seed makes the same devices with the same behaviour.',
  },
] as const satisfies readonly Setting[];

export type SimulateOptions = SettingValues<typeof SIMULATE_SETTINGS>;
