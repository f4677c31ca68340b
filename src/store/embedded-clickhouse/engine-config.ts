/**
 * The engine's configuration of the process. The library reads `config.xml` of the working directory when it opens the
 * data, and takes a bound of all its memory from nowhere else (chdb 3.4.0, seen).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DURABILITY } from '../clickhouse/schema.ts';

/**
 * For all tables, also those of older versions, which have none of this in their definition. A part that is broken in
 * spite of it (a disk that lies, files that an older version did not synchronise) is set aside in `detached/`: with the
 * engine's own limits, 100 parts or 1 GiB, it would not open at all.
 */
const TABLE_SETTINGS: Readonly<Record<string, string>> = {
  ...DURABILITY,
  max_suspicious_broken_parts: '1000000000',
  max_suspicious_broken_parts_bytes: '1000000000000000',
};

/** Below the data directory; written at each start. */
const DIRECTORY = 'millrace-engine';
const MIB = 1024 * 1024;

/** A statement may take half: two that are too large do not stop the others, and inserts find room. */
export const statementMemoryBytes = (memoryBytesMax: number): number => Math.floor(memoryBytesMax / 2);

/** Caches count as memory and are not given back for a statement: they stay small beside the bound. */
function engineConfig(memoryBytesMax: number): string {
  const values = {
    max_server_memory_usage: memoryBytesMax,
    merges_mutations_memory_usage_soft_limit: memoryBytesMax / 2,
    mark_cache_size: memoryBytesMax / 8,
    index_mark_cache_size: memoryBytesMax / 16,
    query_condition_cache_size: Math.min(100 * MIB, memoryBytesMax / 16),
    compiled_expression_cache_size: Math.min(128 * MIB, memoryBytesMax / 16),
  };
  const lines = Object.entries(values).map(([name, value]) => `  <${name}>${Math.floor(value)}</${name}>`);
  const ofTables = Object.entries(TABLE_SETTINGS).map(([name, value]) => `    <${name}>${value}</${name}>`);
  return `<clickhouse>\n${lines.join('\n')}\n  <merge_tree>\n${ofTables.join('\n')}\n  </merge_tree>\n</clickhouse>\n`;
}

/**
 * Makes `memoryBytesMax` the bound of the whole engine, and its tables survive a power cut: call before the data
 * directory is opened. Changes the working directory.
 */
export function configureEngine(directory: string, memoryBytesMax: number): void {
  const path = join(directory, DIRECTORY);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  writeFileSync(join(path, 'config.xml'), engineConfig(memoryBytesMax), { mode: 0o600 });
  process.chdir(path);
}
