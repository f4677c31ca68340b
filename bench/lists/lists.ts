/** The lists that the scenario `lists` asks for, with the filters that clients use. */
import { FIRST_ALARM, FIRST_OBJECT, OBJECTS_PER_DEVICE } from './data.ts';
import type { Sizes } from './data.ts';

export interface ListUnderTest {
  readonly name: string;
  /** With its filters. */
  readonly path: string;
  /** Has a page 1,000 at full size. */
  readonly isDeep: boolean;
}

const DAY_MS = 86_400_000;
const time = (ms: number): string => new Date(ms).toISOString();

/** @param endMs the latest time of the data. */
export function listsOf(sizes: Sizes, endMs: number): ListUnderTest[] {
  /** Has a tenth of all alarms, events and operations. */
  const hot = FIRST_OBJECT;
  const device = FIRST_OBJECT + 7 * OBJECTS_PER_DEVICE;
  const group = FIRST_OBJECT;
  const smallGroup = FIRST_OBJECT + 5_000;
  const week = `dateFrom=${time(endMs - 9 * DAY_MS)}&dateTo=${time(endMs - 2 * DAY_MS)}`;
  const ids = Array.from({ length: 100 }, (_, index) => FIRST_OBJECT + Math.floor((index * sizes.objects) / 100)).join(
    ',',
  );
  const query = (text: string): string => `query=${encodeURIComponent(text)}`;
  const of = (
    base: string,
    entries: readonly (readonly [name: string, filter: string, isDeep?: boolean])[],
  ): ListUnderTest[] =>
    entries.map(([name, filter, isDeep = false]) => ({
      name,
      path: filter === '' ? base : `${base}?${filter}`,
      isDeep,
    }));
  return [
    ...of('/inventory/managedObjects', [
      ['objects', '', true],
      ['objects type', 'type=c8y_Type7'],
      ['objects fragmentType', 'fragmentType=c8y_IsDevice', true],
      ['objects rare fragmentType', 'fragmentType=bench_Rare'],
      ['objects owner', 'owner=owner3'],
      ['objects text', 'text=SN77'],
      ['objects ids', `ids=${ids}`],
      ['objects query eq and has', query("$filter=(type eq 'c8y_Type*' and has(c8y_IsDevice))"), true],
      ['objects query orderby', query('$filter=has(c8y_IsDevice) $orderby=name asc'), true],
      ['objects query in document', query("$filter=c8y_Hardware.serialNumber eq 'SN7777'")],
      ['objects query group', query(`$filter=bygroupid(${group})`), true],
      ['objects query small group', query(`$filter=bygroupid(${smallGroup})`)],
    ]),
    ...of(`/inventory/managedObjects/${smallGroup}/childAssets`, [['children of small group', '']]),
    ...of(`/inventory/managedObjects/${group}/childAssets`, [['children of large group', '', true]]),
    ...of('/alarm/alarms', [
      ['alarms', '', true],
      ['alarms device', `source=${device}`],
      ['alarms hot device', `source=${hot}`, true],
      ['alarms severity', 'severity=CRITICAL,MAJOR', true],
      ['alarms ACTIVE', 'status=ACTIVE'],
      ['alarms unresolved', 'resolved=false', true],
      ['alarms type', 'type=c8y_Alarm7'],
      ['alarms dates', week, true],
    ]),
    ...of('/event/events', [
      ['events', '', true],
      ['events device', `source=${device}`],
      ['events hot device', `source=${hot}`, true],
      ['events type', 'type=c8y_Event7', true],
      ['events fragment', 'fragmentType=c8y_Position', true],
      ['events dates', week, true],
      ['events dates revert', `${week}&revert=true`, true],
      ['events createdFrom', `createdFrom=${time(endMs - 3 * DAY_MS)}`, true],
      ['events unknown type', 'type=bench_None'],
    ]),
    ...of('/audit/auditRecords', [
      ['audits', '', true],
      ['audits user', 'user=user3'],
      ['audits source', `source=${FIRST_ALARM + 7}`],
      ['audits type', 'type=Alarm', true],
    ]),
    ...of('/devicecontrol/operations', [
      ['operations', '', true],
      ['operations device', `deviceId=${device}`],
      ['operations agent PENDING', `agentId=${device}&status=PENDING`],
      ['operations PENDING', 'status=PENDING'],
      ['operations revert', 'revert=true', true],
    ]),
  ];
}
