/** Processing modes (document 2, SmartREST over HTTP): what becomes of a message besides its acknowledgement. */

export const PROCESSING_MODE = { PERSISTENT: 0, TRANSIENT: 1, QUIESCENT: 2, CEP: 3 } as const;
export type ProcessingMode = (typeof PROCESSING_MODE)[keyof typeof PROCESSING_MODE];

/** Stored in documents and history. */
export const isStored = (mode: ProcessingMode): boolean => mode !== PROCESSING_MODE.TRANSIENT && mode !== PROCESSING_MODE.CEP;
/** Alarms know no CEP (document 2, SmartREST over HTTP): nobody else would hear of one that is not stored. */
export const isAlarmStored = (mode: ProcessingMode): boolean => mode !== PROCESSING_MODE.TRANSIENT;
/** Sent to real-time subscribers. */
export const isNotified = (mode: ProcessingMode): boolean => mode === PROCESSING_MODE.PERSISTENT || mode === PROCESSING_MODE.TRANSIENT;

/** @returns the mode of a header value or undefined when the name is unknown. Letter case does not matter. */
export function processingModeOf(name: string): ProcessingMode | undefined {
  switch (name.toUpperCase()) {
    case 'PERSISTENT': return PROCESSING_MODE.PERSISTENT;
    case 'TRANSIENT': return PROCESSING_MODE.TRANSIENT;
    case 'QUIESCENT': return PROCESSING_MODE.QUIESCENT;
    case 'CEP': return PROCESSING_MODE.CEP;
    default: return undefined;
  }
}
