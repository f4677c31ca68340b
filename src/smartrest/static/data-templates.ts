/** Static templates 2xx to 4xx: measurements, alarms and events (docs/spec/smartrest.md#data-templates). */
import type { AlarmSeverity } from '../../model/entities/alarm.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { parseNumber, toJsonNumber } from '../../model/documents/number-scan.ts';
import type { Effect, MeasuredValue, RowContext } from '../effects/effects.ts';
import { SmartRestError } from '../rows/error.ts';
import { position } from './inventory-templates.ts';
import { PARAMETER_UPDATE } from './parameter-update.ts';
import { BUILT_IN } from '../rows/measurement-rows.ts';
import { objectText, parameter, timeOf, type StaticTemplate } from './parameters.ts';

/** Text of the events of 401 and 402. */
const LOCATION_TEXT = 'LocUpdate';
const LOCATION_TYPE = 'c8y_LocationUpdate';

const TIME = parameter('time', 'time', 'now');

function measured(fragment: string, series: string, text: string, unit: string): MeasuredValue {
  const value = parseNumber(text) as number;
  return { fragment, series, value, text: toJsonNumber(text), unit };
}

/** 211, 212: one value of fixed names. */
function builtIn(id: string, name: string, index: number): StaticTemplate {
  const { fragment, series, unit } = BUILT_IN[index];
  return {
    id,
    effect: `measurement ${fragment}.${series} (${unit})`,
    parameters: [parameter(`${name}*`, 'number'), TIME],
    interpret: ({ single: [value, time] }, context) => [
      {
        kind: 'measurement',
        type: fragment,
        time: timeOf(time, context),
        values: [measured(fragment, series, value, unit)],
      },
    ],
  };
}

const SERIES = [
  parameter('fragment*', 'name'),
  parameter('series*', 'name'),
  parameter('value*', 'number'),
  parameter('unit', 'label'),
];

const measurements: readonly StaticTemplate[] = [
  {
    id: '200',
    effect: 'measurement; its type is the fragment',
    parameters: [...SERIES, TIME],
    interpret: ({ single: [fragment, series, value, unit, time] }, context) => [
      {
        kind: 'measurement',
        type: fragment,
        time: timeOf(time, context),
        values: [measured(fragment, series, value, unit)],
      },
    ],
  },
  {
    id: '201',
    effect: 'measurement of several series',
    parameters: [parameter('type*', 'label'), TIME],
    repeated: SERIES,
    repeatedAtLeastOnce: true,
    interpret: ({ single: [type, time], groups }, context) => {
      const values = groups.map(([fragment, series, value, unit]) => measured(fragment, series, value, unit));
      return [{ kind: 'measurement', type, time: timeOf(time, context), values }];
    },
  },
  {
    id: '210',
    effect: 'measurement c8y_SignalStrength.rssi (dBm) and .ber (%); one of them may be empty',
    parameters: [parameter('rssi', 'number'), parameter('ber', 'number'), TIME],
    interpret: ({ single: [rssi, ber, time] }, context, id) => {
      const values: MeasuredValue[] = [];
      for (const [index, text] of [rssi, ber].entries()) {
        if (text !== '')
          values.push(measured(BUILT_IN[index].fragment, BUILT_IN[index].series, text, BUILT_IN[index].unit));
      }
      if (values.length === 0)
        throw new SmartRestError(45, id, 'The parameters rssi and ber are missing; one of them has to be sent');
      return [{ kind: 'measurement', type: BUILT_IN[0].fragment, time: timeOf(time, context), values }];
    },
  },
  builtIn('211', 'temperature', 2),
  builtIn('212', 'battery', 3),
];

function raise(id: string, severity: AlarmSeverity): StaticTemplate {
  return {
    id,
    effect: `raises a ${severity} alarm`,
    parameters: [parameter('type*', 'alarmType'), parameter('text', 'text', 'Alarm of type <type> raised'), TIME],
    interpret: ({ single: [type, sentText, sentTime] }, context) => {
      const text = sentText || `Alarm of type ${type} raised`;
      const time = timeOf(sentTime, context);
      const doc = JSON.stringify({ type, time: formatTime(time), text, severity, status: 'ACTIVE' });
      return [{ kind: 'alarm', type, severity, text, time, doc }];
    },
  };
}

