/** The part of pino's logger that the code uses, so that nothing below src/cli imports pino. */
export interface Log {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
  isLevelEnabled(level: string): boolean;
  child(bindings: object): Log;
}
