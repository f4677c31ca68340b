/** What was found in a PMML document: an error refuses the model, a warning does not. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  /** Line of the document, from 1. */
  readonly line: number;
  /** Name of the element; empty for the document as a whole. */
  readonly element: string;
  /** Where the element begins: characters from the beginning of the document. */
  readonly offset: number;
  readonly text: string;
}

/** The element that a problem is about. */
export interface Place {
  readonly name: string;
  readonly line: number;
  readonly offset: number;
}

const PROBLEMS_MAX = 1_000;

/** The problems of one document, at most 1,000. */
export class Problems {
  readonly list: Problem[] = [];

  warn(element: Place, text: string): void {
    this.#add({ severity: 'warning', line: element.line, element: element.name, offset: element.offset, text });
  }

  error(element: Place, text: string): void {
    this.#add({ severity: 'error', line: element.line, element: element.name, offset: element.offset, text });
  }

  #add(problem: Problem): void {
    if (this.list.length < PROBLEMS_MAX) this.list.push(problem);
  }
}
