/**
 * The builds of uWebSockets.js that may be loaded, by platform, processor and ABI of Node: 115 is Node 20, 127 is 22,
 * 137 is 24. `bin/native.mjs` checks `source` (SHA-256) of the file in the package, makes the copy that loads on older
 * glibc as well (`elf-glibc.ts`) and has the server's own answers (`own-answers.ts`), checks `digest` and puts it into
 * dist/native. `uws.ts` checks `digest` once more before it loads the copy. With another version of the package: `node
 * bin/native.mjs --print`.
 */
export interface UwsBinary {
  readonly source: string;
  readonly digest: string;
}

export const UWS_VERSION = '20.56.0';

export const UWS_BINARIES: Readonly<Record<string, UwsBinary>> = {
  linux_arm64_115: {
    source: '5f179165f9ade910999ce8724d71ecdcc4f7e1b944053683d98bfda62665e081',
    digest: '64e626ca9c310b74d2819c722ecfde0a2279f238ba47dec8f9d0e37feb8d3a37',
  },
  linux_arm64_127: {
    source: 'db310856b4d36b2b6e83888c9faa87ccd65454e6157f457bf9cb4ebabaed7a65',
    digest: 'afd1b56d90fa9ad2aa769758be3292474a0c7d97c0f486de92e3a7798588ec5b',
  },
  linux_arm64_137: {
    source: 'ad0ffb42a119ee022ba1fc752d942e5a19b863ce47bfdc909cd1d5bc1363a7a6',
    digest: 'aaa37f472cbb1fa4de9bb98717c644e415c9970dc5697b7f80d068f641139e19',
  },
  linux_x64_115: {
    source: '3c4cfd4f4673c591dbca82cdda94f7e0ad9bc298966c39a7bd259838c2b25d4f',
    digest: '59dafd352bd5d3a9059f024beb14cd8f590f47814feb811cdb2988cdb806c112',
  },
  linux_x64_127: {
    source: '0e0af5d0e486b67e25dd5c6686f8f05be4504629404d5c1972c808ab5d8e4cc2',
    digest: '3108ff4c74bc3a7549d2917266c6e3a604447dc7ebb8daa6960442a09d001a27',
  },
  linux_x64_137: {
    source: '9aa8b857ac4ab0bfb1245e948eeeacc904b13a3608c9a281d551c43c66bea66e',
    digest: '40ecf844220e71cc79cf8df311d34dd9e718455d36a2962d770917d486eeebc8',
  },
};

/** The name of a build's file, in the package and in dist/native. */
export const uwsFileName = (key: string): string => `uws_${key}.node`;
