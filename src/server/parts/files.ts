/** Large content: how much a tenant may hold, and content without references. */
import { STATISTICS_FILES, statisticsFileBlobs } from '../../accounts/tenants/statistics-files.ts';
import { BlobSweeper, documentReferences } from '../../jobs/files/blob-sweeper.ts';
import { RetiredBlobs } from '../../jobs/files/retired-blobs.ts';
import { TenantFiles } from '../../jobs/files/tenant-files.ts';
import type { BinaryRecord } from '../../model/commands/entities.ts';
import { applicationBlobs } from '../../model/entities/application.ts';
import { eventBinaryKeys } from '../../model/entities/event-binary.ts';
import type { ServerCore } from '../cores/core.ts';
import type { Part } from './part.ts';
import { SERVER_WIDE, TENANT_KEY } from '../../model/commands/keys.ts';

export interface FilesPart extends Part {
  readonly files: TenantFiles;
  readonly retiredContents: RetiredBlobs;
}

export function filesPart(core: ServerCore): FilesPart {
  const { config, documents, metrics, log, filesRoom } = core;
  const tenants = (): number[] => core.tenants.numbers;
  const serverWide = (): number[] => [SERVER_WIDE];
  const files = new TenantFiles({
    blobs: core.blobs,
    bytesMax: config.tenantFilesMaxBytes,
    refusals: metrics,
    log,
    now: () => performance.now(),
    ...(filesRoom === undefined
      ? { freeBytes: () => core.freeBytes - config.diskFreeMinBytes }
      : // In NATS they lie beside the journal: no tenant may take what that needs.
        { freeBytes: () => filesRoom.freeBytes, look: (bytes) => filesRoom.look(bytes), smallBytes: 0 }),
  });
  metrics.gauge('millrace_files_size_bytes', 'Bytes of files of tenants, as last counted', () => files.bytes);
  core.blobReferences.push(
    documentReferences(documents, tenants, 'binary', (value) => [(JSON.parse(value) as BinaryRecord).key]),
    documentReferences(documents, tenants, 'eventBinary', eventBinaryKeys),
    documentReferences(documents, serverWide, 'application', applicationBlobs),
    documentReferences(documents, serverWide, STATISTICS_FILES, statisticsFileBlobs),
  );
  const isMine = (): boolean => core.isMine(SERVER_WIDE, TENANT_KEY);
  const sweeper = new BlobSweeper({ blobs: files, references: core.blobReferences, isMine, log, now: Date.now });
  const retiredContents = new RetiredBlobs({ blobs: files, log });
  return {
    files,
    retiredContents,
    start() {
      sweeper.start();
      files.start();
    },
    stop() {
      retiredContents.stop();
      return Promise.all([sweeper.stop(), files.stop()]);
    },
  };
}
