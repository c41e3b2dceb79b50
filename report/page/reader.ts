// SPDX-License-Identifier: MIT
//
// The exports of report/reader: make the blocks of a report from profiles, in the page. Used by the worker of a page without
// a profile; an instance reads one report.

export interface Picked { name: string; bytes: Uint8Array; cut: boolean } // cut: the archive was damaged after that

type Call = (...args: number[]) => number;

const encoder = new TextEncoder();

export class Reader {
  private constructor(private readonly memory: WebAssembly.Memory, private readonly call: Record<string, Call>) {}

  // `progress`: bytes of the file that were read, of how many.
  static async open(wasm: BufferSource, progress: (done: number, total: number) => void): Promise<Reader> {
    const module = await WebAssembly.compile(wasm), imports: WebAssembly.Imports = { page: { progress } };
    const system: Record<string, unknown> = {};
    let memory: WebAssembly.Memory | null = null;
    // System calls of wasi-libc. There is a clock but there are no files: those calls fail.
    for (const { module: of, name } of WebAssembly.Module.imports(module))
      if (of === "wasi_snapshot_preview1") system[name] = name === "clock_time_get" ?
        (_clock: number, _precision: bigint, to: number): number => {
          new DataView(memory!.buffer).setBigUint64(to, BigInt(Date.now()) * 1000000n, true);
          return 0;
        } : (): number => 52; // ENOSYS
    imports["wasi_snapshot_preview1"] = system as WebAssembly.ModuleImports;
    const { exports } = await WebAssembly.instantiate(module, imports);
    memory = exports["memory"] as WebAssembly.Memory;
    (exports["_initialize"] as () => void)();
    return new Reader(memory, exports as Record<string, Call>);
  }

  private fault(): Error {
    const at = this.call["fault"]!() >>> 0, all = new Uint8Array(this.memory.buffer, at);
    return new Error(new TextDecoder().decode(all.slice(0, all.indexOf(0))));
  }

  private bytesIn(bytes: Uint8Array, zero: number): number {
    const at = this.call["get"]!(bytes.length + zero) >>> 0;
    if (at === 0) throw new Error("there is not enough memory");
    const to = new Uint8Array(this.memory.buffer, at, bytes.length + zero);
    to.set(bytes);
    to.fill(0, bytes.length);
    return at;
  }

  // The files of the profile are the runs of a series.
  series(): void { this.call["series"]!(); }

  add(side: number, file: Picked): void {
    const name = this.bytesIn(encoder.encode(file.name.replace(/\0/g, "?")), 1), at = this.bytesIn(file.bytes, 0);
    this.call["cut"]!(file.cut ? 1 : 0);
    if (this.call["add"]!(side, name, at, file.bytes.length) < 0) throw this.fault();
  }

  // The blocks, one at a time.
  *make(): Generator<Uint8Array> {
    const count = this.call["make"]!();
    if (count < 0) throw this.fault();
    for (let i = 0; i < count; i++)
      yield new Uint8Array(this.memory.buffer, this.call["block"]!(i) >>> 0, this.call["size"]!(i) >>> 0);
  }
}
