/**
 * Makes a shared object that was linked against a new glibc load on glibc 2.31 as well. Pure: bytes in, bytes out; 64
 * bit, little endian.
 *
 * The dynamic loader refuses a file for two reasons. A version of glibc that the file needs is unknown: the need is
 * made weak here, and a missing weak version is accepted. A symbol is not found in that version: functions are looked
 * up at their first call, data at once. So each symbol above 2.31 is dealt with by name (`RULES`), and an unknown one
 * is an error.
 */

/** The oldest glibc that the result loads on. */
export const GLIBC_OLDEST = '2.31';

/** What becomes of a symbol whose version is above `GLIBC_OLDEST`. */
type Rule =
  /** The same function under the end of its name, in every version of glibc. */
  | { readonly kind: 'shorter'; readonly by: number }
  /** Taken in any version: it has moved from libpthread to libc, and Node itself loads both. */
  | { readonly kind: 'anyVersion' }
  /** Another symbol of glibc takes its place. */
  | { readonly kind: 'other'; readonly name: string }
  /**
   * A function that nothing in the file calls but parts of libstdc++ and libgcc that are themselves not called. Stays
   * as it is.
   */
  | { readonly kind: 'uncalled' };

const ISO_C23 = '__isoc23_';

/**
 * The symbols of the builds of uWebSockets.js 20.56.0 that are above glibc 2.31.
 * - `__isoc23_strtol` and its kind differ from `strtol` only in that they read `0b1` to base 0 or 2.
 * - `__libc_single_threaded` is a flag, not zero while the process has one thread: libstdc++ saves atomic
 *   instructions then. The number
 * `error_one_per_line` belongs to `error()`, which neither Node nor the file calls, and is always zero: atomic
 * instructions are always used.
 * - `arc4random` is called by std::random_device, `fstat` by std::ifstream, `_dl_find_object` when a C++ exception is
 *   thrown. The file has no
 * call of the first two outside of libstdc++, and catches no exceptions: one ends the process with or without the
 * function.
 */
const RULES: readonly { readonly name: RegExp; readonly rule: Rule }[] = [
  { name: new RegExp(`^${ISO_C23}(?:sscanf|strtol|strtoul|strtoull)$`), rule: { kind: 'shorter', by: ISO_C23.length } },
  {
    name: /^pthread_(?:once|key_create|[gs]etspecific|rwlock_(?:init|destroy|rdlock|wrlock|unlock))$/,
    rule: { kind: 'anyVersion' },
  },
  { name: /^__libc_single_threaded$/, rule: { kind: 'other', name: 'error_one_per_line' } },
  { name: /^(?:arc4random|fstat|_dl_find_object)$/, rule: { kind: 'uncalled' } },
];

const SECTION_HEADER_BYTES = 64;
const SYMBOL_BYTES = 24;
const RELOCATION_BYTES = 24;
const DYNAMIC_BYTES = 16;
const RELOCATIONS = 4;
const DYNAMIC = 6;
const DYNAMIC_SYMBOLS = 11;
const VERSION_NEEDS = 0x6ffffffe;
const SYMBOL_VERSIONS = 0x6fffffff;
/** Of a version need. */
const WEAK = 2;
/** Index of a symbol version: any. */
const ANY_VERSION = 1;
const VERSION_INDEX = 0x7fff;
/** Relocations of functions that are looked up at their first call, by machine: x86-64, AArch64. */
const LAZY_RELOCATIONS: Readonly<Record<number, number>> = { 62: 7, 183: 1026 };
/** Entries of the dynamic section that have everything looked up at once, with the bits that say so. */
const EAGER: readonly (readonly [tag: number, bits: number])[] = [
  [24, -1],
  [30, 8],
  [0x6ffffffb, 1],
];

interface Section {
  readonly type: number;
  readonly offset: number;
  readonly bytes: number;
  readonly link: number;
}

/** A version of a library that the file needs. */
export interface VersionNeed {
  readonly library: string;
  readonly version: string;
  readonly isWeak: boolean;
}

