/**
 * Static templates 1xx: devices, services and the fragments of their managed objects
 * (docs/spec/smartrest.md#inventory-templates).
 */
import { AGENT_MARKER } from '../../model/entities/agent-marker.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { toJsonNumber } from '../../model/documents/number-scan.ts';
import type { SoftwareChangeWay } from '../../model/commands/entities.ts';
import type { Effect } from '../effects/effects.ts';
import { objectText, parameter, textOrAbsent, timeOf, type StaticTemplate } from './parameters.ts';

/**
 * Range of `c8y_RequiredAvailability.responseInterval` in minutes; values outside are clamped
 * (docs/spec/availability.md#state).
 */
const RESPONSE_INTERVAL_MIN = -32_768;
const RESPONSE_INTERVAL_MAX = 32_767;

/** Type of devices, and of children, that were created without one. */
export const DEVICE_TYPE = 'c8y_MQTTDevice';
export const CHILD_DEVICE_TYPE = 'c8y_MQTTChildDevice';

/** Name of a device that was created without one (docs/spec/mqtt.md#new-devices). */
export const defaultDeviceName = (serial: string): string => `MQTT Device ${serial}`;

/** Document of a new device, also of one that is created by its first data message (docs/spec/mqtt.md#new-devices). */
export function deviceDocument(name: string, type: string): string {
  return objectText([
    ['name', JSON.stringify(name)],
    ['type', JSON.stringify(type)],
    ['c8y_IsDevice', '{}'],
    [AGENT_MARKER, '{}'],
  ]);
}

/** Document of a new child device; `isDevice` false leaves `c8y_IsDevice` out (101). */
export function childDocument(name: string, type: string, isDevice = true): string {
  return objectText([
    ['name', JSON.stringify(name)],
    ['type', JSON.stringify(type)],
    ['c8y_IsDevice', isDevice ? '{}' : undefined],
  ]);
}

const change = (doc: string): Effect[] => [{ kind: 'managedObject', doc }];

/**
 * A template whose parameters are the members of one fragment; those not sent are left out: the fragment is replaced
 * (docs/spec/smartrest.md#inventory-templates).
 */
function fragmentOf(
  id: string,
  fragment: string,
  members: readonly string[],
  options: { numbers?: boolean } = {},
): StaticTemplate {
  const type = options.numbers === true ? 'number' : 'text';
  const parameters = members.map((member) => parameter(member, type));
  return {
    id,
    effect: `sets ${fragment}`,
    parameters,
    interpret: ({ single }) => change(objectText([[fragment, fragmentText(parameters, single)]])),
  };
}

/** JSON text of an object of the parameters that were sent; `*` of their names is already gone. */
function fragmentText(parameters: StaticTemplate['parameters'], values: readonly string[]): string {
  return objectText(
    parameters.map(({ name, type }, index): [string, string | undefined] => [
      name,
      type === 'number' ? numberOrAbsent(values[index]) : textOrAbsent(values[index]),
    ]),
  );
}

/** JSON text of a checked number, undefined when it was not sent. */
function numberOrAbsent(value: string): string | undefined {
  return value === '' ? undefined : toJsonNumber(value);
}

const POSITION_PARAMETERS = ['lat', 'lng', 'alt', 'accuracy'].map((name) => parameter(name, 'number'));

/** The parameters of a position and the text of `c8y_Position` for them (112, 401, 402). */
export const position = {
  parameters: POSITION_PARAMETERS,
  text: (values: readonly string[]) => fragmentText(POSITION_PARAMETERS, values),
};

/** A template whose parameters are the texts of a list; empty ones are passed over. */
function listOf(id: string, fragment: string, item: string, options: { emptyRemoves?: boolean } = {}): StaticTemplate {
  const whenEmpty = options.emptyRemoves === true ? 'null' : '[]';
  return {
    id,
    effect: `replaces the list ${fragment}; ${options.emptyRemoves === true ? 'none removes it' : 'none empties it'}`,
    parameters: [],
    repeated: [parameter(item)],
    interpret: ({ groups }) =>
      change(objectText([[fragment, groups.length === 0 ? whenEmpty : JSON.stringify(groups.map(([text]) => text))]])),
  };
}

