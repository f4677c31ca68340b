/** The compiled models of one worker: bounded in bytes; beyond the bound those that were used longest ago go. */
import type { ScoringModel } from '../pmml/engine.ts';
import type { ModelKey } from '../protocol.ts';

/** Of the bound, what models of one tenant may take while others have some. */
const TENANT_SHARE = 0.5;

interface Loaded {
  readonly tenant: number;
  readonly name: string;
  readonly model: ScoringModel;
}

export class LoadedModels {
  readonly #bytesMax: number;
  /** The one that was used longest ago first. */
  readonly #models = new Map<string, Loaded>();
  readonly #bytesOf = new Map<number, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: ModelKey): ScoringModel | undefined {
    const text = keyText(key);
    const loaded = this.#models.get(text);
    if (loaded === undefined) return undefined;
    this.#models.delete(text);
    this.#models.set(text, loaded);
    return loaded.model;
  }

  /** Keeps a model, and drops others where the room is used up. @throws RangeError for one larger than the bound. */
  add(key: ModelKey, model: ScoringModel): void {
    if (model.bytes > this.#bytesMax)
      throw new RangeError(`the model takes ${model.bytes} bytes; a worker has ${this.#bytesMax} for models`);
    this.#remove(keyText(key));
    while (this.#bytes + model.bytes > this.#bytesMax) this.#remove(this.#next(key.tenant, model.bytes));
    this.#models.set(keyText(key), { tenant: key.tenant, name: key.name, model });
    this.#count(key.tenant, model.bytes);
  }

  /** @param name undefined: all of the tenant. */
  drop(tenant: number, name: string | undefined): void {
    for (const [text, loaded] of this.#models)
      if (loaded.tenant === tenant && (name === undefined || loaded.name === name)) this.#remove(text);
  }

  /** Of the newcomer's tenant, where it has its share, else the one that was used longest ago. */
  #next(tenant: number, bytes: number): string {
    const isOverShare = (this.#bytesOf.get(tenant) ?? 0) + bytes > this.#bytesMax * TENANT_SHARE;
    if (isOverShare) for (const [text, loaded] of this.#models) if (loaded.tenant === tenant) return text;
    const [oldest] = this.#models.keys();
    return oldest as string;
  }

  #remove(text: string): void {
    const loaded = this.#models.get(text);
    if (loaded === undefined) return;
    this.#models.delete(text);
    this.#count(loaded.tenant, -loaded.model.bytes);
  }

  #count(tenant: number, bytes: number): void {
    this.#bytes += bytes;
    const left = (this.#bytesOf.get(tenant) ?? 0) + bytes;
    if (left > 0) this.#bytesOf.set(tenant, left);
    else this.#bytesOf.delete(tenant);
  }
}

const keyText = ({ tenant, name, version }: ModelKey): string => `${tenant}\n${name}\n${version}`;
