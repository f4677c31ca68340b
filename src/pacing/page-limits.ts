/** Bounds of one page of a list. */

/**
 * Documents of a page, in characters; a larger page is refused: `general/page-too-large`, counted as
 * `lists/page-bytes`.
 */
export const PAGE_BYTES_MAX = 64 * 1024 * 1024;
export const PAGE_BYTES_LIMIT = 'lists/page-bytes';

/** At the end of a statement whose result is a page: the engine gives up where it would be larger. */
export const BOUNDED_RESULT = ` SETTINGS max_result_bytes = ${PAGE_BYTES_MAX}, result_overflow_mode = 'throw'`;
