/** A refusal of the server, or that it was not reached, with what a person needs to pass it on. */

export interface Refusal {
  /** 0 when no answer came. */
  readonly status: number;
  /** The server's error, for instance `inventory/Not Found`. */
  readonly error: string;
  readonly message: string;
  readonly method: string;
  readonly url: string;
  /** The server asks to wait this number of seconds. */
  readonly retrySeconds?: number | undefined;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }

  get status(): number {
    return this.refusal.status;
  }

  /** The request and the answer as text, to be copied. */
  get details(): string {
    const { method, url, status, error, message } = this.refusal;
    return `${method} ${url}\n${status === 0 ? 'no answer' : status} ${error}\n${message}`;
  }
}

/** The refusal in a body of the server: `{error, message}`, or `{errors: [...]}` of scoring. */
export function refusalOf(
  status: number,
  body: unknown,
  request: Pick<Refusal, 'method' | 'url' | 'retrySeconds'>,
): Refusal {
  const told = (typeof body === 'object' && body !== null ? body : {}) as {
    error?: unknown;
    message?: unknown;
    errors?: unknown;
  };
  const messages = Array.isArray(told.errors) ? told.errors.map(String).join('\n') : told.message;
  return {
    status,
    error: typeof told.error === 'string' ? told.error : '',
    message: typeof messages === 'string' && messages !== '' ? messages : `HTTP ${status}`,
    method: request.method,
    url: request.url,
    retrySeconds: request.retrySeconds,
  };
}

/** In place of a change that would overwrite a later one of others. @param message says so. */
export const changedMeanwhile = (message: string): ApiError =>
  new ApiError({ status: 409, error: '', message, method: 'PUT', url: '' });

/** True for a request that its screen gave up. */
export const isAborted = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';
