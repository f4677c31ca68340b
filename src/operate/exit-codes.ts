/** Exit codes of every command. */
export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;

/** A command that could not do its work; the message is for people. Exit code 1. */
export class CommandError extends Error {}
