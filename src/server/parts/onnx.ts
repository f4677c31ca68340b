/** ONNX models and Python scripts: the processes that compute them. */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { OnnxScoring } from '../../scoring/onnx/onnx-scoring.ts';
import { pyodideProgram } from '../../scoring-workers/script/pyodide.ts';
import { systemProgram } from '../../scoring-workers/script/system.ts';
import type { ServerCore } from '../cores/core.ts';
import type { FilesPart } from './files.ts';
import type { Part } from './part.ts';

export interface OnnxPart extends Part {
  readonly onnx: OnnxScoring;
}

/** More would mostly hold the same models. */
const PROCESSES_DEFAULT_MAX = 4;

export function onnxPart(core: ServerCore, { files }: FilesPart): OnnxPart {
  const { config, documents, metrics, log, tenants } = core;
  const { scoringPython, scoringPythonMemoryMaxBytes: memoryBytesMax, scoringPythonWheels: wheels } = config;
  const wheelsFolder = wheels === undefined ? undefined : resolve(wheels);
  const programs = {
    pyodide: () => pyodideProgram({ memoryBytesMax, wheelsFolder }),
    system: () => systemProgram({ memoryBytesMax }),
  };
  const onnx = new OnnxScoring({
    blobs: files,
    documents,
    refusals: metrics,
    log,
    isOnlyTenant: () => tenants.isOnlyOne,
    // A tenant takes all but one.
    processes: config.scoringProcesses || Math.min(PROCESSES_DEFAULT_MAX, availableParallelism()) + 1,
    interpreters: config.scoringPythonProcesses,
    memoryBytesMax: config.scoringProcessMemoryMaxBytes,
    modelMsMax: config.scoringTaskMaxMs,
    scriptMsMax: config.scoringScriptMaxMs,
    ...(scoringPython === 'off' ? {} : { python: programs[scoringPython] }),
  });
  metrics.gauge('millrace_scoring_processes', 'Processes of ONNX models and Python scripts', () => onnx.processesCount);
  metrics.gauge('millrace_scoring_onnx_bytes', 'Bytes that loaded ONNX models take', () => onnx.loadedBytes);
  metrics.gauge(
    'millrace_scoring_onnx_input_bytes',
    'Bytes of requests that wait for ONNX models and scripts, or are computed',
    () => onnx.inputBytes,
  );
  return {
    onnx,
    recordsChanged: (tenant, changes) => onnx.recordsChanged(tenant, changes),
    stop: () => onnx.stop(),
  };
}
