/** Models of scoring as the console reads them, and records made from fields. */
import { pathOf } from '../../core/api/json.ts';

export interface Field {
  readonly usage: string;
  readonly name: string;
  readonly type: string;
}

export interface Model {
  readonly modelName: string;
  readonly description?: string;
  readonly creationDate: string;
  readonly isActive: boolean;
  readonly inputFields: readonly Field[];
  readonly outputFields: readonly Field[];
}

export const MODEL_ADMIN = ['ROLE_MACHINE_LEARNING_ADMIN'];
export const MODELS_PATH = '/service/scoring/models';
export const ONNX_MODELS_PATH = '/service/scoring/onnx/models';
export const BINDINGS_PATH = '/service/scoring/bindings';
export const modelPath = (name: string): string => pathOf`/service/scoring/model/${name}`;
export const applyPath = (name: string): string => pathOf`/service/scoring/apply/${name}`;
export const onnxPath = (name: string): string => pathOf`/service/scoring/onnx/models/${name}`;
export const onnxApplyPath = (name: string): string => pathOf`/service/scoring/onnx/apply/${name}`;
export const bindingPath = (id: string): string => pathOf`/service/scoring/bindings/${id}`;

const NUMBERS = /^(?:DOUBLE|FLOAT|INTEGER|LONG|NUMBER)$/i;

/** The record of filled fields: numbers where the model wants numbers and the text is one. */
export function recordOf(fields: readonly Field[], texts: Readonly<Record<string, string>>): Record<string, unknown> {
  const filled = fields.filter(({ name }) => (texts[name] ?? '').trim() !== '');
  return Object.fromEntries(
    filled.map(({ name, type }) => {
      const text = texts[name].trim();
      return [name, NUMBERS.test(type) && Number.isFinite(Number(text)) ? Number(text) : text];
    }),
  );
}

/** A number is asked for, and the text is none: `19,5`. */
export const isNoNumber = ({ type }: Field, text: string): boolean =>
  NUMBERS.test(type) && text.trim() !== '' && !Number.isFinite(Number(text));

export interface DocumentFault {
  readonly line: number;
  readonly text: string;
}

/** Errors that the server wrote as comments into a document that it did not deploy, with the lines that it names. */
export function faultsOf(document: string): readonly DocumentFault[] {
  return [...document.matchAll(/<!--\s*(?:ERROR|WARNING):\s*([\s\S]*?)\s*-->/g)].map(({ index, 1: text }) => {
    const named = /\(line (\d+)\)/.exec(text);
    const line = named === null ? document.slice(0, index).split('\n').length : Number(named[1]);
    return { line, text: text.replace(/ ?\(line \d+\)/, '') };
  });
}