/** 140 to 142: packages of the list that the server keeps beside the device (docs/spec/software.md#lists). */
function softwareOf(id: string, how: SoftwareChangeWay, effect: string, members: readonly string[]): StaticTemplate {
  const names = members.map((name) => (name === 'type' ? 'softwareType' : name));
  return {
    id,
    effect,
    parameters: [],
    repeated: members.map((name) => parameter(name === 'name' || name === 'version' ? `${name}*` : name)),
    repeatedAtLeastOnce: how !== 'set',
    interpret: ({ groups }) => {
      const entry = (values: readonly string[]): string =>
        objectText(names.map((name, index) => [name, JSON.stringify(values[index])] as const));
      return [{ kind: 'software', steps: [{ how, packages: `[${groups.map(entry).join(',')}]` }] }];
    },
  };
}

const PACKAGE = ['name', 'version', 'type', 'url'];

const creation: readonly StaticTemplate[] = [
  {
    id: '100',
    effect: 'creates the device',
    parameters: [parameter('name', 'text', 'MQTT Device <serial>'), parameter('type', 'text', DEVICE_TYPE)],
    interpret: ({ single }, { serial, isChild }) => {
      const name = single[0] || defaultDeviceName(serial);
      const type = single[1] || (isChild ? CHILD_DEVICE_TYPE : DEVICE_TYPE);
      const doc = isChild ? childDocument(name, type) : deviceDocument(name, type);
      return [{ kind: 'ensureDevice', externalId: serial, isChild, name, type, doc }];
    },
  },
  {
    id: '101',
    effect: 'creates a child device',
    parameters: [
      parameter('childId*', 'serial'),
      parameter('name', 'text', 'MQTT Device <childId>'),
      parameter('type', 'text', CHILD_DEVICE_TYPE),
      parameter('isChildDevice', 'boolean', 'true'),
    ],
    interpret: ({ single }) => {
      const externalId = single[0];
      const name = single[1] || defaultDeviceName(externalId);
      const type = single[2] || CHILD_DEVICE_TYPE;
      const isChildDevice = single[3] !== 'false';
      return [
        { kind: 'ensureChild', externalId, name, type, isChildDevice, doc: childDocument(name, type, isChildDevice) },
      ];
    },
  },
  {
    id: '102',
    effect: 'creates or updates a service',
    parameters: [
      parameter('serviceExtId*', 'serial'),
      parameter('serviceType*'),
      parameter('name*'),
      parameter('status*'),
    ],
    interpret: ({ single: [externalId, serviceType, name, status] }) => {
      const doc = JSON.stringify({ type: 'c8y_Service', name, serviceType, status });
      return [{ kind: 'service', externalId, serviceType, name, status, doc }];
    },
  },
  {
    id: '104',
    effect: 'sets the status of the service',
    parameters: [parameter('status*')],
    interpret: ({ single: [status] }) => change(JSON.stringify({ status })),
  },
];

const replies: readonly StaticTemplate[] = [
  {
    id: '105',
    effect: 'asks for the child devices, answered by 106',
    parameters: [],
    interpret: () => [{ kind: 'reply', what: 'children' }],
  },
  {
    id: '123',
    effect: 'asks for the managed object id, answered by 124',
    parameters: [],
    interpret: () => [{ kind: 'reply', what: 'managedObjectId' }],
  },
  {
    id: '600',
    effect: 'asks for the version of the API, answered by 601',
    parameters: [],
    interpret: () => [{ kind: 'reply', what: 'version' }],
  },
  {
    id: '602',
    effect: 'asks for the ids of the static templates, answered by 603',
    parameters: [],
    interpret: () => [{ kind: 'reply', what: 'templates' }],
  },
  { id: '125', effect: 'heartbeat', parameters: [], interpret: () => [{ kind: 'heartbeat' }] },
];

