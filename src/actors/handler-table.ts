/** Which handler decides which command. */
import { COMMAND } from '../model/commands/kinds.ts';
import type { CommandKind } from '../model/commands/kinds.ts';
import { createAlarm, deleteAlarm, updateAlarm, updateAlarmOfType } from './handlers/alarms/alarm.ts';
import { setAvailability } from './handlers/availability.ts';
import { issueDeviceCredentials } from './handlers/users/device-credentials.ts';
import { addChild, addParent, removeChild, removeParent } from './handlers/inventory/child-links.ts';
import type { Handler } from './runtime/context.ts';
import { changeEventBinary, createEvent, deleteEvent, updateEvent } from './handlers/event.ts';
import {
  bindExternalId,
  ensureDevice,
  forgetExternalId,
  noteExternalId,
  unbindExternalId,
} from './handlers/external-id.ts';
import {
  createManagedObject,
  deleteManagedObject,
  removeLinks,
  updateManagedObject,
} from './handlers/inventory/managed-object.ts';
import { changeSoftware, ensureSoftwareList } from './handlers/inventory/software-list.ts';
import { removeSubscriptions } from './handlers/notification-subscription.ts';
import { createOperation, deleteOperation, setProfile, updateOperation } from './handlers/operation.ts';
import { removeConfigurations } from './handlers/remote-access.ts';
import {
  addSessionMessage,
  expireSession,
  noteReceivingShard,
  receivePacket,
  releasePacket,
  removeSession,
  removeSessionMessage,
  saveSession,
} from './handlers/sessions/session.ts';
import { listReceipts, putReceipt, removeReceipts } from './handlers/sessions/receipts.ts';
import { createAuditRecord } from './runtime/audit.ts';
import { changeRecords, removeDocuments } from './handlers/records.ts';
import { deleteUser, putUser } from './handlers/users/user.ts';

/** DATA_DELETE is the projector's: it is carried out in order with the inserts. */
const acceptDataDelete = (): undefined => undefined;

export const HANDLERS: Readonly<Partial<Record<CommandKind, Handler>>> = {
  [COMMAND.EVENT_CREATE]: createEvent,
  [COMMAND.EVENT_UPDATE]: updateEvent,
  [COMMAND.EVENT_DELETE]: deleteEvent,
  [COMMAND.EVENT_BINARY_CHANGE]: changeEventBinary,
  [COMMAND.ALARM_CREATE]: createAlarm,
  [COMMAND.ALARM_UPDATE]: updateAlarm,
  [COMMAND.ALARM_DELETE]: deleteAlarm,
  [COMMAND.ALARM_OF_TYPE_UPDATE]: updateAlarmOfType,
  [COMMAND.MANAGED_OBJECT_CREATE]: createManagedObject,
  [COMMAND.MANAGED_OBJECT_UPDATE]: updateManagedObject,
  [COMMAND.MANAGED_OBJECT_DELETE]: deleteManagedObject,
  [COMMAND.LINKS_REMOVE]: removeLinks,
  [COMMAND.CHILD_ADD]: addChild,
  [COMMAND.CHILD_REMOVE]: removeChild,
  [COMMAND.PARENT_ADD]: addParent,
  [COMMAND.PARENT_REMOVE]: removeParent,
  [COMMAND.EXTERNAL_ID_BIND]: bindExternalId,
  [COMMAND.EXTERNAL_ID_UNBIND]: unbindExternalId,
  [COMMAND.EXTERNAL_ID_NOTE]: noteExternalId,
  [COMMAND.EXTERNAL_ID_FORGET]: forgetExternalId,
  [COMMAND.DEVICE_ENSURE]: ensureDevice,
  [COMMAND.OPERATION_CREATE]: createOperation,
  [COMMAND.OPERATION_UPDATE]: updateOperation,
  [COMMAND.OPERATION_DELETE]: deleteOperation,
  [COMMAND.DEVICE_PROFILE_SET]: setProfile,
  [COMMAND.SOFTWARE_LIST_ENSURE]: ensureSoftwareList,
  [COMMAND.SOFTWARE_CHANGE]: changeSoftware,
  [COMMAND.DATA_DELETE]: acceptDataDelete,
  [COMMAND.SOURCE_DELETE]: (context, body) => {
    removeConfigurations(context, body);
    return removeSubscriptions(context, body);
  },
  [COMMAND.USER_PUT]: putUser,
  [COMMAND.USER_DELETE]: deleteUser,
  [COMMAND.DEVICE_CREDENTIALS_ISSUE]: issueDeviceCredentials,
  [COMMAND.RECORDS_CHANGE]: changeRecords,
  [COMMAND.DOCUMENTS_REMOVE]: removeDocuments,
  [COMMAND.AUDIT_CREATE]: createAuditRecord,
  [COMMAND.AVAILABILITY_SET]: setAvailability,
  [COMMAND.SESSION_SAVE]: saveSession,
  [COMMAND.SESSION_REMOVE]: removeSession,
  [COMMAND.SESSION_EXPIRE]: expireSession,
  [COMMAND.SESSION_MESSAGE_ADD]: addSessionMessage,
  [COMMAND.SESSION_MESSAGE_REMOVE]: removeSessionMessage,
  [COMMAND.SESSION_RECEIVE]: receivePacket,
  [COMMAND.SESSION_RELEASE]: releasePacket,
  [COMMAND.SESSION_RECEIVES_IN]: noteReceivingShard,
  [COMMAND.SESSION_RECEIPT]: putReceipt,
  [COMMAND.SESSION_RECEIPTS]: listReceipts,
  [COMMAND.SESSION_RECEIPTS_REMOVE]: removeReceipts,
};
