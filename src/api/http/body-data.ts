/** The data of a request's body, in spite of what is particular about uWebSockets.js. */

const NO_BYTES = new ArrayBuffer(0);

/** What gives the data: the library's response. */
export interface BodySource {
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
}

export interface BodyOwner {
  readonly isAborted: boolean;
  /** The body comes in chunks that the library reads otherwise than RFC 9112. */
  readonly hasLooseChunks: boolean;
}

/**
 * Gives the body to `add`, whose chunks are dead after the call; the end may come twice.
 * @param announced Content-Length; NaN when it was not sent.
 */
export function receiveBody(
  response: BodySource,
  owner: BodyOwner,
  announced: number,
  add: (chunk: ArrayBuffer, isLast: boolean) => void,
): void {
  // uWebSockets.js tells the end of a body in chunks before it looks at what follows. What it then takes for no
  // request, as a trailer, has it answer with an error and close the connection: a request that is answered so must not
  // be carried out.
  response.onData(
    !owner.hasLooseChunks
      ? add
      : (chunk, isLast) => {
          if (!isLast) {
            add(chunk, false);
            return;
          }
          const copy = chunk.slice(0);
          setImmediate(() => {
            if (!owner.isAborted) add(copy, true);
          });
        },
  );
  // Of an empty body the library tells nothing when the head came in several reads.
  if (announced === 0) queueMicrotask(() => add(NO_BYTES, true));
}
