/**
 * The schemas of entities for bodies that do not come through a route of HTTP, with the area of their errors. The rules
 * behind the schema are in the entity's file (newAlarm, alarmChange, …), which all doors call.
 */
import { BodyValidator } from '../schema/body-validator.ts';
import * as schemas from './body-schemas.ts';

export const NEW_ALARM = new BodyValidator(schemas.Alarm, 'alarm', true);
export const ALARM_CHANGE = new BodyValidator(schemas.AlarmUpdate, 'alarm', false);
export const NEW_EVENT = new BodyValidator(schemas.Event, 'event', true);
export const EVENT_CHANGE = new BodyValidator(schemas.EventUpdate, 'event', false);
export const OPERATION_CHANGE = new BodyValidator(schemas.OperationUpdate, 'devicecontrol', false);
export const NEW_MANAGED_OBJECT = new BodyValidator(schemas.ManagedObject, 'inventory', true);
export const MANAGED_OBJECT_CHANGE = new BodyValidator(schemas.ManagedObject, 'inventory', false);
export const NEW_CHILD = new BodyValidator(schemas.ChildReference, 'inventory', true);
