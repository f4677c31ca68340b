/** `%[flags][width][.precision]conversion`, once in a text. */
const PATTERN = /%(?:\d+\$)?([-+ 0,(#]*)(\d+)?(?:\.(\d+))?([diufFeEgGxXos])/;

const WIDTH_MAX = 1_000;
const PRECISION_MAX = 100;

/**
 * A number in the style of printf.
 *
 * @returns undefined where the pattern is none for this number
 */
export function formatNumber(value: number, pattern: string): string | undefined {
  const found = PATTERN.exec(pattern.replaceAll('%%', '\0\0'));
  if (found === null) return undefined;
  const [whole, flags, widthText, precisionText, conversion] = found;
  const width = Number(widthText ?? 0);
  const precision = precisionText === undefined ? undefined : Number(precisionText);
  if (width > WIDTH_MAX || (precision ?? 0) > PRECISION_MAX) return undefined;
  const digits = digitsOf(Math.abs(value), conversion, precision);
  if (digits === undefined) return undefined;
  const isNegative = value < 0 || Object.is(value, -0);
  const grouped = flags.includes(',') ? group(digits) : digits;
  const sign = isNegative
    ? flags.includes('(')
      ? '('
      : '-'
    : flags.includes('+')
      ? '+'
      : flags.includes(' ')
        ? ' '
        : '';
  const end = sign === '(' ? ')' : '';
  const missing = width - sign.length - grouped.length - end.length;
  let text = sign + grouped + end;
  if (missing > 0) {
    if (flags.includes('-')) text += ' '.repeat(missing);
    else if (flags.includes('0') && Number.isFinite(value)) text = sign + '0'.repeat(missing) + grouped + end;
    else text = ' '.repeat(missing) + text;
  }
  const at = found.index;
  const shown = pattern.replaceAll('%%', '\0\0');
  return (shown.slice(0, at) + text + shown.slice(at + whole.length)).replaceAll('\0\0', '%');
}

function digitsOf(value: number, conversion: string, precision: number | undefined): string | undefined {
  if (!Number.isFinite(value)) return 'Infinity';
  switch (conversion) {
    case 'd':
    case 'i':
    case 'u':
      return Number.isInteger(value) ? value.toFixed(0).padStart(precision ?? 0, '0') : undefined;
    case 'f':
    case 'F':
      return fixed(value, precision ?? 6);
    case 'e':
    case 'E':
      return exponential(value, precision ?? 6, conversion);
    case 'g':
    case 'G':
      return general(value, precision ?? 6, conversion);
    case 'x':
    case 'X':
    case 'o': {
      if (!Number.isInteger(value)) return undefined;
      const text = value.toString(conversion === 'o' ? 8 : 16);
      return conversion === 'X' ? text.toUpperCase() : text;
    }
    default:
      return precision === undefined ? String(value) : String(value).slice(0, precision);
  }
}

/** Rounds halves of the shortest decimal form up, as people read it: 1.005 is 1.01. */
function fixed(value: number, precision: number): string {
  const text = String(value);
  if (text.includes('e') || value >= 1e15) return value.toFixed(precision);
  const [whole, fraction = ''] = text.split('.');
  if (fraction.length <= precision) return value.toFixed(precision);
  const scaled = BigInt(whole + fraction.slice(0, precision)) + (fraction.charCodeAt(precision) >= 53 ? 1n : 0n);
  const digits = scaled.toString().padStart(precision + 1, '0');
  return precision === 0 ? digits : `${digits.slice(0, -precision)}.${digits.slice(-precision)}`;
}

function exponential(value: number, precision: number, conversion: string): string {
  const [mantissa, exponent] = value.toExponential(precision).split('e');
  const text = `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
  return conversion === 'E' ? text.toUpperCase() : text;
}

function general(value: number, precision: number, conversion: string): string {
  const places = precision === 0 ? 1 : precision;
  if (value !== 0 && (value < 1e-4 || value >= 10 ** places))
    return exponential(value, places - 1, conversion === 'G' ? 'E' : 'e');
  return value.toPrecision(places);
}

function group(digits: string): string {
  const [whole, fraction] = digits.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
