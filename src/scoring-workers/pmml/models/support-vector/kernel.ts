import { type Element, PmmlError } from '../../document/element.ts';

/** What a kernel makes of two vectors: of their product, or of their squared distance. */
export interface Kernel {
  readonly isOfDistance: boolean;
  readonly isLinear: boolean;
  readonly apply: (value: number) => number;
}

export const VECTOR_KERNELS = [
  'LinearKernelType',
  'PolynomialKernelType',
  'RadialBasisKernelType',
  'SigmoidKernelType',
] as const;

/** @throws PmmlError where the model has no kernel */
export function readKernel(model: Element): Kernel {
  const [element] = model.childrenOf(...VECTOR_KERNELS);
  if (element === undefined) throw new PmmlError(model, `has no kernel: one of ${VECTOR_KERNELS.join(', ')}`);
  const gamma = element.number('gamma', 1);
  const coef0 = element.number('coef0', 1);
  switch (element.name) {
    case 'PolynomialKernelType': {
      const degree = element.number('degree', 1);
      return { isOfDistance: false, isLinear: false, apply: (product) => (gamma * product + coef0) ** degree };
    }
    case 'RadialBasisKernelType':
      return { isOfDistance: true, isLinear: false, apply: (distance) => Math.exp(-gamma * distance) };
    case 'SigmoidKernelType':
      return { isOfDistance: false, isLinear: false, apply: (product) => Math.tanh(gamma * product + coef0) };
    default:
      return { isOfDistance: false, isLinear: true, apply: (product) => product };
  }
}
