/** Fields of CSV text (RFC 4180). */

/** Quoted where it has to be. */
export const csvField = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
