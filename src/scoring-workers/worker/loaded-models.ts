/** The compiled models of one worker: bounded in bytes; beyond the bound those that were used longest ago go. */
import type { ScoringModel } from '../pmml/engine.ts';
import type { ModelKey } from '../protocol.ts';

/** Of the bound, what models of one tenant may take while others have some. */
const TENANT_SHARE = 0.5;

/** What a model uses beside itself, for as long as it is kept. */
export interface Held {
  readonly bytes: number;
  /** It cannot be used any more: the model is compiled again. */
  readonly isBroken: boolean;
  close(): void;
}

interface Loaded {
  readonly tenant: number;
  readonly name: string;
  readonly model: ScoringModel;
  readonly held: Held;
  /** Of the model with what it holds. */
  readonly bytes: number;
}

const NOTHING: Held = { bytes: 0, isBroken: false, close: () => undefined };

export class LoadedModels {
  readonly #bytesMax: number;
  /** The one that was used longest ago first. */
  readonly #models = new Map<string, Loaded>();
  readonly #bytesOf = new Map<number, number>();
  readonly #onChange: (tenant: number, bytes: number) => void;
  #bytes = 0;

  /** @param onChange called with the bytes of all models of a tenant when they have changed */
  constructor(bytesMax: number, onChange: (tenant: number, bytes: number) => void = () => undefined) {
    this.#bytesMax = bytesMax;
    this.#onChange = onChange;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: ModelKey): ScoringModel | undefined {
    const text = keyText(key);
    const loaded = this.#models.get(text);
    if (loaded === undefined) return undefined;
    if (loaded.held.isBroken) {
      this.#remove(text);
      return undefined;
    }
    this.#models.delete(text);
    this.#models.set(text, loaded);
    return loaded.model;
  }

  /**
   * Keeps a model, and drops its other versions, and other models where the room is used up.
   *
   * @param held is closed when the model goes
   * @throws RangeError for one larger than the bound; what it holds stays the caller's then
   */
  add(key: ModelKey, model: ScoringModel, held = NOTHING): void {
    const bytes = model.bytes + held.bytes;
    if (bytes > this.#bytesMax)
      throw new RangeError(`the model takes ${bytes} bytes; a worker has ${this.#bytesMax} for models`);
    this.drop(key.tenant, key.name);
    while (this.#models.size > 0 && this.#bytes + bytes > this.#bytesMax) this.#remove(this.#next(key.tenant, bytes));
    this.#models.set(keyText(key), { tenant: key.tenant, name: key.name, model, held, bytes });
    this.#count(key.tenant, bytes);
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
    this.#count(loaded.tenant, -loaded.bytes);
    try {
      loaded.held.close();
    } catch {
      // What it holds is dropped with it: an interpreter that is broken may not end in order, and its memory goes with it.
    }
  }

  #count(tenant: number, bytes: number): void {
    this.#bytes += bytes;
    const left = (this.#bytesOf.get(tenant) ?? 0) + bytes;
    if (left > 0) this.#bytesOf.set(tenant, left);
    else this.#bytesOf.delete(tenant);
    this.#onChange(tenant, left);
  }
}

const keyText = ({ tenant, name, version }: ModelKey): string => `${tenant}\n${name}\n${version}`;
