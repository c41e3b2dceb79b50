// SPDX-License-Identifier: MIT
//
// The exports of report/core, as its README describes them, and nothing else: memory in and out, structures
// by their offsets. Everything here runs in the worker. Numbers above 2^53 are bigints.

export const NONE = 0xffffffff;

// ORDER enum core_error
const errors = ["", "a block is damaged", "there is not enough memory", "the report is of another version",
  "the core has no such data"];

export enum Of { Self, Inclusive, Edge, Called, Calls, Total, PerCall }
export enum Side { New, Old, Difference, Factor }
export const sideNames = ["new", "old", "difference", "factor"];
export enum Field { Value = 0, Name = 1, File = 2, Object = 4, Case = 8 }
export enum What {
  Funcs, Strings, Parts, Events, AllEvents, Order, Has, Blocks, Top, Edges, Sites, Linked, Loaded, TopInclusive,
}
export enum By { Line = 1, Addr = 2, Func = 4, Align = 8 }
export enum Detail { Places, Calls, Jumps }
export enum GroupBy { Object, Folder, File, Namespace, Cycle }
export enum Flame { Down, Up, UpSelf }
export const Has = { Line: 1, Addr: 2, Call: 4, Jump: 8, Base: 16 };

export interface Value {
  exact: bigint | null; // in units of 1/scale of the formula
  approx: number; // NaN: divided by zero
}
export interface EventInfo { name: string; long: string; formula: string; usable: boolean }
export interface PartInfo {
  pid: bigint | null; part: bigint | null; thread: bigint | null;
  cmd: string; creator: string; side: number; descs: string[];
}
export interface Func {
  line: bigint; addr: bigint; hash: bigint; object: number; file: number; name: number; cycle: [number, number];
}
export interface DetailRow {
  func: number; file: number; callee: number; toFile: number; line: bigint; addr: bigint; toLine: bigint;
  toAddr: bigint; calls: [bigint, bigint]; followed: [bigint, bigint];
}
export interface FlameBox {
  func: number; parent: number; depth: number; flags: number; x: number; width: number; low: bigint; high: bigint;
}
export type FlameLimits = [least: number, fine: number, from: number, to: number];
// rest: the cost of the first boxes that are too narrow, and their number.
export interface FlameGraph { boxes: FlameBox[]; total: Value; rest: Value; restCount: number }
// string: the name contains it, or the number of a cycle
export interface Group { parent: number; string: number; from: number; size: number; funcs: number }
export interface Piece { first: number; count: number; text: string }
export interface Source { state: number; lines: number; path: string; pieces: Piece[] }
// target: of a branch; 0n: it is none
export interface Insn { addr: bigint; target: bigint; bytes: Uint8Array; intel: string; att: string }
// Consecutive instructions, and their successors: `taken` of `executed` times, by side; null: not counted.
export interface FlowBlock { first: number; count: number }
export interface FlowEdge { from: number; to: number; jump: boolean; taken: (bigint | null)[]; executed: bigint[] }
export interface Flow { blocks: FlowBlock[]; edges: FlowEdge[]; leaving: number }
export interface GraphNode { func: number; depth: number; cycle: number } // cycle: that it stands for, or 0
export interface GraphEdge { from: number; to: number; edge: number; value: Value; calls: Value }

type Call = (...args: (number | bigint)[]) => number;

const decoder = new TextDecoder("utf-8");
const encoder = new TextEncoder();

export class Core {
  private readonly memory: WebAssembly.Memory;
  private readonly call: Record<string, Call>;
  private readonly handle: number;
  private readonly scratch: number; // 256 bytes for answers

  private constructor(instance: WebAssembly.Instance) {
    this.memory = instance.exports["memory"] as WebAssembly.Memory;
    this.call = instance.exports as Record<string, Call>;
    this.handle = this.call["open"]!();
    this.scratch = this.call["get"]!(256);
  }

  static async open(wasm: BufferSource): Promise<Core> {
    const { instance } = await WebAssembly.instantiate(wasm);
    return new Core(instance);
  }

  // ---- Memory: views are made again after each call, since growing memory moves ----

  private view(): DataView { return new DataView(this.memory.buffer); }

