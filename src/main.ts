/** The command line: `millrace <command>`; src/cli/program.ts lists them. */
import { runCommand } from './cli/program.ts';

// The exit is explicit: a handle that something left open must not keep a finished command alive.
process.exit(await runCommand(process.argv.slice(2)));
