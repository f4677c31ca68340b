/**
 * Counts test points in TAP, line by line. A point that closes a subtest is not counted beside the points inside it,
 * unless it failed on its own account (a timeout, a wrong plan). Knows both forms of subtests: `# Subtest` before the
 * indented block, and `ok 1 - name {` … `}` around it.
 */
const POINT = /^( *)(not ok|ok)\b(?: +(\d+))?(?: +-)?(.*)$/;
const INDENT = 4;

export class TapCount {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** One entry for each skip: `{name, reason}`. */
  skips = [];
  #children = [];
  #open = [];
  #diagnosticIndent = -1;
  #onPoint;

  /**
   * @param onPoint called for every point when it ends: `{ok, name, depth, directive, reason, isCounted, ms}`; `ms` is
   * what tap says it took, or undefined.
   */
  constructor(onPoint = () => {}) {
    this.#onPoint = onPoint;
  }

  /** Takes one line, without its line feed. */
  line(text) {
    const indent = text.length - text.trimStart().length;
    if (this.#diagnosticIndent >= 0) {
      if (text.trim() === '...' && indent === this.#diagnosticIndent) this.#diagnosticIndent = -1;
      return;
    }
    if (text.trim() === '---') {
      this.#diagnosticIndent = indent;
      return;
    }
    if (text.trim() === '}' && this.#open.at(-1)?.depth === indent / INDENT) {
      this.#close(this.#open.pop(), indent / INDENT);
      return;
    }
    if (/^ *Bail out!/.test(text)) {
      this.failed += 1;
      return;
    }
    const match = POINT.exec(text);
    if (match) this.#point(match);
  }

  #point([, spaces, word, , rest]) {
    const depth = spaces.length / INDENT;
    const isBlock = / ?\{ *$/.test(rest);
    const directive = /(?<!\\)#\s*(SKIP|TODO)\b\s*(.*?)(?:\s*\{)?\s*$/i.exec(rest);
    const time = /(?<!\\)# *time=([0-9.]+)ms/.exec(rest);
    const point = {
      ok: word === 'ok',
      depth,
      name: rest
        .replace(/(?<!\\)#\s*(time=|SKIP|TODO).*$/i, '')
        .replace(/\{ *$/, '')
        .trim(),
      directive: directive?.[1].toUpperCase(),
      reason: directive?.[2] ?? '',
      ms: time === null ? undefined : Number(time[1]),
    };
    if (isBlock) {
      this.#children[depth + 1] = { count: 0, failed: 0 };
      this.#open.push(point);
    } else this.#close(point, depth);
  }

  /** A point at its end: everything inside it has been seen. */
  #close(point, depth) {
    if (!point) return;
    const inside = this.#children[depth + 1];
    this.#children.length = depth + 1;
    const isParent = inside !== undefined && inside.count > 0;
    const mine = (this.#children[depth] ??= { count: 0, failed: 0 });
    mine.count += 1;
    const isFailure = !point.ok && point.directive !== 'TODO';
    if (isFailure) mine.failed += 1;
    if (isParent && (point.ok || inside.failed > 0)) {
      this.#onPoint({ ...point, isCounted: false });
      return;
    }
    if (point.directive === 'SKIP' || point.directive === 'TODO') {
      this.skipped += 1;
      this.skips.push({ name: point.name, reason: point.reason });
    } else if (isFailure) this.failed += 1;
    else this.passed += 1;
    this.#onPoint({ ...point, isCounted: true });
  }
}
