/** Bounds of scoring, with the names that the answer, the log and the counter tell (docs/reference/limits.md). */

export const SCORING_LIMIT = {
  FILE_BYTES: 'scoring/file-bytes',
  MODELS: 'scoring/models',
  MODEL_BYTES: 'scoring/model-bytes',
  RESOURCES: 'scoring/resources',
  RESOURCE_BYTES: 'scoring/resource-bytes',
  SCRIPT_BYTES: 'scoring/script-bytes',
  GROUPS: 'scoring/groups',
  GROUP_BYTES: 'scoring/group-bytes',
  APPLIES: 'scoring/applies',
  BATCHES: 'scoring/batches',
  SPOOL: 'scoring/spool-bytes',
  WAITING: 'scoring/tasks-waiting',
  WAITING_OF_USER: 'scoring/tasks-waiting-of-user',
  UPLOADS: 'scoring/uploads-waiting',
  UPLOADS_OF_USER: 'scoring/uploads-waiting-of-user',
  INFORMATION: 'scoring/information-bytes',
  UNPACKED: 'scoring/unpacked-bytes',
  ANNOTATED: 'scoring/annotated-bytes',
  RECORD: 'scoring/record-bytes',
  JOBS: 'scoring/jobs',
  TRAININGS: 'scoring/trainings',
  TRAININGS_AT_ONCE: 'scoring/trainings-at-once',
  TRAINING_BYTES: 'scoring/training-bytes',
  JOB_DEVICES: 'scoring/job-devices',
  JOB_VALUES: 'scoring/job-values',
  JOB_RESULTS: 'scoring/job-result-bytes',
  JOB_HELD: 'scoring/job-held-bytes',
  BINDINGS: 'scoring/bindings',
  BINDING_BYTES: 'scoring/bindings-bytes',
  BINDING_DEVICES: 'scoring/binding-devices',
  BINDING_DEVICES_OF_NODE: 'scoring/binding-devices-of-node',
  BINDING_RECORD: 'scoring/binding-record-bytes',
  BINDING_PREDICTIONS: 'scoring/binding-prediction-bytes',
  BINDINGS_RATE: 'scoring/bindings-rate',
  BINDINGS_TASKS: 'scoring/bindings-tasks',
  BACKLOG: 'scoring/bindings-backlog',
  BACKLOG_BYTES: 'scoring/bindings-backlog-bytes',
} as const;

const MIB = 1_048_576;

/** An uploaded model, resource or batch, as it is sent. */
export const FILE_BYTES_MAX = 500 * MIB;
/** The same when it is unpacked. */
export const UNPACKED_BYTES_MAX = 4 * FILE_BYTES_MAX;
/** What shows the fields of a model: one record of the store, which a cluster sends as one message. */
export const INFORMATION_BYTES_MAX = 524_288;
export const MODELS_MAX = 1_000;
export const MODELS_BYTES_MAX = 20 * 1_024 * MIB;
export const RESOURCES_MAX = 1_000;
export const RESOURCES_BYTES_MAX = 20 * 1_024 * MIB;
export const GROUPS_MAX = 1_000;
export const GROUPS_BYTES_MAX = 8 * MIB;
/** Lookup tables and uploaded functions that one model uses. */
export const MODEL_RESOURCES_MAX = 100;
/** Models of a group. */
export const GROUP_MODELS_MAX = 100;
/** Single records that wait for their results, of a node. */
export const APPLIES_MAX = 10_000;
/** Batches under way, of a node. */
export const BATCHES_MAX = 50;
/** Results of batches that are not sent yet, on the disk of a node. */
export const SPOOL_BYTES_MAX = 16 * 1_024 * MIB;
/** Of one record of a batch, or one single record. */
export const RECORD_BYTES_MAX = 16 * MIB;
/** Jobs of a tenant. */
export const JOBS_MAX = 1_000;
/** Runs of a job that are kept; then the oldest go with their results. */
export const JOB_RUNS_MAX = 1_000;
/** Devices of the group of a job. */
export const JOB_DEVICES_MAX = 100_000;
/** Values of one device that one run reads, the first in the order of time. */
export const JOB_DEVICE_VALUES_MAX = 1_000_000;
/** Results of one run. */
export const JOB_RESULT_BYTES_MAX = 500 * MIB;
/** Of those, what a run holds before it is written: results of two slices, and of a page. */
export const JOB_HELD_BYTES_MAX = 128 * MIB;
/** Trainings of a tenant that are kept; then the oldest give way. */
export const TRAININGS_MAX = 1_000;
/** Trainings of a node that are under way or wait. */
export const TRAININGS_AT_ONCE = 20;
/** Series of one training, as they are sent. */
export const TRAINING_BYTES_MAX = 64 * MIB;
/** Bindings of a tenant, and the characters of their texts. */
export const BINDINGS_MAX = 100;
export const BINDINGS_BYTES_MAX = 4 * MIB;
/** Outputs of a model that one binding makes series of. */
export const BINDING_OUTPUTS_MAX = 100;
/** Devices of the group of a binding, and those of all groups together that a node remembers. */
export const BINDING_DEVICES_MAX = 100_000;
export const BINDING_DEVICES_OF_NODE_MAX = 1_000_000;
/** One measurement that waits to be scored, without what a model does not need of it. */
export const BINDING_RECORD_BYTES_MAX = 262_144;
/** Measurements of a tenant that wait for bindings or are scored; beyond it the oldest are shed. */
export const BACKLOG_MAX = 20_000;
/** Measurements a second that the bindings of a tenant take on one node, once for each binding: each may become one, too. */
export const BINDINGS_RATE_MAX = 50_000;
/** What those of all tenants of a node take. */
export const BACKLOG_BYTES_MAX = 64 * MIB;
