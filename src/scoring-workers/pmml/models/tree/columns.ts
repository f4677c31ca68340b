/** Columns of numbers that grow while a document is read. */

/** One value for each node; a column that only has the value for most nodes takes no room. */
export class Column<Made extends Float64Array | Int32Array | Uint8Array> {
  readonly #kind: new (
    length: number,
  ) => Made;
  readonly #byDefault: number;
  #values: Made;
  #length = 0;

  constructor(kind: new (length: number) => Made, byDefault: number) {
    this.#kind = kind;
    this.#byDefault = byDefault;
    this.#values = new kind(0);
  }

  set(index: number, value: number): void {
    if (Object.is(value, this.#byDefault) && index >= this.#values.length) return;
    if (index >= this.#values.length) this.#grow(index + 1);
    this.#values[index] = value;
    if (index >= this.#length) this.#length = index + 1;
  }

  get(index: number): number {
    return index < this.#length ? this.#values[index] : this.#byDefault;
  }

  /** Whether all values are the default. */
  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** The values of nodes, in an array of that length. */
  packed(count: number): Made {
    const packed = new this.#kind(count);
    packed.set(this.#values.subarray(0, Math.min(count, this.#length)));
    packed.fill(this.#byDefault, Math.min(count, this.#length));
    return packed;
  }

  /** Gives back the room that is not used. */
  trim(): void {
    if (this.#values.length > this.#length) this.#values = this.packed(this.#length);
  }

  #grow(least: number): void {
    const larger = new this.#kind(Math.max(least, this.#values.length * 2, GROWTH_MIN));
    larger.set(this.#values);
    larger.fill(this.#byDefault, this.#values.length);
    this.#values = larger;
  }
}

const GROWTH_MIN = 16;

/** Texts of a document by number: names of fields, categories and ids come again and again. */
export class TextPool {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #indexes: string[] = [];

  add(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#texts.length;
    this.#numbers.set(text, number);
    this.#texts.push(text);
    return number;
  }

  find(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  text(number: number): string {
    return this.#texts[number];
  }

  /** Text of a whole number from 0, the same one each time. */
  textOfIndex(index: number): string {
    const { length } = this.#indexes;
    for (let i = length; i <= index; i++) this.#indexes.push(String(i));
    return this.#indexes[index];
  }
}
