/** Bounds of ONNX and scripts, with the names that the answer, the log and the counter tell (docs/reference/limits.md). */

export const ONNX_LIMIT = {
  PIPELINES: 'scoring/pipelines',
  PIPELINE_BYTES: 'scoring/pipeline-bytes',
  WAITING: 'scoring/onnx-waiting',
  WAITING_OF_USER: 'scoring/onnx-waiting-of-user',
  SCRIPTS_WAITING: 'scoring/scripts-waiting',
  SCRIPTS_WAITING_OF_USER: 'scoring/scripts-waiting-of-user',
  INPUT: 'scoring/onnx-input-bytes',
  INPUTS: 'scoring/onnx-inputs-bytes',
  TIME: 'scoring/onnx-time',
  SCRIPT_TIME: 'scoring/script-time',
  MEMORY: 'scoring/onnx-memory',
  PROCESS_LOST: 'scoring/onnx-process-lost',
} as const;

const MIB = 1_048_576;

export const PIPELINES_MAX = 1_000;
export const PIPELINES_BYTES_MAX = 4 * MIB;
/** What is sent to be computed: it is held in memory until it is. */
export const INPUT_BYTES_MAX = 64 * MIB;
/** The same of all requests of a node. */
export const INPUTS_BYTES_MAX = 512 * MIB;
/** Of one Python script: it goes to an interpreter with each request. */
export const SCRIPT_BYTES_MAX = MIB;
/** Tasks that wait for a process. */
export const WAITING_MAX = { all: 1_000, ofUser: 100 };
