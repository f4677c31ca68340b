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
    digest: '89cdb7646eec44852028d6f159668287b1e5f0ff26009f1e59861af5cf618fb1',
  },
  linux_arm64_127: {
    source: 'db310856b4d36b2b6e83888c9faa87ccd65454e6157f457bf9cb4ebabaed7a65',
    digest: '52a893c45867ddf5a9b626cc3abb45c011f1917090ea0d5b54f2c8058136efc0',
  },
  linux_arm64_137: {
    source: 'ad0ffb42a119ee022ba1fc752d942e5a19b863ce47bfdc909cd1d5bc1363a7a6',
    digest: '2bec524336ee8d6bed805110e8c93d2c57b1d7fa42044a6bd50a46922fdeaa3d',
  },
  linux_x64_115: {
    source: '3c4cfd4f4673c591dbca82cdda94f7e0ad9bc298966c39a7bd259838c2b25d4f',
    digest: '6b001dcfac1b0cb4c6155f70bed4ead63121673a589479e6b1603f8cb4269d16',
  },
  linux_x64_127: {
    source: '0e0af5d0e486b67e25dd5c6686f8f05be4504629404d5c1972c808ab5d8e4cc2',
    digest: 'c08ac4b42699673848695021499566ecd36dbc20efcf5dab682dff037e1e3aec',
  },
  linux_x64_137: {
    source: '9aa8b857ac4ab0bfb1245e948eeeacc904b13a3608c9a281d551c43c66bea66e',
    digest: '2b9ad865a07e5334a3efd696eaecfd8c993b80ee803e564d92246aae870a6aa8',
  },
};

/** The name of a build's file, in the package and in dist/native. */
export const uwsFileName = (key: string): string => `uws_${key}.node`;
