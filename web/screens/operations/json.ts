/** Operations that a person writes as JSON. */
import { jsonFault } from '../../parts/json.tsx';
import type { OperationTexts } from './text.ts';

export const EXAMPLES: Readonly<Record<string, unknown>> = {
  c8y_Restart: {},
  c8y_Command: { text: 'uptime' },
  c8y_Configuration: { config: 'interval=60' },
  c8y_SendConfiguration: {},
  c8y_MeasurementRequestOperation: { requestName: 'LOG' },
  c8y_Relay: { relayState: 'CLOSED' },
  c8y_RelayArray: ['CLOSED', 'OPEN'],
  c8y_CommunicationMode: { mode: 'SMS' },
};

/** What is set here and by the server. */
const RESERVED = ['deviceId', 'status', 'id', 'self', 'creationTime', 'failureReason'];

/** Why the text is not an operation; undefined when it is one. */
export function operationFault(text: string, words: OperationTexts): string | undefined {
  const fault = jsonFault(text);
  if (fault !== undefined) return fault;
  const names = Object.keys(JSON.parse(text) as object);
  const reserved = names.find((name) => RESERVED.includes(name));
  if (reserved !== undefined) return words.jsonReserved(reserved);
  return names.every((name) => name === 'description') ? words.jsonNoCommand : undefined;
}
