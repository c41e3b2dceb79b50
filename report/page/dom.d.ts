// SPDX-License-Identifier: MIT
//
// Browser interfaces that this version of TypeScript does not know.
declare class DecompressionStream {
  constructor(format: "deflate-raw" | "gzip");
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<BufferSource>;
}
