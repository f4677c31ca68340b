/** Texts of operations: the list of all, the history of a device, bulk operations. */
import { defineTexts, numberText } from '../../core/text/language.ts';

const en = {
  title: 'Operations',
  statuses: { PENDING: 'Pending', EXECUTING: 'Executing', SUCCESSFUL: 'Successful', FAILED: 'Failed' },
  allStatuses: 'All',
  status: 'Status',
  command: 'Command',
  commandFilter: 'Command (fragment)',
  device: 'Device',
  deviceFilter: 'Device id',
  time: 'Created',
  description: 'Description',
  reason: 'Reason of the failure',
  id: 'Id',
  details: (id: string) => `Operation ${id}`,
  open: (name: string) => `Show the operation ${name}`,
  bulk: 'Bulk operation',
  bulks: 'Bulk operations',
  bulkFilter: 'Bulk operation id',
  emptyText:
    'An operation asks a device for something: to restart, to run a command, to install software. Open a device to send one.',
  toDevices: 'Go to the devices',
  cancel: 'Cancel the operation',
  cancelled: 'The operation is cancelled',
  cancelReason: 'Cancelled by a user',
  cancelText: 'A device that has already fetched it may carry it out all the same.',
  endedMeanwhile: 'The operation has ended meanwhile.',
  again: 'Send again',
  sent: 'Sent to the device',
  sentOffline: 'The device is not connected. It gets the operation when it comes back.',
  offlineTitle: 'The device is not connected',
  offlineText: 'What you send waits on the server. The device gets it when it comes back.',
  history: 'History',
  noHistory: 'Nothing was sent to this device yet.',
  send: 'Send an operation',
  restart: 'Restart',
  restartTitle: (name: string) => `Restart ${name}?`,
  restartText: 'It stops its work while it restarts.',
  json: 'Operation as JSON',
  jsonHint:
    'One fragment says what to do, for instance {"c8y_Restart": {}}. The members deviceId and status are set here.',
  jsonReserved: (name: string) => `${name} is set by the console and the server: leave it out`,
  jsonNoCommand: 'Add a fragment that says what to do',
  examples: 'Begin with',
  example: 'An example …',
  sendButton: 'Send',
  capabilities: 'What this device could do',
  capabilitiesText:
    'A tab appears when the device names the operation in c8y_SupportedOperations. It sends this line to the topic s/us:',
  needsTitle: (name: string) => `This device does not take ${name}`,
  needsText:
    'The tab is for devices whose c8y_SupportedOperations names the operation. The device sends this line over MQTT to the topic s/us; the list replaces the one before:',
  needsRest: 'Over REST the device, or you, change the managed object:',
  running: (seconds: number) => `running for ${numberText(seconds)} s`,
};

export type OperationTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
