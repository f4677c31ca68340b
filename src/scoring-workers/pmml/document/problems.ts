/** What was found in a PMML document: an error refuses the model, a warning does not. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  /** Line of the document, from 1. */
  readonly line: number;
  /** Name of the element; empty for the document as a whole. */
  readonly element: string;
  readonly text: string;
}

const PROBLEMS_MAX = 1_000;

/** The problems of one document, at most 1,000. */
export class Problems {
  readonly list: Problem[] = [];

  warn(element: { readonly name: string; readonly line: number }, text: string): void {
    this.#add({ severity: 'warning', line: element.line, element: element.name, text });
  }

  error(element: { readonly name: string; readonly line: number }, text: string): void {
    this.#add({ severity: 'error', line: element.line, element: element.name, text });
  }

  get hasErrors(): boolean {
    return this.list.some(({ severity }) => severity === 'error');
  }

  #add(problem: Problem): void {
    if (this.list.length < PROBLEMS_MAX) this.list.push(problem);
  }
}