  private get(size: number): number {
    const at = this.call["get"]!(size) >>> 0;
    if (at === 0) throw new Error(errors[2]);
    return at;
  }

  private put(at: number): void { this.call["put"]!(at); }

  private check(rc: number): number {
    if (rc < 0) throw new Error(errors[-rc] ?? "error " + rc);
    return rc;
  }

  private text(at: number): string {
    const view = this.view();
    const from = view.getUint32(at, true);
    // A copy: TextDecoder does not accept shared or resizable memory.
    return decoder.decode(new Uint8Array(this.memory.buffer, from, view.getUint32(at + 4, true)));
  }

  private bytesIn(bytes: Uint8Array): number {
    const at = this.get(bytes.length);
    new Uint8Array(this.memory.buffer, at, bytes.length).set(bytes);
    return at;
  }

  private numbersIn(numbers: Uint32Array): number {
    const at = this.get(numbers.length * 4);
    new Uint32Array(this.memory.buffer, at, numbers.length).set(numbers);
    return at;
  }

  private value(view: DataView, at: number): Value {
    const low = view.getBigUint64(at, true);
    const high = view.getBigInt64(at + 8, true);
    return {
      exact: view.getUint32(at + 24, true) ? (high << 64n) + low : null,
      approx: view.getFloat64(at + 16, true),
    };
  }

  private wide(view: DataView, at: number): bigint {
    return (view.getBigInt64(at + 8, true) << 64n) + view.getBigUint64(at, true);
  }

  // ---- Loading ----

  // Takes a block in its deflated form; `size` is the size before. Throws when the checksum differs.
  load(deflated: Uint8Array, size: number, crc: number): void {
    const from = this.bytesIn(deflated), at = this.get(size);
    const good = this.call["inflate"]!(from, deflated.length, at, size) === 0 &&
      (this.call["crc"]!(at, size) >>> 0) === crc;
    this.put(from);
    if (!good) {
      this.put(at);
      throw new Error("its checksum is wrong");
    }
    this.check(this.call["load"]!(this.handle, at, size));
  }

  // A block that was never deflated: it comes out of another memory of this page.
  loadPlain(bytes: Uint8Array): void { this.check(this.call["load"]!(this.handle, this.bytesIn(bytes), bytes.length)); }

  // The blocks that link() needs.
  needed(): boolean[] {
    const blocks = this.number(What.Blocks), at = this.get(blocks);
    this.call["needed"]!(this.handle, at, blocks);
    const list = Array.from(new Uint8Array(this.memory.buffer, at, blocks), (is) => is === 1);
    this.put(at);
    return list;
  }

  link(): void { this.check(this.call["link"]!(this.handle)); }

  // ---- Facts ----

  number(what: What): number { return this.call["number"]!(this.handle, what) >>> 0; }

  string(s: number): string {
    if (s === NONE) return "";
    this.call["string"]!(this.handle, s, this.scratch);
    return this.text(this.scratch);
  }

  // The string that is this text, or NONE.
  stringOf(text: string): number {
    const bytes = encoder.encode(text), at = this.bytesIn(bytes), s = this.call["string_of"]!(this.handle, at,
      bytes.length) >>> 0;
    this.put(at);
    return s;
  }

  // All values of a key of TEXTS.
  facts(key: string): string[] {
    const at = this.bytesIn(encoder.encode(key + "\0"));
    const all: string[] = [];
    while (this.call["fact"]!(this.handle, at, all.length, this.scratch)) all.push(this.text(this.scratch));
    this.put(at);
    return all;
  }

  event(e: number): EventInfo {
    const usable = this.check(this.call["event"]!(this.handle, e, this.scratch)) > 0;
    return {
      name: this.text(this.scratch), long: this.text(this.scratch + 8), formula: this.text(this.scratch + 16), usable,
    };
  }

  part(i: number): PartInfo {
    this.check(this.call["part"]!(this.handle, i, this.scratch));
    const view = this.view();
    const known = (at: number): bigint | null => {
      const v = view.getBigUint64(this.scratch + at, true);
      return v ? v - 1n : null;
    };
    const info: PartInfo = {
      pid: known(0), part: known(8), thread: known(16), cmd: this.text(this.scratch + 24),
      creator: this.text(this.scratch + 32), side: view.getUint32(this.scratch + 40, true), descs: [],
    };
    const descs = view.getUint32(this.scratch + 44, true);
    for (let n = 0; n < descs; n++) {
      this.check(this.call["desc"]!(this.handle, i, n, this.scratch));
      info.descs.push(this.text(this.scratch));
    }
    return info;
  }

