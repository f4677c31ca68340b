/**
 * Which of ClickHouse's exceptions are the data's own (src/Common/ErrorCodes.cpp, read from the engine with
 * errorCodeToName, 2026-11-21).
 */
import { HistoryRefusal } from '../../ports/stores/history-writer.ts';
import { exceptionCodeOf } from './adapter.ts';

/** Said of a value or a text, whatever the state of the store. */
const DATA: ReadonlySet<number> = new Set([
  6,
  25,
  26,
  27, // CANNOT_PARSE_TEXT, …_ESCAPE_SEQUENCE, …_QUOTED_STRING, …_INPUT_ASSERTION_FAILED
  38,
  41,
  72,
  130,
  376,
  441,
  467,
  675,
  676, // CANNOT_PARSE_DATE, …_DATETIME, …_NUMBER, …ARRAY…, …_UUID, …_DOMAIN…, …_BOOL, …_IPV4, …_IPV6
  53,
  69,
  70,
  321,
  407, // TYPE_MISMATCH, ARGUMENT_OUT_OF_BOUND, CANNOT_CONVERT_TYPE, VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, DECIMAL_OVERFLOW
  117,
  349,
  469,
  632,
  691, // INCORRECT_DATA, CANNOT_INSERT_NULL…, VIOLATED_CONSTRAINT, UNEXPECTED_DATA_AFTER_PARSED_VALUE, UNKNOWN_ELEMENT_OF_ENUM
  128,
  131,
  190,
  248,
  307, // TOO_LARGE_ARRAY_SIZE, TOO_LARGE_STRING_SIZE, SIZES_OF_ARRAYS_DONT_MATCH, INVALID_PARTITION_VALUE, TOO_MANY_BYTES
  427,
  457,
  760, // CANNOT_COMPILE_REGEXP, BAD_QUERY_PARAMETER, UNICODE_ERROR
]);

/** Said of the store: its memory, disk, connections, limits, rights, tables. Rows are never set aside for these. */
const STORE: ReadonlySet<number> = new Set([
  159,
  160,
  198,
  201,
  202,
  203,
  209,
  210,
  216,
  236,
  279,
  290,
  373,
  394,
  396,
  473,
  677,
  718,
  735,
  745,
  749,
  762, // time, network, limits
  39,
  40,
  71,
  173,
  239,
  240,
  241,
  270,
  271,
  362,
  363,
  439,
  776,
  777,
  778, // memory, threads, compression
  23,
  24,
  74,
  75,
  76,
  77,
  79,
  83,
  84,
  87,
  88,
  95,
  96,
  107,
  172,
  204,
  214,
  243,
  294,
  400,
  425,
  499,
  500,
  531,
  566,
  586,
  625,
  641,
  662, // files
  226,
  227,
  228,
  230,
  231,
  232,
  234,
  235,
  238,
  246,
  252,
  384,
  564,
  574,
  692,
  738,
  740, // parts
  8,
  10,
  16,
  20,
  46,
  47,
  48,
  50,
  51,
  56,
  60,
  73,
  81,
  115,
  116,
  218,
  342,
  452,
  471,
  472,
  733,
  741,
  772, // tables, columns, settings
  164,
  192,
  193,
  194,
  195,
  242,
  291,
  344,
  392,
  492,
  495,
  497,
  516,
  720,
  774, // rights
  225,
  244,
  254,
  265,
  285,
  286,
  289,
  319,
  341,
  369,
  415,
  519,
  529,
  668,
  999,
  1000,
  1001,
  1002, // replicas; what has no name
]);

/** @returns the error as HistoryRefusal when it may be the data's, else as it is. */
export function refusalOf(error: unknown): unknown {
  const code = exceptionCodeOf(error);
  return code === undefined ? error : (refusalBy(code, (error as Error).message) ?? error);
}

/** @param code of an exception, ClickHouse's number. @returns undefined when it is the store's. */
export function refusalBy(code: number, message: string): HistoryRefusal | undefined {
  return !Number.isInteger(code) || STORE.has(code) ? undefined : new HistoryRefusal(message, code, DATA.has(code));
}

/** Settles as `call`. Rejects with HistoryRefusal where the store refuses the data. */
export async function refusing<Value>(call: Promise<Value>): Promise<Value> {
  try {
    return await call;
  } catch (error) {
    throw refusalOf(error);
  }
}
