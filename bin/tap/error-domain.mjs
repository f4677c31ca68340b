/**
 * In place of the package async-hook-domain in the tap of the tests: gives an error that nobody catches to the test in
 * which it began. That package follows each promise until it is collected, which took a quarter of the CPU time of test
 * processes.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage();
const emit = process.emit;

/** @returns false when no test takes the error. */
function handle(error, type, isRejection) {
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return false;
  let domain = current.getStore();
  while (domain?.isDestroyed) domain = domain.parent;
  if (domain === undefined) return false;
  domain.onerror(error, type);
  // The process goes on.
  if (!isRejection)
    process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null));
  return true;
}

process.on('uncaughtExceptionMonitor', (error, type) => {
  handle(error, type, false);
});
process.emit = (name, ...args) => {
  const isOurs = name === 'unhandledRejection' && process.listenerCount(name) === 0;
  return isOurs ? handle(args[0], name, true) : emit.call(process, name, ...args);
};

export class Domain {
  isDestroyed = false;

  constructor(onerror) {
    this.onerror = onerror;
    this.parent = current.getStore();
    current.enterWith(this);
  }

  destroy() {
    this.isDestroyed = true;
  }
}
