/** Columns of the list of devices: each is the path of a member; some have a title and a form of their own. */
import { COLUMNS_MAX } from '../../core/preferences.ts';
import { href } from '../../core/route.ts';
import { nameOf, textOfMember } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { AlarmBadges, ConnectionState, connectionOf, openAlarms } from '../../parts/badge.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import type { DeviceTexts } from './text.ts';

/** Those that stand there when none are chosen. */
export const USUAL_COLUMNS = [
  'c8y_Connection.status',
  'c8y_ActiveAlarmsStatus',
  'type',
  'c8y_Hardware.serialNumber',
  'c8y_Availability.lastMessage',
  'creationTime',
  'id',
] as const;
const MORE_COLUMNS = ['c8y_Availability.status', 'c8y_Hardware.model', 'lastUpdated', 'owner'] as const;
export const KNOWN_COLUMNS = [...USUAL_COLUMNS, ...MORE_COLUMNS] as const;
type Known = (typeof KNOWN_COLUMNS)[number];

/** What the query language takes as a path, and the address as one of a list. */
const PATH = /^[\w$-]+(?:\.[\w$-]+)*$/;
const PATH_LENGTH_MAX = 200;

export const isPath = (path: string): boolean => path.length <= PATH_LENGTH_MAX && PATH.test(path);

/** The columns to show beside the name: of the address, else of the person, else the usual ones. */
export function chosenColumns(ofAddress: readonly string[], ofUser: readonly string[]): readonly string[] {
  const [first] = [ofAddress, ofUser]
    .map((paths) => [...new Set(paths.filter(isPath))].slice(0, COLUMNS_MAX))
    .filter((paths) => paths.length > 0);
  return first ?? USUAL_COLUMNS;
}

/** The member at the path; undefined where there is none. */
function valueAt(device: ManagedObject, path: string): unknown {
  let value: unknown = device;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

/** As a file has it: numbers as they are, so that a negative one is not taken for a formula. */
export function fileValue(device: ManagedObject, path: string): string | number {
  const value = valueAt(device, path);
  return typeof value === 'number' ? value : pathText(device, path);
}

/** As a cell shows it: objects and lists as JSON. */
export const pathText = (device: ManagedObject, path: string): string =>
  path === 'name' ? nameOf(device) : textOfMember(valueAt(device, path));

/** Paths of single values that the devices have, for the choice of further columns. @param max of them. */
export function pathsOf(devices: readonly ManagedObject[], max: number): readonly string[] {
  const found = new Set<string>();
  const visit = (object: object, before: string): void => {
    for (const [name, value] of Object.entries(object)) {
      if (found.size >= max) return;
      const path = before + name;
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) visit(value, `${path}.`);
      else if (isPath(path)) found.add(path);
    }
  };
  for (const device of devices) visit(device, '');
  return [...found].sort();
}

const time = (device: ManagedObject, path: string, hasAge: boolean) => {
  const text = pathText(device, path);
  return text === '' ? '' : <Time value={text} hasAge={hasAge} />;
};

/** The file has what the cell of a known column shows, and of others the value. */
const ofPath = (
  path: string,
  title: string,
  form: Partial<Column<ManagedObject>> | undefined,
): Column<ManagedObject> => ({
  id: path,
  title,
  isSortable: true,
  cell: (device) => pathText(device, path),
  ...(form ?? { text: (device) => fileValue(device, path) }),
});

/** The titles of the columns that have one; of others it is the path. */
const titlesOf = (words: DeviceTexts): Readonly<Record<Known, string>> => ({
  'c8y_Connection.status': words.state,
  c8y_ActiveAlarmsStatus: words.alarms,
  type: words.type,
  'c8y_Hardware.serialNumber': words.serial,
  'c8y_Availability.lastMessage': words.lastMessage,
  creationTime: words.created,
  id: words.id,
  'c8y_Availability.status': words.availability,
  'c8y_Hardware.model': words.model,
  lastUpdated: words.updated,
  owner: words.owner,
});

const isKnown = (path: string): path is Known => (KNOWN_COLUMNS as readonly string[]).includes(path);

export const titleOf = (path: string, words: DeviceTexts): string => (isKnown(path) ? titlesOf(words)[path] : path);

/** What is special about the columns that are known. */
const formsOf = (words: DeviceTexts): Partial<Record<string, Partial<Column<ManagedObject>>>> => ({
  'c8y_Connection.status': { cell: (device) => <ConnectionState state={connectionOf(device)} /> },
  c8y_ActiveAlarmsStatus: {
    isSortable: false,
    cell: (device) => {
      const open = openAlarms(device['c8y_ActiveAlarmsStatus']);
      return open.length === 0 ? '' : <AlarmBadges open={open} />;
    },
  },
  'c8y_Availability.lastMessage': { cell: (device) => time(device, 'c8y_Availability.lastMessage', true) },
  creationTime: { cell: (device) => time(device, 'creationTime', false) },
  lastUpdated: { cell: (device) => time(device, 'lastUpdated', true) },
  'c8y_Availability.status': {
    cell: (device) => {
      const status = pathText(device, 'c8y_Availability.status');
      return words.availabilities[status as keyof DeviceTexts['availabilities']] ?? status;
    },
  },
  id: { isNarrow: true, isEnd: true, cell: ({ id }) => <span class="mono">{id}</span> },
});

/** The name, then the chosen columns in their order. */
export function columnsOf(paths: readonly string[], words: DeviceTexts): readonly Column<ManagedObject>[] {
  const forms = formsOf(words);
  return [
    {
      id: 'name',
      title: words.name,
      isHeading: true,
      isSortable: true,
      cell: (device) => <a href={href('/devices/:id', { id: device.id })}>{nameOf(device)}</a>,
    },
    ...paths.filter((path) => path !== 'name').map((path) => ofPath(path, titleOf(path, words), forms[path])),
  ];
}