  partTotal(i: number, e: number): Value {
    this.check(this.call["total"]!(this.handle, i, e, this.scratch));
    return this.value(this.view(), this.scratch);
  }

  func(f: number): Func {
    this.check(this.call["func"]!(this.handle, f, this.scratch));
    const view = this.view(), at = this.scratch;
    return {
      line: view.getBigUint64(at, true), addr: view.getBigUint64(at + 8, true), hash: view.getBigUint64(at + 16, true),
      object: view.getUint32(at + 24, true), file: view.getUint32(at + 28, true), name: view.getUint32(at + 32, true),
      cycle: [view.getUint32(at + 36, true), view.getUint32(at + 40, true)],
    };
  }

  // A copy of one of the core's arrays; see `array` in export.c.
  array(what: number, count: number): Uint32Array {
    const at = this.call["array"]!(this.handle, what) >>> 0;
    if (at === 0) throw new Error(errors[2]);
    return new Uint32Array(this.memory.buffer, at, count).slice();
  }

  // ---- Selection ----

  choose(parts: boolean[]): void {
    const at = this.bytesIn(Uint8Array.from(parts, Number));
    this.check(this.call["choose"]!(this.handle, at));
    this.put(at);
  }

  cycles(on: boolean): void { this.call["cycles"]!(this.handle, on ? 1 : 0); }

  // ---- Formulas and values ----

  // A handle, or the offset at which the formula is invalid.
  formula(text: string): { handle: number } | { at: number } {
    const bytes = encoder.encode(text);
    const at = this.bytesIn(bytes);
    const handle = this.call["formula"]!(this.handle, at, bytes.length, this.scratch) >>> 0;
    this.put(at);
    return handle ? { handle } : { at: this.view().getUint32(this.scratch, true) };
  }

  formulaOf(event: number): number {
    const handle = this.call["formula_of"]!(this.handle, event) >>> 0;
    if (!handle) throw new Error("event " + event + " has no formula that can be read");
    return handle;
  }

  formulaPut(formula: number): void { this.call["formula_put"]!(formula); }

  formulaKind(formula: number): { scale: number; ratio: boolean } {
    const kind = this.call["formula_kind"]!(formula) >>> 0;
    return { scale: kind & 0x7fffffff, ratio: kind >>> 31 === 1 };
  }

  values(formula: number, of: Of, side: Side, index: Uint32Array): Value[] {
    const rows = this.numbersIn(index), out = this.get(index.length * 32);
    try {
      this.check(this.call["values"]!(this.handle, formula, of, side, rows, index.length, out));
      const view = this.view();
      return Array.from(index, (_, i) => this.value(view, out + i * 32));
    } finally {
      this.put(rows);
      this.put(out);
    }
  }

  total(formula: number, side: Side): Value {
    return this.values(formula, Of.Total, side, new Uint32Array(1))[0]!;
  }

  // `parent`: groups are in others before them; empty: they are not
  groups(formula: number, side: Side, group: Uint32Array, parent: Uint32Array, count: number): Value[] {
    const of = this.numbersIn(group), out = this.get(count * 32), above = this.numbersIn(parent);
    try {
      this.check(this.call["groups"]!(this.handle, formula, side, of, parent.length ? above : 0, count, out));
      const view = this.view();
      return Array.from({ length: count }, (_, i) => this.value(view, out + i * 32));
    } finally {
      this.put(of);
      this.put(above);
      this.put(out);
    }
  }

