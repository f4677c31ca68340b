/**
 * Properties of MQTT 5.0 (section 2.2.2): which packet may have which, and none twice. mqtt-packet checks neither.
 * Pure.
 */
import type { Packet } from 'mqtt-packet';
import { PacketError } from './packet-error.ts';
import { REASON } from './reason-codes.ts';

const ACKNOWLEDGEMENT = new Set(['reasonString', 'userProperties']);

/** What a client may send. Packets that are not listed have no properties. */
const ALLOWED: Readonly<Record<string, ReadonlySet<string>>> = {
  connect: new Set([
    'sessionExpiryInterval',
    'receiveMaximum',
    'maximumPacketSize',
    'topicAliasMaximum',
    'requestResponseInformation',
    'requestProblemInformation',
    'userProperties',
    'authenticationMethod',
    'authenticationData',
  ]),
  publish: new Set([
    'payloadFormatIndicator',
    'messageExpiryInterval',
    'topicAlias',
    'responseTopic',
    'correlationData',
    'userProperties',
    'contentType',
  ]),
  puback: ACKNOWLEDGEMENT,
  pubrec: ACKNOWLEDGEMENT,
  pubrel: ACKNOWLEDGEMENT,
  pubcomp: ACKNOWLEDGEMENT,
  subscribe: new Set(['subscriptionIdentifier', 'userProperties']),
  unsubscribe: new Set(['userProperties']),
  disconnect: new Set(['sessionExpiryInterval', 'reasonString', 'userProperties']),
  auth: new Set(['authenticationMethod', 'authenticationData', 'reasonString', 'userProperties']),
};
const WILL = new Set([
  'willDelayInterval',
  'payloadFormatIndicator',
  'messageExpiryInterval',
  'contentType',
  'responseTopic',
  'correlationData',
  'userProperties',
]);
const NONE: ReadonlySet<string> = new Set();

/** @throws PacketError if a property does not belong here, is there twice, or was cut off. */
export function checkProperties(packet: Packet): void {
  if ('properties' in packet && packet.properties !== undefined)
    check(packet.properties, ALLOWED[packet.cmd] ?? NONE, packet.cmd);
  if (packet.cmd === 'connect' && packet.will?.properties !== undefined) check(packet.will.properties, WILL, 'will');
}

function check(properties: object, allowed: ReadonlySet<string>, where: string): void {
  for (const [name, value] of Object.entries(properties)) {
    if (!allowed.has(name))
      throw new PacketError(REASON.PROTOCOL_ERROR, `the property ${name} does not belong in ${where}`);
    if (name === 'userProperties') continue;
    if (Array.isArray(value)) throw new PacketError(REASON.PROTOCOL_ERROR, `the property ${name} is there twice`);
    // What mqtt-packet returns for a value that reaches beyond the packet.
    if (value === null || value === undefined || value === -1) {
      throw new PacketError(REASON.MALFORMED_PACKET, `the property ${name} is cut off`);
    }
  }
}
