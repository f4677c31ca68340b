/** Release of the API family that clients find: they switch features by it (docs/spec/options.md#system-options). */
export const API_VERSION = '1017.0.0';