  // Groups, and the group of each function.
  tree(by: GroupBy): { items: Group[]; of: Uint32Array } {
    const at = this.call["tree"]!(this.handle, by, this.scratch, this.scratch + 4, this.scratch + 8) >>> 0;
    const view = this.view();
    this.check(view.getInt32(this.scratch + 8, true));
    const count = view.getUint32(this.scratch, true), of = view.getUint32(this.scratch + 4, true), items: Group[] = [];
    for (let i = 0, g = at; i < count; i++, g += 20)
      items.push({
        parent: view.getUint32(g, true), string: view.getUint32(g + 4, true), from: view.getUint32(g + 8, true),
        size: view.getUint32(g + 12, true), funcs: view.getUint32(g + 16, true),
      });
    const result = { items, of: new Uint32Array(this.memory.buffer, of, this.number(What.Funcs)).slice() };
    this.put(at);
    this.put(of);
    return result;
  }

  // Bytes of a string, as text.
  piece(s: number, from: number, size: number): string {
    this.call["string"]!(this.handle, s, this.scratch);
    const at = this.view().getUint32(this.scratch, true) + from;
    return decoder.decode(new Uint8Array(this.memory.buffer, at, size));
  }

  // ---- Rows ----

  match(text: string, fields: number): Uint8Array {
    const bytes = encoder.encode(text), at = this.bytesIn(bytes), mask = this.get(this.number(What.Funcs));
    try {
      this.check(this.call["match"]!(this.handle, at, bytes.length, fields, mask));
      return new Uint8Array(this.memory.buffer, mask, this.number(What.Funcs)).slice();
    } finally {
      this.put(at);
      this.put(mask);
    }
  }

  // The names of functions (strings) that may have the same text as this one outside of their brackets.
  alike(string: number): Uint32Array {
    const at = this.call["alike"]!(this.handle, string, this.scratch) >>> 0, view = this.view();
    const list = new Uint32Array(this.memory.buffer, at, this.check(view.getInt32(this.scratch, true))).slice();
    this.put(at);
    return list;
  }

  sort(rows: Uint32Array, key: { of?: Of; field?: Field; side?: Side; formula?: number; descending?: boolean;
    magnitude?: boolean }):
    Uint32Array {
    const at = this.numbersIn(rows);
    try {
      this.check(this.call["sort"]!(this.handle, at, rows.length, key.of ?? 0, key.field ?? 0, key.side ?? 0,
        key.formula ?? 0, (key.descending ? 1 : 0) | (key.magnitude ? 2 : 0)));
      return new Uint32Array(this.memory.buffer, at, rows.length).slice();
    } finally {
      this.put(at);
    }
  }

  find(hash: bigint): number { return this.call["find"]!(this.handle, BigInt.asIntN(64, hash)) >>> 0; }

  // ---- Around a function ----

  // Functions that can be reached, the nearest first, and their distances.
  reach(f: number, callers: boolean, side: Side): { funcs: Uint32Array; distance: Uint32Array } {
    const n = this.number(What.Funcs), funcs = this.get(n * 4), distance = this.get(n * 4);
    try {
      const count = this.check(this.call["reach"]!(this.handle, f, callers ? 1 : 0, side, funcs, distance));
      return {
        funcs: new Uint32Array(this.memory.buffer, funcs, count).slice(),
        distance: new Uint32Array(this.memory.buffer, distance, count).slice(),
      };
    } finally {
      this.put(funcs);
      this.put(distance);
    }
  }

  // The functions of a mask, and all their callers and callees, direct and indirect.
  around(mask: Uint8Array, side: Side): Uint8Array {
    const at = this.bytesIn(mask);
    try {
      this.check(this.call["around"]!(this.handle, side, at));
      return new Uint8Array(this.memory.buffer, at, mask.length).slice();
    } finally {
      this.put(at);
    }
  }

  // The edges of the heaviest path to a function.
  path(f: number, formula: number, side: Side, max = 100): Uint32Array {
    const at = this.get(max * 4);
    try {
      const count = this.check(this.call["path"]!(this.handle, f, formula, side, at, max));
      return new Uint32Array(this.memory.buffer, at, count).slice();
    } finally {
      this.put(at);
    }
  }

  // ---- Details ----

  // Places, call sites or jumps, which stay until detailPut(). A formula says which events are needed; for several
  // formulas all events are read.
  detailOpen(kind: Detail, f: number, file: number, by: number, formulas: number[]): { handle: number; count: number } {
    const handle = this.call["detail"]!(this.handle, kind, f, file, by, formulas.length === 1 ? formulas[0]! : 0,
      this.scratch) >>> 0;
    this.check(this.view().getInt32(this.scratch, true));
    this.call["detail_rows"]!(handle, this.scratch);
    return { handle, count: this.view().getUint32(this.scratch, true) };
  }

