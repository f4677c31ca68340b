/**
 * In place of the packages async-hook-domain and async_hooks in the tap of the tests: gives an uncaught error
 * to the test that runs. Tests of a process run one after the other, so that no promise has to be followed to the test
 * in which it began: that took up to a quarter of the CPU time of test processes.
 */
const emit = process.emit;
/** Of the innermost test that has begun and not ended. */
let running;
/** What makes its domain. */
let making;

const living = (domain) => {
  let one = domain;
  while (one?.isDestroyed) one = one.parent;
  return one;
};

/** @returns false when no test takes the error. */
function handle(error, type, isRejection) {
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return false;
  if (running === undefined) return false;
  running.onerror(error, type);
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
    this.parent = running;
    if (making !== undefined) making.domain = this;
    running ??= this;
  }

  destroy() {
    this.isDestroyed = true;
    running = living(running);
  }
}

/** Of each test: makes its domain in the first call, and says in those that follow that the test runs. */
export class AsyncResource {
  domain;

  runInAsyncScope(action, self, ...args) {
    if (this.domain !== undefined) {
      running = living(this.domain);
      return action.apply(self, args);
    }
    const outer = making;
    making = this;
    try {
      return action.apply(self, args);
    } finally {
      making = outer;
    }
  }

  emitDestroy() {
    return this;
  }
}
