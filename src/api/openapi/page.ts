/** A page to read the OpenAPI document: self-contained, made on the server, no scripts. */
import type { QueryParameters } from '../request/schema/query-values.ts';
import type { Route } from '../request/route.ts';

const STYLE = `:root{color-scheme:light dark;--line:#8884}body{font:15px/1.5 system-ui,sans-serif;
max-width:60rem;margin:2rem auto;padding:0 1rem}
h2{margin:2.5rem 0 .5rem;border-bottom:1px solid var(--line)}
details{border:1px solid var(--line);border-radius:6px;margin:.4rem 0;padding:.4rem .7rem}
summary{cursor:pointer}code,pre{font:13px/1.45 ui-monospace,monospace}
pre{overflow:auto;padding:.6rem;border:1px solid var(--line);border-radius:6px}
.m{display:inline-block;min-width:4.2rem;font-weight:700}.GET{color:#1a7f37}.POST{color:#0969da}.PUT{color:#bf6a02}.DELETE{color:#cf222e}
table{border-collapse:collapse;width:100%}
td{border-top:1px solid var(--line);padding:.2rem .6rem .2rem 0;vertical-align:top}.s{opacity:.75}`;

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export function openApiPage(routes: readonly Route[], version: string): string {
  const areas = [...new Set(routes.map((route) => route.area))];
  const sections = areas.map(
    (area) =>
      `<h2 id="${escapeHtml(area)}">${escapeHtml(area)}</h2>${routes
        .filter((route) => route.area === area)
        .map(routeHtml)
        .join('')}`,
  );
  const links = areas.map((area) => `<a href="#${escapeHtml(area)}">${escapeHtml(area)}</a>`).join(' · ');
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>Millrace API</title><style>${STYLE}</style></head><body><h1>Millrace API <small class="s">${escapeHtml(version)}</small></h1>` +
    `<p>${routes.length} routes. Machine-readable: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p><p>${links}</p>` +
    `${sections.join('')}</body></html>`
  );
}

function routeHtml(route: Route): string {
  const { access, roles = [] } = route;
  const who =
    access === 'public' || access === 'optional'
      ? 'no credentials'
      : access === 'user'
        ? 'any user'
        : `${roles.join(' or ')}${access === 'owner' ? ' or owner' : ''}`;
  const example =
    route.body?.example === undefined
      ? ''
      : `<p>Body:</p><pre>${escapeHtml(JSON.stringify(route.body.example, undefined, 2))}</pre>`;
  const answers = route.answers
    .map(
      (answer) =>
        `<tr><td><code>${answer.status}</code></td><td>${escapeHtml(answer.description)}</td><td><code>${escapeHtml(
          [answer.mediaType ?? [], answer.contentTypes ?? []].flat().join(', '),
        )}</code></td></tr>`,
    )
    .join('');
  return (
    `<details><summary><span class="m ${route.method}">${route.method}</span><code>${escapeHtml(route.path)}</code> ` +
    `<span class="s">${escapeHtml(route.summary)}</span></summary><p class="s">${escapeHtml(who)}</p>${parametersHtml(
      route.query ?? {},
    )}${example}<table>${answers}</table></details>`
  );
}

function parametersHtml(parameters: QueryParameters): string {
  const rows = Object.entries(parameters).map(
    ([name, parameter]) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(
        `${parameter.isRequired === true ? 'Mandatory. ' : ''}${parameter.description}`,
      )}</td></tr>`,
  );
  return rows.length === 0 ? '' : `<table>${rows.join('')}</table>`;
}
