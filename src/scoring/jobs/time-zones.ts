/** Time zones as clients of Quartz write them: those of the IANA database, offsets, and Java's short names. */

/** What croner takes: a zone that Intl knows, or an offset. */
export type Zone = { readonly timezone: string } | { readonly utcOffset: number };

/** Java's `ZoneId.SHORT_IDS`, but for those that Intl knows. */
const SHORT: Readonly<Record<string, string>> = {
  ACT: 'Australia/Darwin',
  AET: 'Australia/Sydney',
  AGT: 'America/Argentina/Buenos_Aires',
  ART: 'Africa/Cairo',
  AST: 'America/Anchorage',
  BET: 'America/Sao_Paulo',
  BST: 'Asia/Dhaka',
  CAT: 'Africa/Harare',
  CNT: 'America/St_Johns',
  CST: 'America/Chicago',
  CTT: 'Asia/Shanghai',
  EAT: 'Africa/Addis_Ababa',
  ECT: 'Europe/Paris',
  IET: 'America/Indiana/Indianapolis',
  IST: 'Asia/Kolkata',
  JST: 'Asia/Tokyo',
  MIT: 'Pacific/Apia',
  NET: 'Asia/Yerevan',
  NST: 'Pacific/Auckland',
  PLT: 'Asia/Karachi',
  PNT: 'America/Phoenix',
  PRT: 'America/Puerto_Rico',
  PST: 'America/Los_Angeles',
  SST: 'Pacific/Guadalcanal',
  VST: 'Asia/Ho_Chi_Minh',
};
const OFFSET = /^(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?$/;
const OFFSET_HOURS_MAX = 14;
const HOUR_MINUTES = 60;

/** @returns undefined for what is none */
export function zoneOf(text: string): Zone | undefined {
  const offset = OFFSET.exec(text);
  if (offset !== null) {
    const [, sign, hours, minutes = '0'] = offset;
    if (Number(hours) > OFFSET_HOURS_MAX || Number(minutes) >= HOUR_MINUTES) return undefined;
    return { utcOffset: (sign === '-' ? -1 : 1) * (Number(hours) * HOUR_MINUTES + Number(minutes)) };
  }
  const timezone = Object.hasOwn(SHORT, text) ? (SHORT[text] as string) : text;
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch {
    return undefined;
  }
  return { timezone };
}
