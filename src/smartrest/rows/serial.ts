/** What an external ID of type `c8y_Serial` may be: it is part of document keys, topics and rows. */
import { isExternalIdPart } from '../../model/entities/external-id.ts';

const SERIAL_LENGTH_MAX = 256;

export const SERIAL_RULE = `1 to ${SERIAL_LENGTH_MAX} characters without line breaks and other control characters`;

export const isSerial = (text: string): boolean => text.length <= SERIAL_LENGTH_MAX && isExternalIdPart(text);
