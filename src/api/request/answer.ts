/** What a handler answers. */

/** An answer in one piece. */
export interface Answer {
  readonly status: number;
  /** '' for none. */
  readonly text: string;
  /** Vendor name; the spelling and `application/json` follow the Accept header. */
  readonly mediaType?: string;
  /** Instead of `mediaType`. */
  readonly contentType?: string;
  /** Absolute URL. */
  readonly location?: string;
  /** Further names and values in turn. */
  readonly headers?: readonly string[];
}

/** The handler has answered, or will, by `request.exchange` or `request.answer`. */
export const ANSWERED = Symbol('answered');