/** A symbol that the file takes from elsewhere. */
export interface TakenSymbol {
  readonly name: string;
  /** Undefined: any. */
  readonly version: string | undefined;
  /** Looked up when it is called, not when the file is loaded. */
  readonly isLazy: boolean;
}

interface SymbolEntry extends TakenSymbol {
  readonly index: number;
  readonly nameOffset: number;
}
interface NeedEntry extends VersionNeed {
  readonly index: number;
  readonly offset: number;
}

/** A shared object, read where this file needs it. */
class SharedObject {
  readonly bytes: Buffer;
  private readonly sections: readonly Section[];
  private readonly symbolTable: Section;
  private readonly strings: Section;
  private readonly versions: Section;

  /** @throws Error where it is not one. */
  constructor(bytes: Buffer) {
    this.bytes = bytes;
    if (
      bytes.length < SECTION_HEADER_BYTES ||
      bytes.readUInt32BE(0) !== 0x7f454c46 ||
      bytes[4] !== 2 ||
      bytes[5] !== 1
    ) {
      throw new Error('not an ELF file of 64 bits, little endian');
    }
    const start = Number(bytes.readBigUInt64LE(40));
    this.sections = Array.from({ length: bytes.readUInt16LE(60) }, (_, index) => {
      const at = start + index * SECTION_HEADER_BYTES;
      const word = (offset: number): number => Number(bytes.readBigUInt64LE(at + offset));
      return { type: bytes.readUInt32LE(at + 4), offset: word(24), bytes: word(32), link: bytes.readUInt32LE(at + 40) };
    });
    this.symbolTable = this.section(DYNAMIC_SYMBOLS);
    this.strings = this.sections[this.symbolTable.link];
    this.versions = this.section(SYMBOL_VERSIONS);
  }

  private section(type: number): Section {
    const found = this.sections.find((section) => section.type === type);
    if (found === undefined) throw new Error(`an ELF file without a section of type ${type}`);
    return found;
  }

  private text(offset: number): string {
    const start = this.strings.offset + offset;
    return this.bytes.toString('latin1', start, this.bytes.indexOf(0, start));
  }

  /** Everything is looked up when the file is loaded. */
  get isEager(): boolean {
    const { offset, bytes } = this.section(DYNAMIC);
    for (let at = offset; at < offset + bytes; at += DYNAMIC_BYTES) {
      const tag = Number(this.bytes.readBigUInt64LE(at));
      const value = this.bytes.readBigUInt64LE(at + 8);
      if (EAGER.some(([eager, bits]) => tag === eager && (bits === -1 || (value & BigInt(bits)) !== 0n))) return true;
    }
    return false;
  }

  needs(): NeedEntry[] {
    const { offset } = this.section(VERSION_NEEDS);
    const found: NeedEntry[] = [];
    for (let at = offset, next = -1; next !== 0; at += next) {
      const library = this.text(this.bytes.readUInt32LE(at + 4));
      let entry = at + this.bytes.readUInt32LE(at + 8);
      for (let count = this.bytes.readUInt16LE(at + 2); count > 0; count -= 1) {
        found.push({
          library,
          version: this.text(this.bytes.readUInt32LE(entry + 8)),
          offset: entry,
          isWeak: (this.bytes.readUInt16LE(entry + 4) & WEAK) !== 0,
          index: this.bytes.readUInt16LE(entry + 6) & VERSION_INDEX,
        });
        entry += this.bytes.readUInt32LE(entry + 12);
      }
      next = this.bytes.readUInt32LE(at + 12);
    }
    return found;
  }

  /** Symbols that the file does not define itself. */
  taken(): SymbolEntry[] {
    const versions = new Map(this.needs().map(({ index, version }) => [index, version]));
    const lazy = this.lazySymbols();
    const found: SymbolEntry[] = [];
    for (let index = 1; index * SYMBOL_BYTES < this.symbolTable.bytes; index += 1) {
      const at = this.symbolTable.offset + index * SYMBOL_BYTES;
      if (this.bytes.readUInt16LE(at + 6) !== 0) continue;
      const nameOffset = this.bytes.readUInt32LE(at);
      const version = versions.get(this.bytes.readUInt16LE(this.versions.offset + index * 2) & VERSION_INDEX);
      found.push({ name: this.text(nameOffset), version, isLazy: lazy.has(index), index, nameOffset });
    }
    return found;
  }

