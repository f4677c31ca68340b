/**
 * The builds of uWebSockets.js that may be loaded, by platform, processor and ABI of Node: 115 is Node 20, 127 is 22,
 * 137 is 24. `bin/native.mjs` checks `source` (SHA-256) of the file in the package, makes the copy that loads on older
 * glibc as well (`elf-glibc.ts`), checks `digest` and puts it into dist/native. `uws.ts` checks `digest` once more
 * before it loads the copy. With another version of the package: `node bin/native.mjs --print`.
 */
export interface UwsBinary {
  readonly source: string;
  readonly digest: string;
}

export const UWS_VERSION = '20.56.0';

export const UWS_BINARIES: Readonly<Record<string, UwsBinary>> = {
  linux_arm64_115: {
    source: '5f179165f9ade910999ce8724d71ecdcc4f7e1b944053683d98bfda62665e081',
    digest: '76612a44dc1560dc3ec0e38746dae41fdbc66410c7edb75987bebdd83f60b81c',
  },
  linux_arm64_127: {
    source: 'db310856b4d36b2b6e83888c9faa87ccd65454e6157f457bf9cb4ebabaed7a65',
    digest: '650032f3af42166a76c57f20b2732b8a70b7b0286c3e2404d98aef1d146ea3f5',
  },
  linux_arm64_137: {
    source: 'ad0ffb42a119ee022ba1fc752d942e5a19b863ce47bfdc909cd1d5bc1363a7a6',
    digest: '80e8cd2103ebd719ef0d41efd344986ddbc67edbb983336b2b695d73efe60d1f',
  },
  linux_x64_115: {
    source: '3c4cfd4f4673c591dbca82cdda94f7e0ad9bc298966c39a7bd259838c2b25d4f',
    digest: '8228040a5db20659447a785fb01e7491b7ff84177612c996371d9b36f20c1521',
  },
  linux_x64_127: {
    source: '0e0af5d0e486b67e25dd5c6686f8f05be4504629404d5c1972c808ab5d8e4cc2',
    digest: '9c9593e8bd6ba30b96acc8c850aa133098255113c964b871c4cde85b283a58ba',
  },
  linux_x64_137: {
    source: '9aa8b857ac4ab0bfb1245e948eeeacc904b13a3608c9a281d551c43c66bea66e',
    digest: 'e0551112a412df577fc0b2bb40cb5b67fc9b72683367f8a4b21179068f9bcc1c',
  },
};

/** The name of a build's file, in the package and in dist/native. */
export const uwsFileName = (key: string): string => `uws_${key}.node`;