  detailPut(handle: number): void { this.call["detail_put"]!(handle); }

  detailRow(handle: number, i: number): DetailRow {
    const row = (this.call["detail_rows"]!(handle, this.scratch) >>> 0) + i * 80, view = this.view();
    return {
      func: view.getUint32(row, true), file: view.getUint32(row + 4, true),
      callee: view.getUint32(row + 8, true), toFile: view.getUint32(row + 12, true),
      line: view.getBigUint64(row + 16, true), addr: view.getBigUint64(row + 24, true),
      toLine: view.getBigUint64(row + 32, true), toAddr: view.getBigUint64(row + 40, true),
      calls: [view.getBigUint64(row + 48, true), view.getBigUint64(row + 56, true)],
      followed: [view.getBigUint64(row + 64, true), view.getBigUint64(row + 72, true)],
    };
  }

  detailValues(handle: number, formula: number, side: Side, first: number, count: number): Value[] {
    const out = this.get(count * 32);
    try {
      this.check(this.call["detail_values"]!(handle, formula, side, first, count, out));
      const view = this.view();
      return Array.from({ length: count }, (_, i) => this.value(view, out + i * 32));
    } finally {
      this.put(out);
    }
  }

  // The rows by magnitude of a value, and how many of them make half of it.
  detailOrder(handle: number, count: number, formula: number, side: Side): { order: Uint32Array; half: number } {
    const at = this.get(count * 4);
    try {
      const half = this.check(this.call["detail_sort"]!(handle, formula, side, at));
      return { order: new Uint32Array(this.memory.buffer, at, count).slice(), half };
    } finally {
      this.put(at);
    }
  }

  // The state of a file's text, without reading the text.
  sourceState(file: number, side: Side): number {
    this.check(this.call["source"]!(this.handle, file, side, this.scratch));
    this.put(this.view().getUint32(this.scratch + 12, true));
    return this.view().getUint32(this.scratch, true);
  }

  source(file: number, side: Side): Source {
    this.check(this.call["source"]!(this.handle, file, side, this.scratch));
    const view = this.view(), pieces = view.getUint32(this.scratch + 8, true);
    const at = view.getUint32(this.scratch + 12, true);
    const source: Source = {
      state: view.getUint32(this.scratch, true), lines: view.getUint32(this.scratch + 4, true),
      path: this.text(this.scratch + 16), pieces: [],
    };
    for (let i = 0; i < pieces; i++)
      source.pieces.push({
        first: view.getUint32(at + i * 16, true), count: view.getUint32(at + i * 16 + 4, true),
        text: this.text(at + i * 16 + 8),
      });
    this.put(at);
    return source;
  }

  // Runs of lines skipped in the base, skipped in the profile's file, equal.
  align(file: number): Uint32Array {
    const at = this.call["align"]!(this.handle, file, this.scratch, this.scratch + 4) >>> 0;
    const view = this.view();
    this.check(view.getInt32(this.scratch + 4, true));
    const runs = new Uint32Array(this.memory.buffer, at, view.getUint32(this.scratch, true) * 3).slice();
    this.put(at);
    return runs;
  }

  code(f: number): { state: number; insns: Insn[] } {
    const at = this.call["code"]!(this.handle, f, this.scratch, this.scratch + 4, this.scratch + 8) >>> 0;
    const view = this.view();
    this.check(view.getInt32(this.scratch + 8, true));
    const insns: Insn[] = [], count = view.getUint32(this.scratch + 4, true);
    for (let i = 0, x = at; i < count; i++, x += 48)
      insns.push({
        addr: view.getBigUint64(x, true), target: view.getBigUint64(x + 8, true),
        bytes: new Uint8Array(this.memory.buffer, view.getUint32(x + 20, true), view.getUint32(x + 24, true)).slice(),
        intel: this.text(x + 28), att: this.text(x + 36),
      });
    this.put(at);
    return { state: view.getUint32(this.scratch, true), insns };
  }