/** A change that removes the fragments. */
const withoutFragments = (groups: readonly (readonly string[])[]): string =>
  objectText(groups.map(([fragment]): [string, string] => [fragment, 'null']));

const alarms: readonly StaticTemplate[] = [
  raise('301', 'CRITICAL'),
  raise('302', 'MAJOR'),
  raise('303', 'MINOR'),
  raise('304', 'WARNING'),
  {
    id: '305',
    effect: 'changes the severity of the open alarm of the type',
    parameters: [parameter('type*', 'alarmType'), parameter('severity*', 'severity')],
    interpret: ({ single: [type, severity] }) => [{ kind: 'alarmOfType', type, doc: JSON.stringify({ severity }) }],
  },
  {
    id: '306',
    effect: 'clears the open alarm of the type',
    parameters: [parameter('type*', 'alarmType')],
    interpret: ({ single: [type] }) => [{ kind: 'alarmOfType', type, doc: '{"status":"CLEARED"}' }],
  },
  {
    id: '307',
    effect: 'removes fragments from the open alarm of the type',
    parameters: [parameter('type*', 'alarmType')],
    repeated: [parameter('fragment*', 'free')],
    repeatedAtLeastOnce: true,
    interpret: ({ single: [type], groups }) => [{ kind: 'alarmOfType', type, doc: withoutFragments(groups) }],
  },
];

/** 401 and 402: the last parameter is the time, those before are the position. */
function locationUpdate(values: readonly string[], context: RowContext, options: { alsoOnObject: boolean }): Effect[] {
  const given = values.slice(0, -1);
  const coordinates = position.text(given);
  const time = timeOf(values[values.length - 1], context);
  const doc = objectText([
    ['type', JSON.stringify(LOCATION_TYPE)],
    ['time', JSON.stringify(formatTime(time))],
    ['text', JSON.stringify(LOCATION_TEXT)],
    ['c8y_Position', coordinates],
  ]);
  const event = { kind: 'event', type: LOCATION_TYPE, text: LOCATION_TEXT, time, doc } as const;
  // A row without a position does not take the position away that the object has.
  return [
    options.alsoOnObject && given.some((value) => value !== '')
      ? { ...event, position: objectText([['c8y_Position', coordinates]]) }
      : event,
  ];
}

const events: readonly StaticTemplate[] = [
  {
    id: '400',
    effect: 'event',
    parameters: [parameter('type*'), parameter('text*'), TIME],
    interpret: ({ single: [type, text, sentTime] }, context) => {
      const time = timeOf(sentTime, context);
      return [{ kind: 'event', type, text, time, doc: JSON.stringify({ type, time: formatTime(time), text }) }];
    },
  },
  {
    id: '401',
    effect: 'event c8y_LocationUpdate',
    parameters: [...position.parameters, TIME],
    interpret: ({ single }, context) => locationUpdate(single, context, { alsoOnObject: false }),
  },
  {
    id: '402',
    effect: 'event c8y_LocationUpdate, and c8y_Position of the device',
    parameters: [...position.parameters, TIME],
    interpret: ({ single }, context) => locationUpdate(single, context, { alsoOnObject: true }),
  },
  {
    id: '407',
    effect: 'removes fragments from the newest event of the type',
    parameters: [parameter('type*')],
    repeated: [parameter('fragment*', 'free')],
    repeatedAtLeastOnce: true,
    interpret: ({ single: [type], groups }) => [{ kind: 'eventOfType', type, doc: withoutFragments(groups) }],
  },
  PARAMETER_UPDATE,
];

export const DATA_TEMPLATES: readonly StaticTemplate[] = [...measurements, ...alarms, ...events];
