/**
 * To be imported before uWebSockets.js, which reads it when it is loaded: bytes of a head that comes in several reads,
 * of which 4 KiB are its default. More gets 431. A token or a chain of certificates takes more than that, and each
 * connection may hold as much.
 */
export const HEAD_BYTES_MAX = 16_384;

process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(HEAD_BYTES_MAX);
