import type { Problem } from './problems.ts';

/**
 * The source of a document with its problems as XML comments: each before the element that it is about, and at the top
 * one that names the processor and the version of PMML (docs/spec/scoring.md#upload).
 *
 * @param engine name and version of the server
 */
export function annotate(source: string, problems: readonly Problem[], engine: string): string {
  const text = source.charCodeAt(0) === 0xfeff ? source.slice(1) : source;
  const declaration = /^\s*<\?xml[^>]*\?>/.exec(text)?.[0] ?? '';
  const parts: string[] = [
    declaration,
    declaration === '' ? '' : '\n',
    comment(`PMML processed by ${engine} (Version : 4.4)`),
    '\n',
  ];
  let at = declaration.length;
  for (const problem of [...problems].sort((a, b) => a.offset - b.offset)) {
    const offset = Math.min(Math.max(problem.offset, at), text.length);
    parts.push(
      text.slice(at, offset),
      comment(`${problem.severity === 'error' ? 'ERROR' : 'WARNING'}: ${place(problem)}${problem.text}`),
    );
    at = offset;
  }
  parts.push(text.slice(at));
  return parts.join('');
}

function place(problem: Problem): string {
  return problem.element === '' ? '' : `${problem.element} (line ${problem.line}): `;
}

/** Two hyphens end a comment early, so they are set apart. */
function comment(text: string): string {
  return `<!-- ${text.replaceAll('--', '- -').replace(/-$/, '- ')} -->`;
}
