/** What users are shown of an error of scoring. */
import { PlatformError } from '../model/errors.ts';
import { BlobTooLarge } from '../ports/blobs.ts';

/** Shown for a fault of the server, which the log tells: its text may name files of the server. */
const INTERNAL_ERROR = 'internal error';

export const shownFault = (error: unknown): string =>
  error instanceof PlatformError || error instanceof BlobTooLarge ? error.message : INTERNAL_ERROR;
