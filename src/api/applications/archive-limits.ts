/**
 * How large archives of applications may be: the system options of the category `files`
 * (docs/spec/options.md#system-options).
 */
import type { ApplicationType } from '../../model/entities/application.ts';
import { SYSTEM_OPTIONS } from '../options/system-options.ts';

export interface ArchiveLimit {
  /** Bytes of the archive. */
  readonly zipped: number;
  /** What it is called in counters and messages. */
  readonly zippedLimit: string;
  /** Bytes of its content. */
  readonly unzipped: number;
  readonly unzippedLimit: string;
}

export function archiveLimit(type: ApplicationType): ArchiveLimit {
  const kind = type === 'MICROSERVICE' ? 'microservice' : 'webapp';
  const bytes = (name: string): number => Number(SYSTEM_OPTIONS['files'][`${kind}.${name}`].value);
  return {
    zipped: bytes('zipped.max.size'),
    zippedLimit: `files/${kind}.zipped.max.size`,
    unzipped: bytes('unzipped.max.size'),
    unzippedLimit: `files/${kind}.unzipped.max.size`,
  };
}