  flow(f: number): Flow {
    const at = this.call["flow"]!(this.handle, f, this.scratch, this.scratch + 12, this.scratch + 16) >>> 0;
    const view = this.view();
    this.check(view.getInt32(this.scratch + 16, true));
    const [blocks, edges, leaving] = [0, 4, 8].map((k) => view.getUint32(this.scratch + k, true)) as
      [number, number, number], edgeAt = view.getUint32(this.scratch + 12, true);
    const flow: Flow = {
      leaving, blocks: Array.from({ length: blocks }, (_, i) => ({
        first: view.getUint32(at + i * 8, true), count: view.getUint32(at + i * 8 + 4, true),
      })),
      edges: Array.from({ length: edges }, (_, i) => {
        const e = edgeAt + i * 48, counted = view.getUint32(e + 12, true);
        return {
          from: view.getUint32(e, true), to: view.getUint32(e + 4, true), jump: view.getUint32(e + 8, true) === 1,
          taken: [0, 1].map((side) => counted >> side & 1 ? view.getBigUint64(e + 16 + side * 8, true) : null),
          executed: [0, 1].map((side) => view.getBigUint64(e + 32 + side * 8, true)),
        };
      }),
    };
    this.put(at);
    this.put(edgeAt);
    return flow;
  }

  // ---- Pictures ----

  // `limits`: the least width of a box, and a finer one from here to there.
  flame(formula: number, side: Side, root: number, kind: Flame, limits: FlameLimits, most: number,
    shown: Uint8Array | null): FlameGraph {
    const mask = shown ? this.bytesIn(shown) : 0, given = this.get(32);
    new Float64Array(this.memory.buffer, given, 4).set(limits);
    const at = this.call["flame"]!(this.handle, formula, side, root, kind, given, most, mask, this.scratch,
      this.scratch + 32, this.scratch + 64, this.scratch + 8) >>> 0;
    this.put(mask);
    this.put(given);
    const view = this.view();
    this.check(view.getInt32(this.scratch + 8, true));
    const boxes: FlameBox[] = [], count = view.getUint32(this.scratch, true);
    for (let i = 0, b = at; i < count; i++, b += 64)
      boxes.push({
        func: view.getUint32(b, true), parent: view.getUint32(b + 4, true), depth: view.getUint32(b + 8, true),
        flags: view.getUint32(b + 12, true), x: view.getFloat64(b + 16, true), width: view.getFloat64(b + 24, true),
        low: this.wide(view, b + 32), high: this.wide(view, b + 48),
      });
    this.put(at);
    return { boxes, total: this.value(view, this.scratch + 32), rest: this.value(view, this.scratch + 64),
      restCount: view.getUint32(this.scratch + 4, true) };
  }

  // Rectangles (x, y, w, h) of boxes in boxes: parents first, siblings the largest first.
  nest(values: Float64Array, parents: Uint32Array, whole: number, w: number, h: number, head: number, edge: number,
    least: number):
    Float64Array {
    const at = this.get(values.length * 8), up = this.numbersIn(parents), out = this.get(values.length * 32);
    try {
      new Float64Array(this.memory.buffer, at, values.length).set(values);
      this.check(this.call["nest"]!(at, up, values.length, whole, w, h, head, edge, least, out));
      return new Float64Array(this.memory.buffer, out, values.length * 4).slice();
    } finally {
      this.put(at);
      this.put(up);
      this.put(out);
    }
  }

