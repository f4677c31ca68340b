/**
 * Writes to a socket past the stream machinery, which costs more than the system call. Right only while the bytes fit
 * the kernel's buffer, as in a closed loop with a small window; anything else goes through the stream.
 */
import type { Socket } from 'node:net';

interface StreamHandle {
  writeBuffer(request: object, bytes: Buffer): number;
}
type WriteRequest = new () => { handle?: object; oncomplete?: () => void; bytes?: Buffer };

const WriteWrap = loadWriteWrap();

/** @returns a function that writes at once, or `socket.write` where Node does not offer its handles. */
export function rawWriter(socket: Socket): (bytes: Buffer) => void {
  const handle = (socket as unknown as { _handle?: StreamHandle })._handle;
  if (WriteWrap === undefined || handle === undefined || typeof handle.writeBuffer !== 'function') {
    return (bytes) => void socket.write(bytes);
  }
  const makeRequest = (): InstanceType<WriteRequest> => {
    const request = new WriteWrap();
    request.handle = handle;
    request.oncomplete = nothing;
    return request;
  };
  const request = makeRequest();
  return (bytes) => {
    if (!socket.destroyed) handle.writeBuffer(request, bytes);
  };
}

function nothing(): void {}

function loadWriteWrap(): WriteRequest | undefined {
  const binding = (process as unknown as { binding?: (name: string) => { WriteWrap?: WriteRequest } }).binding;
  try {
    return binding?.call(process, 'stream_wrap').WriteWrap;
  } catch {
    return undefined; // a Node without it: the stream is used
  }
}
