/** What an external ID of type `c8y_Serial` may be: it is part of document keys, topics and rows. */

const SERIAL_LENGTH_MAX = 256;

export const SERIAL_RULE = `1 to ${SERIAL_LENGTH_MAX} characters without line breaks and other control characters`;

export function isSerial(text: string): boolean {
  // eslint-disable-next-line no-control-regex
  return text !== '' && text.length <= SERIAL_LENGTH_MAX && !/[\u0000-\u001f\u007f]/.test(text);
}
