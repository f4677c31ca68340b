/** Regular expressions as PMML has them (XPath, PCRE, Java) as those of JavaScript. */

/** Classes of POSIX that Java knows by name. */
const POSIX: Readonly<Record<string, string>> = {
  Alpha: 'A-Za-z',
  Digit: '0-9',
  Alnum: 'A-Za-z0-9',
  Upper: 'A-Z',
  Lower: 'a-z',
  Punct: '!-\\/:-@\\[-`\\{-~',
  Space: '\\s',
  Blank: ' \\t',
  XDigit: '0-9A-Fa-f',
  ASCII: '\\0-\\x7f',
  Cntrl: '\\0-\\x1f\\x7f',
};

/**
 * @param flags of JavaScript, such as `g`
 * @returns undefined where it is not a regular expression, or has what JavaScript cannot express
 */
export function regularExpression(source: string, flags = ''): RegExp | undefined {
  let rest = source;
  const all = new Set(flags);
  const inline = /^\(\?([a-zA-Z]+)\)/.exec(rest);
  if (inline !== null) {
    rest = rest.slice(inline[0].length);
    for (const flag of inline[1]) {
      if (flag === 'i' || flag === 's' || flag === 'm') all.add(flag);
      // `u` and `U` only widen what a letter is.
      else if (flag !== 'u' && flag !== 'U') return undefined;
    }
  }
  rest = translate(rest);
  const given = [...all].join('');
  // Possessive quantifiers only save steps where they match.
  return (
    compiled(rest, given) ?? compiled(rest, `${given}u`) ?? compiled(rest.replace(/([^\\][+*?}])\+/g, '$1'), given)
  );
}

function compiled(source: string, flags: string): RegExp | undefined {
  // `\p{L}` means the letter p without the flag.
  const withUnicode = /\\[pP]\{/.test(source) && !flags.includes('u') ? `${flags}u` : flags;
  try {
    return new RegExp(source, withUnicode);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** An escape, the name of a class of POSIX, or the begin or end of a class. */
const PIECE = /\\p\{(\w+)\}|\[:(\w+):\]|\\.|[[\]]/gs;

function translate(source: string): string {
  let isInClass = false;
  return source.replace(PIECE, (whole, property: string | undefined, posix: string | undefined) => {
    if (whole === '[' || whole === ']') isInClass = whole === '[';
    else if (property !== undefined) return propertyOf(property, isInClass) ?? whole;
    else if (posix !== undefined && isInClass) return posixOf(posix) ?? whole;
    else if (whole === '\\A') return '^';
    else if (whole === '\\z' || whole === '\\Z') return '$';
    return whole;
  });
}

function propertyOf(name: string, isInClass: boolean): string | undefined {
  const known = posixOf(name);
  if (known !== undefined) return isInClass ? known : `[${known}]`;
  return name.startsWith('Is') ? `\\p{${name.slice(2)}}` : undefined;
}

function posixOf(name: string): string | undefined {
  const known = Object.keys(POSIX).find((one) => one.toLowerCase() === name.toLowerCase());
  return known === undefined ? undefined : POSIX[known];
}

/** Replaces each match; `$1` in the replacement is a group, a backslash takes the next character as it stands. */
export function replaceAll(text: string, expression: RegExp, replacement: string): string {
  expression.lastIndex = 0;
  return text.replace(expression, (...found: unknown[]) => {
    const last = found.findIndex((one, index) => index > 0 && typeof one === 'number');
    const groups = found.slice(0, last) as (string | undefined)[];
    return replacement.replace(/\\(.)|\$(\d)/gs, (_whole, escaped: string | undefined, group: string | undefined) =>
      escaped !== undefined ? escaped : (groups[Number(group)] ?? ''),
    );
  });
}
