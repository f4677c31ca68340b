/** Errors of values that a model does not take: those of the next measurement, or of another device, may be others. */
import { PlatformError } from '../../model/errors.ts';

const CODES: ReadonlySet<string> = new Set(['scoring/bad-input', 'scoring/too-much']);

export const isOfValues = (error: unknown): boolean => error instanceof PlatformError && CODES.has(error.code);
