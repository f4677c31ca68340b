/**
 * What a page for people lets them type, as its fenced blocks say:
 *
 * - `console`: lines after `$ ` are commands, a line that ends with `\` goes on in the next one, further lines are what
 *   the command prints. `…` stands for any text of a line, a line `…` for any lines.
 * - `console <terminal>`: the same in another terminal, whose commands may go on; `^C` is Ctrl-C there. A block without
 *   a command is what the terminal prints next.
 * - `<form> <file name>`: a file that readers save.
 * - any other word: shown, not run. `sh` has commands that a machine for tests cannot run.
 */

/** The terminal of blocks that name none. */
export const MAIN = 'main';

export type Step =
  | { readonly kind: 'command'; readonly terminal: string; readonly text: string; readonly output: readonly string[] }
  | { readonly kind: 'printed'; readonly terminal: string; readonly output: readonly string[] }
  | { readonly kind: 'interrupt'; readonly terminal: string }
  | { readonly kind: 'file'; readonly name: string; readonly text: string };

export interface Page {
  readonly steps: readonly Step[];
  /** First lines of blocks `sh`. */
  readonly notRun: readonly string[];
}

const FENCE = /^```(.*)\n([\s\S]*?)^```$/gm;

/** @throws for a block without a word, or that is indented, which would hide commands from the test. */
export function pageOf(text: string): Page {
  const steps: Step[] = [];
  const notRun: string[] = [];
  const indented = /^ +```.*/m.exec(text)?.[0];
  if (indented !== undefined) throw new Error(`the fence "${indented}" is not at the beginning of its line`);
  for (const [, info, content] of text.matchAll(FENCE)) {
    const [form, name] = info.trim().split(' ');
    if (form === '') throw new Error(`a block without a word for its form begins with ${content.split('\n', 1)[0]}`);
    if (form === 'console') steps.push(...stepsOf(name ?? MAIN, content.split('\n').slice(0, -1)));
    else if (name !== undefined) steps.push({ kind: 'file', name, text: content });
    else if (form === 'sh') notRun.push(content.split('\n', 1)[0]);
  }
  return { steps, notRun };
}

function stepsOf(terminal: string, lines: readonly string[]): Step[] {
  const steps: Step[] = [];
  for (let index = 0; index < lines.length; ) {
    const outputTo = (): string[] => {
      const begin = index;
      while (index < lines.length && !/^(\$ |\^C$)/.test(lines[index])) index += 1;
      return lines.slice(begin, index);
    };
    if (lines[index] === '^C') {
      steps.push({ kind: 'interrupt', terminal });
      index += 1;
    } else if (lines[index].startsWith('$ ')) {
      const begin = index;
      while (lines[index].endsWith('\\')) index += 1;
      index += 1;
      const text = lines.slice(begin, index).join('\n').slice(2);
      steps.push({ kind: 'command', terminal, text, output: outputTo() });
    } else steps.push({ kind: 'printed', terminal, output: outputTo() });
  }
  return steps;
}

/** Matches lines that a page shows, from the beginning of a text of lines that each end with a line feed. */
export function patternOf(output: readonly string[]): RegExp {
  const lines = output.map((line) =>
    line === '…' ? '(?:[^\\n]*\\n)*?' : `${line.split('…').map(escaped).join('[^\\n]*?')}\\n`,
  );
  return new RegExp(`^${lines.join('')}`);
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
