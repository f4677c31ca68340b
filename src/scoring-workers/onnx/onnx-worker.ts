/** Entry of a process that computes ONNX models: they lie in its memory by their keys until they are released. */
import type { FaultKind } from '../processes/protocol.ts';
import { serveTasks } from '../processes/serve.ts';
import { ModelError, OnnxModel, loadRuntime } from './model.ts';
import type { AnswerForm, OnnxTask } from './tasks.ts';
import { InputError } from './tensors.ts';

const models = new Map<string, OnnxModel>();

async function run(task: OnnxTask, content: readonly Uint8Array[]): Promise<unknown> {
  switch (task.kind) {
    case 'describe': {
      const model = await OnnxModel.load(join(content));
      const description = model.describe();
      await model.release();
      collectLater();
      return description;
    }
    case 'load': {
      if (models.has(task.key)) return { memoryBytes: 0 };
      await loadRuntime();
      const before = process.memoryUsage.rss();
      models.set(task.key, await OnnxModel.load(join(content)));
      collectLater();
      return { memoryBytes: Math.max(0, process.memoryUsage.rss() - before) };
    }
    case 'apply': {
      const model = models.get(task.key);
      if (model === undefined) throw new Error(`the model ${task.key} is not loaded`);
      const body = parse(join(content));
      return Buffer.from(await answerOf(model, body, task.form));
    }
    case 'release': {
      for (const key of task.keys) {
        await models.get(key)?.release();
        models.delete(key);
      }
      collectLater();
      return models.size;
    }
  }
}

async function answerOf(model: OnnxModel, body: unknown, form: AnswerForm): Promise<string> {
  if (form === 'json') return model.applyToJson(body);
  if (form === 'script') return JSON.stringify(await model.applyToScript(body));
  return model.applyToColumns(body, form.columns);
}

/** The file of a model lies outside of the heap, which an idle process has no reason to collect. */
function collectLater(): void {
  setImmediate(() => globalThis.gc?.());
}

function join(content: readonly Uint8Array[]): Uint8Array {
  return content.length === 1 ? content[0] : Buffer.concat(content);
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch {
    throw new InputError('Invalid json format.');
  }
}

function faultOf(error: unknown): { kind: FaultKind; text: string } {
  const text = error instanceof Error ? error.message : String(error);
  // An allocation beyond the bound of this process.
  if (/bad_alloc|Array buffer allocation failed|Invalid string length/.test(text)) return { kind: 'memory', text };
  if (error instanceof InputError) return { kind: 'input', text };
  return { kind: error instanceof ModelError ? 'model' : 'internal', text };
}

serveTasks(run, faultOf);
