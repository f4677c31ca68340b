/** The binary of an event (docs/spec/events.md#binaries) as it is stored beside the event. */

export interface EventBinary {
  /** Content type. */
  readonly type: string;
  /** As the client called it. */
  readonly name?: string;
  readonly bytes: number;
  /** Contents in order: one, or one for each chunk. */
  readonly parts: readonly { readonly key: string; readonly bytes: number }[];
  /** Of the whole, once a chunk has said it. */
  readonly length?: number;
  /** False while chunks are missing. */
  readonly isComplete: boolean;
}

/**
 * Fragments that say of an event that it has a binary, or a part of one: the server's own, what clients send of them
 * does not count.
 */
export const EVENT_BINARY_MARKS = ['c8y_IsBinary', 'c8y_IsIncompleteBinary'] as const;

export const EVENT_CHUNK_BYTES_MAX = 5 * 1024 * 1024;
/** Chunks of one binary: each is a content of its own. */
export const EVENT_CHUNKS_MAX = 2_000;

/** Contents that a stored text names. */
export const eventBinaryParts = (text: string): EventBinary['parts'] => (JSON.parse(text) as EventBinary).parts;
export const eventBinaryKeys = (text: string): string[] => eventBinaryParts(text).map(({ key }) => key);

/** A chunk as named by `Content-Range`; both ends inclusive. */
export interface ChunkRange {
  readonly start: number;
  readonly stop: number;
  /** Of the whole binary; undefined while it is not known. */
  readonly length: number | undefined;
  /** As it is shown. */
  readonly text: string;
}

/**
 * `<start>-<stop>/<length>`, with `*` for an unknown length and with or without the unit. @returns undefined for
 * anything else.
 */
export function parseChunkRange(header: string): ChunkRange | undefined {
  const match = /^\s*(?:bytes[\s=]+)?(\d{1,15})\s*-\s*(\d{1,15})\s*\/\s*(\d{1,15}|\*)\s*$/i.exec(header);
  if (match === null) return undefined;
  const [start, stop] = [Number(match[1]), Number(match[2])];
  const length = match[3] === '*' ? undefined : Number(match[3]);
  if (stop < start || (length !== undefined && length <= stop)) return undefined;
  return { start, stop, length, text: `${start}-${stop}/${match[3]}` };
}

/** @param known the length that an earlier chunk has said. */
export const isLastChunk = ({ stop, length }: ChunkRange, known?: number): boolean => stop + 1 === (length ?? known);
