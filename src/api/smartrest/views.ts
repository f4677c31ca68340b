/** Entities as REST answers them, for devices over MQTT: through the functions of the routes. */
import { splitMembers } from '../../model/documents/json-document.ts';
import type { EntityViews } from '../../ports/entity-views.ts';
import { alarmTexts } from '../alarms/alarms.ts';
import { eventTexts } from '../events/events.ts';
import { madeBehind } from '../inventory/managed-objects.ts';
import { managedObjectText } from '../inventory/text.ts';
import { linkedMeasurement } from '../measurements/text.ts';
import { operationTexts } from '../operations/operations.ts';
import { refusalsOf } from '../../ports/refusals.ts';
import type { Platform } from '../request/platform.ts';
import { parseQuery } from '../request/schema/query-values.ts';
import { unstoredText, type ViewRequest } from '../entities/text.ts';

/** Links begin with the configured base URL: a device calls no other. */
export function entityViews(platform: Platform): EntityViews {
  const baseUrl = platform.config.mailUrl;
  const query = parseQuery('');
  const of = (tenant: number): ViewRequest => ({
    platform,
    tenant,
    baseUrl,
    query,
    refusals: refusalsOf(platform.refusals, { tenant }),
  });
  return {
    measurement: (id, text) => linkedMeasurement({ baseUrl }, id, text),
    managedObject: (tenant, id, doc) => managedObjectText(of(tenant), id, doc),
    newManagedObject: async (tenant, id) => managedObjectText(of(tenant), id, await madeBehind(of(tenant), id)),
    event: async (tenant, id, doc) => (await eventTexts(of(tenant), [{ entityId: id, doc }]))[0],
    alarm: async (tenant, id, doc) => (await alarmTexts(of(tenant), [{ entityId: id, doc }]))[0],
    operation: async (tenant, id, doc) => (await operationTexts(of(tenant), [{ entityId: id, doc }]))[0],
    unstored: (doc) => unstoredText(splitMembers(doc)),
  };
}