  graph(wish: {
    formula: number; side: Side; focus: number; up: number; down: number; leastNode: number; leastEdge: number;
    most: number; mask: Uint8Array | null; fold: number;
  }): { nodes: GraphNode[]; edges: GraphEdge[]; leftOut: number } {
    const mask = wish.mask ? this.bytesIn(wish.mask) : 0;
    const g = this.call["graph"]!(this.handle, wish.formula, wish.side, wish.focus, wish.up, wish.down, wish.leastNode,
      wish.leastEdge, wish.most, mask, wish.fold, this.scratch) >>> 0;
    this.put(mask);
    this.check(this.view().getInt32(this.scratch, true));
    this.call["graph_read"]!(g, this.scratch, 0, 0);
    let view = this.view();
    const counts = [0, 4, 8].map((at) => view.getUint32(this.scratch + at, true)) as [number, number, number];
    const nodesAt = this.get(counts[0] * 12), edgesAt = this.get(counts[1] * 80);
    this.call["graph_read"]!(g, this.scratch, nodesAt, edgesAt);
    this.call["graph_put"]!(g);
    view = this.view();
    const nodes = Array.from({ length: counts[0] }, (_, i) => ({
      func: view.getUint32(nodesAt + i * 12, true), depth: view.getInt32(nodesAt + i * 12 + 4, true),
      cycle: view.getUint32(nodesAt + i * 12 + 8, true),
    }));
    const edges = Array.from({ length: counts[1] }, (_, i) => {
      const e = edgesAt + i * 80;
      return {
        value: this.value(view, e), calls: this.value(view, e + 32), from: view.getUint32(e + 64, true),
        to: view.getUint32(e + 68, true), edge: view.getUint32(e + 72, true),
      };
    });
    this.put(nodesAt);
    this.put(edgesAt);
    return { nodes, edges, leftOut: counts[2] };
  }

  // Places nodes of given sizes in layers; an edge's points run from its first node to its second. With boxes (of at
  // least their sizes) the nodes of each (`group`) are in it; `pad` is its margin: left, top, right, bottom.
  layered(nodes: { w: number; h: number }[], edges: { from: number; to: number; weight: number }[], gapX: number,
    gapY: number, group: Uint32Array, boxes: { w: number; h: number }[], pad: [number, number, number, number]): {
      nodes: { x: number; y: number; layer: number }[]; edges: [number, number][][]; width: number; height: number;
      crossings: number; boxes: { x: number; y: number; w: number; h: number }[];
    } {
    const nodeAt = this.get(nodes.length * 40), edgeAt = this.get(edges.length * 24), groupAt = this.numbersIn(group),
      boxAt = this.get(boxes.length * 32), padAt = this.get(32);
    let view = this.view();
    boxes.forEach((b, i) => {
      view.setFloat64(boxAt + i * 32, b.w, true);
      view.setFloat64(boxAt + i * 32 + 8, b.h, true);
    });
    pad.forEach((v, i) => view.setFloat64(padAt + i * 8, v, true));
    nodes.forEach((n, i) => {
      view.setFloat64(nodeAt + i * 40, n.w, true);
      view.setFloat64(nodeAt + i * 40 + 8, n.h, true);
    });
    edges.forEach((e, i) => {
      view.setUint32(edgeAt + i * 24, e.from, true);
      view.setUint32(edgeAt + i * 24 + 4, e.to, true);
      view.setFloat64(edgeAt + i * 24 + 8, e.weight, true);
    });
    const crossings = this.check(this.call["layered"]!(nodeAt, nodes.length, edgeAt, edges.length, gapX, gapY,
      groupAt, boxAt, boxes.length, padAt, this.scratch, this.scratch + 16));
    view = this.view();
    const points = view.getUint32(this.scratch + 16, true);
    const result = {
      nodes: nodes.map((_, i) => ({
        x: view.getFloat64(nodeAt + i * 40 + 16, true), y: view.getFloat64(nodeAt + i * 40 + 24, true),
        layer: view.getUint32(nodeAt + i * 40 + 32, true),
      })),
      edges: edges.map((_, i) => {
        const first = view.getUint32(edgeAt + i * 24 + 16, true), count = view.getUint32(edgeAt + i * 24 + 20, true);
        return Array.from({ length: count }, (_x, k): [number, number] => [
          view.getFloat64(points + (first + k) * 16, true), view.getFloat64(points + (first + k) * 16 + 8, true)]);
      }),
      boxes: boxes.map((_, i) => {
        const [w, h, x, y] = [0, 8, 16, 24].map((at) => view.getFloat64(boxAt + i * 32 + at, true)) as
          [number, number, number, number];
        return { x, y, w, h };
      }),
      width: view.getFloat64(this.scratch, true), height: view.getFloat64(this.scratch + 8, true), crossings,
    };
    for (const at of [groupAt, boxAt, padAt]) this.put(at);
    this.put(points);
    this.put(nodeAt);
    this.put(edgeAt);
    return result;
  }
}
