/**
 * Self-contained pages of the server itself, with one form and one script. Nothing else runs on them, and they talk to
 * this server only.
 */
import { createHash } from 'node:crypto';
import type { Answer } from './answer.ts';

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:4rem auto;padding:0 1rem}
label{display:block;margin:1rem 0 .25rem}input{box-sizing:border-box;width:100%;font:inherit;padding:.5rem}
button{font:inherit;margin-top:1.5rem;padding:.5rem 1.25rem}[role=status]{min-height:1.5rem;margin-top:1rem}
img{display:block;margin:1rem auto}code{overflow-wrap:anywhere}`;

export interface PageParts {
  readonly title: string;
  /** HTML between the heading and the line that tells how it goes (`[role=status]`). */
  readonly form: string;
  /** What the browser runs; it finds {@link PAGE_START} before it. */
  readonly script: string;
}

/**
 * In each script: `form`, `say(text)`, `button`, and `call(path, options)` with the answer and, when it is an error,
 * `fault`, the message of the server. Texts of others reach the page as text only.
 */
const PAGE_START = `const form = document.querySelector('form');
const button = form.querySelector('button');
const line = document.querySelector('[role=status]');
const say = (text) => { line.textContent = text; };
const failed = () => say('The server could not be reached. Try again.');
const call = async (path, { headers, ...options } = {}) => {
  const answer = await fetch(path, { ...options, headers: { accept: 'application/json', usexbasic: 'true', ...headers } });
  const body = await answer.json().catch(() => ({}));
  return { body, fault: answer.ok ? undefined : body.message ?? 'The server answered with ' + answer.status + '.' };
};
const onSubmit = (work) => form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  try { await work(); } catch { failed(); }
  button.disabled = false;
});
`;

/** The answer for such a page. It is made once, at the start, and the same for every request. */
export function htmlPage({ title, form, script }: PageParts): Answer {
  const code = PAGE_START + script;
  const hash = createHash('sha256').update(code).digest('base64');
  return {
    status: 200,
    text:
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
      `<meta name="referrer" content="no-referrer"><title>${title}</title><style>${STYLE}</style></head><body>` +
      `<h1>${title}</h1><form>${form}</form><p role="status"></p><script>${code}</script></body></html>`,
    contentType: 'text/html;charset=UTF-8',
    headers: [
      'Content-Security-Policy',
      `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; connect-src 'self'; img-src data:; ` +
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
      'Referrer-Policy',
      'no-referrer',
      'Cache-Control',
      'no-store',
      'X-Content-Type-Options',
      'nosniff',
    ],
  };
}
