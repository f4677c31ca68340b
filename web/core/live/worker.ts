/** The shared worker: one connection for all tabs of a browser. */
import { LiveHub } from './hub.ts';
import type { ToHub } from './hub.ts';

const hub = new LiveHub({
  open: (url) => new WebSocket(url),
  later: (run, ms) => Number(setTimeout(run, ms)),
  cancel: (timer) => clearTimeout(timer),
  now: Date.now,
});

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports;
  const take = hub.join((message) => port.postMessage(message));
  port.onmessage = ({ data }: MessageEvent<ToHub>) => take(data);
});