  /** Symbols that nothing refers to but calls. */
  private lazySymbols(): Set<number> {
    const lazyType = LAZY_RELOCATIONS[this.bytes.readUInt16LE(18)];
    const lazy = new Set<number>();
    const eager = new Set<number>();
    for (const { type, offset, bytes } of this.sections) {
      if (type !== RELOCATIONS) continue;
      for (let at = offset; at < offset + bytes; at += RELOCATION_BYTES) {
        const symbol = this.bytes.readUInt32LE(at + 12);
        (this.bytes.readUInt32LE(at + 8) === lazyType ? lazy : eager).add(symbol);
      }
    }
    return new Set(this.isEager ? [] : [...lazy].filter((symbol) => !eager.has(symbol)));
  }

  weaken({ offset }: NeedEntry): void {
    this.bytes.writeUInt16LE(this.bytes.readUInt16LE(offset + 4) | WEAK, offset + 4);
  }

  takeInAnyVersion({ index }: SymbolEntry): void {
    this.bytes.writeUInt16LE(ANY_VERSION, this.versions.offset + index * 2);
  }

  /** Names a symbol by the end of its name, which is a text of the table like any other. */
  shortenName({ index, nameOffset }: SymbolEntry, by: number): void {
    this.bytes.writeUInt32LE(nameOffset + by, this.symbolTable.offset + index * SYMBOL_BYTES);
  }

  /**
   * Writes another name in the place of one. @throws Error where it is longer, or something else uses the same text.
   */
  replaceName({ name, nameOffset, index }: SymbolEntry, other: string): void {
    if (other.length > name.length) throw new Error(`${other} is longer than ${name}`);
    for (
      let at = this.symbolTable.offset, one = 0;
      one * SYMBOL_BYTES < this.symbolTable.bytes;
      one += 1, at += SYMBOL_BYTES
    ) {
      const used = this.bytes.readUInt32LE(at);
      if (one !== index && used >= nameOffset && used <= nameOffset + name.length)
        throw new Error(`the text ${name} belongs to several symbols`);
    }
    this.bytes.fill(0, this.strings.offset + nameOffset, this.strings.offset + nameOffset + name.length);
    this.bytes.write(other, this.strings.offset + nameOffset, 'latin1');
  }
}

/** Whether it is a version of glibc above the oldest. */
function isNew(version: string | undefined): boolean {
  const [major, minor] =
    /^GLIBC_(\d+)\.(\d+)/
      .exec(version ?? '')
      ?.slice(1)
      .map(Number) ?? [];
  const [oldestMajor, oldestMinor] = GLIBC_OLDEST.split('.').map(Number);
  return major > oldestMajor || (major === oldestMajor && minor > oldestMinor);
}

export const versionNeeds = (bytes: Buffer): VersionNeed[] => new SharedObject(bytes).needs();
export const takenSymbols = (bytes: Buffer): TakenSymbol[] => new SharedObject(bytes).taken();

/**
 * @returns a copy that loads on glibc 2.31 and later. @throws Error where the file wants a symbol that no rule is for.
 */
export function forOlderGlibc(bytes: Buffer): Buffer {
  const file = new SharedObject(Buffer.from(bytes));
  for (const symbol of file.taken()) {
    const { name, version, isLazy } = symbol;
    if (!isNew(version)) continue;
    const rule = RULES.find((one) => one.name.test(name))?.rule;
    if (rule === undefined)
      throw new Error(
        `the file wants ${name} of ${version}, and no rule says what takes its place on glibc ${GLIBC_OLDEST}`,
      );
    if (rule.kind === 'uncalled') {
      if (!isLazy) throw new Error(`the file wants ${name} of ${version} when it is loaded`);
      continue;
    }
    if (rule.kind === 'shorter') file.shortenName(symbol, rule.by);
    if (rule.kind === 'other') file.replaceName(symbol, rule.name);
    file.takeInAnyVersion(symbol);
  }
  for (const need of file.needs()) if (isNew(need.version)) file.weaken(need);
  return file.bytes;
}
