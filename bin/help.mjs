/** The help of the command line from bin/help.json, which needs no packages and no build. */
import { readFileSync } from 'node:fs';

/**
 * Prints the help that the arguments ask for.
 * @param args of `millrace`. @returns false when they ask for none.
 */
export function printHelp(args) {
  const words = args.slice(0, 2).filter((word) => /^[a-z][a-z-]*$/.test(word));
  const isAsked = args.length === 0 || words[0] === 'help' || args.some((arg) => arg === '--help' || arg === '-h');
  if (!isAsked) return false;
  const pages = JSON.parse(readFileSync(new URL('help.json', import.meta.url), 'utf8'));
  const named = words[0] === 'help' ? args.slice(1, 3) : words;
  const page = pages[named.join(' ')] ?? pages[named[0]] ?? pages[''];
  process.stdout.write(page.join('\n'));
  return true;
}
