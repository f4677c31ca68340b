/**
 * What of a payload is shown to people: its first kilobyte, without passwords and tokens. What a device hides in a free text
 * of its own cannot be known.
 */
import { isUtf8 } from 'node:buffer';
import type { TrafficMessage } from '../../ports/traffic.ts';

const PAYLOAD_BYTES_MAX = 1_024;
/** Device credentials and tokens (docs/spec/mqtt.md#topics), requests and answers. */
const SECRET_TOPIC = /^[stqc]\/(?:ucr|dcr|uat|dat)(?:\/|$)/;
/** Row of remote access: its last field is the key of the tunnel. */
const TUNNEL_KEY = /^(530,(?:[^,\r\n]*,){3})[^\r\n]*/gm;
const SECRET_NAME = 'passw(?:or)?d|secret|token|jwt|credential|authorization|connectionKey|privateKey|apiKey';
/** Of a list or an object all to the end of what is shown. */
const MEMBER = new RegExp(
  `("[^"\\\\]*(?:${SECRET_NAME})[^"\\\\]*"\\s*:\\s*)(?:"(?:[^"\\\\]|\\\\.)*"?|[[{][^]*|[^\\s,}\\]"]+)`,
  'gi',
);
/** The same in JSON that is a text of JSON. */
const INNER_MEMBER = new RegExp(
  `(\\\\"[^"\\\\]*(?:${SECRET_NAME})[^"\\\\]*\\\\"\\s*:\\s*)(?:\\\\"[^"\\\\]*(?:\\\\")?|[[{][^]*|[^\\s,}\\]"\\\\]+)`,
  'gi',
);
const MASK = '***';

const UTF8_CONTINUATION = 0x80;
const UTF8_TOP_BITS = 0xc0;

/** The beginning of a text, not cut within a character. */
function beginning(payload: Uint8Array): Uint8Array {
  if (payload.length <= PAYLOAD_BYTES_MAX) return payload;
  let end = PAYLOAD_BYTES_MAX;
  while (end > PAYLOAD_BYTES_MAX - 4 && (payload[end] & UTF8_TOP_BITS) === UTF8_CONTINUATION) end -= 1;
  return payload.subarray(0, end);
}

export function shownPayload(topic: string, payload: Uint8Array): Pick<TrafficMessage, 'payload' | 'encoding'> {
  if (SECRET_TOPIC.test(topic)) return {};
  const shown = beginning(payload);
  if (isUtf8(shown)) return { payload: masked(Buffer.from(shown).toString()) };
  const bytes = Buffer.from(payload.subarray(0, PAYLOAD_BYTES_MAX));
  return { payload: Buffer.from(masked(bytes.toString('latin1')), 'latin1').toString('base64'), encoding: 'base64' };
}

const masked = (text: string): string =>
  text.replace(TUNNEL_KEY, `$1${MASK}`).replace(MEMBER, `$1"${MASK}"`).replace(INNER_MEMBER, `$1\\"${MASK}\\"`);