const fragments: readonly StaticTemplate[] = [
  {
    id: '107',
    effect: 'removes fragments',
    parameters: [],
    repeated: [parameter('fragment*', 'fragment')],
    repeatedAtLeastOnce: true,
    interpret: ({ groups }) => change(objectText(groups.map(([fragment]): [string, string] => [fragment, 'null']))),
  },
  fragmentOf('110', 'c8y_Hardware', ['serialNumber', 'model', 'revision']),
  fragmentOf('111', 'c8y_Mobile', ['imei', 'iccid', 'imsi', 'mcc', 'mnc', 'lac', 'cellId']),
  fragmentOf('112', 'c8y_Position', ['lat', 'lng', 'alt', 'accuracy'], { numbers: true }),
  {
    id: '113',
    effect: 'sets c8y_Configuration',
    parameters: [parameter('config')],
    interpret: ({ single: [config] }) => change(JSON.stringify({ c8y_Configuration: { config } })),
  },
  listOf('114', 'c8y_SupportedOperations', 'operation'),
  fragmentOf('115', 'c8y_Firmware', ['name', 'version', 'url']),
  {
    id: '116',
    effect: 'replaces the list c8y_SoftwareList; none empties it',
    parameters: [],
    repeated: [parameter('name*'), parameter('version'), parameter('url')],
    interpret: ({ groups }) =>
      change(JSON.stringify({ c8y_SoftwareList: groups.map(([name, version, url]) => ({ name, version, url })) })),
  },
  {
    id: '117',
    effect: 'sets c8y_RequiredAvailability when it is not set',
    parameters: [parameter('minutes', 'integer')],
    interpret: ({ single: [minutes] }) => {
      if (minutes === '') return [];
      const responseInterval = Math.min(Math.max(Number(minutes), RESPONSE_INTERVAL_MIN), RESPONSE_INTERVAL_MAX);
      const doc = JSON.stringify({ c8y_RequiredAvailability: { responseInterval } });
      return [{ kind: 'managedObject', doc, onlyWhenAbsent: true }];
    },
  },
  listOf('118', 'c8y_SupportedLogs', 'log'),
  listOf('119', 'c8y_SupportedConfigurations', 'configuration'),
  {
    id: '120',
    effect: 'sets c8y_Configuration_<type>',
    parameters: [
      parameter('type*'),
      parameter('url*'),
      parameter('name', 'text', '<type>'),
      parameter('time', 'time', 'now'),
    ],
    interpret: ({ single: [type, url, name, time] }, context) => {
      const value = { name: name || type, time: formatTime(timeOf(time, context)), type, url };
      // A fragment has no dots in its name.
      return change(JSON.stringify({ [`c8y_Configuration_${type.replaceAll('.', '_')}`]: value }));
    },
  },
  {
    id: '121',
    effect: 'sets c8y_Profile',
    parameters: [
      parameter('profileExecuted*', 'boolean'),
      parameter('profileId', 'text', 'of the oldest EXECUTING c8y_DeviceProfile'),
    ],
    interpret: ({ single: [isExecuted, profileId] }) => [
      { kind: 'profile', isExecuted: isExecuted === 'true', ...(profileId === '' ? {} : { profileId }) },
    ],
  },
  {
    id: '122',
    effect: 'sets c8y_Agent',
    parameters: [parameter('name*'), parameter('version*'), parameter('url'), parameter('maintainer*')],
    interpret: ({ single: [name, version, url, maintainer] }) =>
      change(
        JSON.stringify({ c8y_Agent: url === '' ? { name, version, maintainer } : { name, version, url, maintainer } }),
      ),
  },
  softwareOf('140', 'set', 'replaces the list of software; none empties it', PACKAGE),
  softwareOf('141', 'add', 'adds to the list of software, in the place of the same name and type', PACKAGE),
  softwareOf('142', 'remove', 'removes from the list of software', ['name', 'version']),
  listOf('143', 'c8y_SupportedSoftwareTypes', 'type', { emptyRemoves: true }),
  listOf('150', 'c8y_RemoteAccessSupportedProtocols', 'protocol', { emptyRemoves: true }),
];

export const INVENTORY_TEMPLATES: readonly StaticTemplate[] = [...creation, ...replies, ...fragments];
