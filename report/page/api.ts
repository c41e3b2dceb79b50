// SPDX-License-Identifier: MIT
//
// The interface of the views to the worker: results as large as a screen, already as text and numbers. Each method is a request; its
// result is copied to the page.
import { By, Core, Detail, Field, Flame, GroupBy, NONE, Of, Side, What } from "./core";
import { isBracketed, isStartup, Names, startupPieces } from "./names";
import { regex } from "./pattern";
import { Series } from "./series";
import type { By as SeriesBy, Run } from "./series";
import type { EventInfo, FlameBox, FlameGraph, FlameLimits, Flow, Func, Insn, PartInfo, Source, Value } from "./core";

export interface Summary {
  title: string; profiles: string[]; base: string[]; remarks: string[]; leftOut: string[]; generator: string;
  written: number; folders: string[];
  has: number; funcs: number; edges: number; order: number;
  events: (EventInfo & { scale: number; ratio: boolean; total: Value[] })[]; // totals: profile, base, difference
  parts: PartInfo[];
  cycles: number;  // the event of estimated cycles, or -1: none is counted
  // The parts of the bar of estimated cycles: the causes of those, which are events, or the terms of CEst (event -1); empty: no caches
  // and branches.
  why: { name: string; colour: number; event: number }[];
  rates: string[]; // names of rates
  runs: Run[];     // of a series; else none
  cyclic: { share: number; funcs: number } | null; // the most expensive cycle, of views that ask for it
  opened: boolean; // functions of a cycle are one by one
}

export interface Row {
  func: number; object: string; file: string; name: string; cycle: [number, number];
  called: Value[];      // by side
  self: Value[][];      // by event, side
  inclusive: Value[][]; // by event, side
}

export interface Name {
  func: number; hash: string; object: string; file: string; name: string; line: number; addr: bigint;
  cycle: [number, number];
  short: string;   // shown in its place
  startup: boolean;
}
export interface Column { of: Of; event: number; side: Side }
export interface Table { names: Name[]; values: Value[][] } // by column, row

// Which functions: `text` is a piece of the name, or a regular expression between slashes; "file:" or "object:"
// before it selects another name, "!" before all that inverts. `focus`: only the function, its callers and callees,
// direct and indirect; `focusText`: the same for all functions that a text finds. `without`: texts whose functions are hidden.
// `startup`: of start-up frames "none", or only the "first" in the order; else all. A text that finds them shows them.
export interface Filter { text: string; focus: number; hide: number[]; focusText?: string; without?: string[];
  startup?: "none" | "first" | undefined }
export interface Order { of?: Of; event?: number; side?: Side; field?: Field; descending: boolean; magnitude?: boolean }

export interface Neighbour { name: Name; edge: number; distance: number; calls: Value[];
  cost: Value[][] } // by event, side
export interface GroupRow { id: number; parent: number; label: string; funcs: number; values: Value[] } // by column
export interface Edge { caller: number; callee: number; calls: Value[]; cost: Value[][] }
export interface Line { func: number; file: string; line: bigint; addr: bigint; self: Value[][] }
export interface LineRow {
  func: Name | null; file: string; fileNumber: number; line: number; gone: boolean; addr: bigint; text: string;
  values: Value[];
}
// `folded`: start-up frames below that are not boxes of their own.
export interface Stack extends FlameBox { folded: number }
export interface Stacks extends FlameGraph { boxes: Stack[] }
// A hot line with its neighbours; null: no cost, or no text.
export interface Snippet {
  func: Name | null; file: string; line: number; value: Value;
  why: Value[]; // by cause; empty: they are not counted
  lines: { line: number; text: string | null; value: Value | null }[];
}
export interface Site { line: number; addr: bigint; func: Name; callee: Name; calls: bigint[]; cost: Value[][] }
export interface Jump {
  line: number; addr: bigint; toFunc: Name; toLine: number; toAddr: bigint; executed: bigint[]; followed: bigint[];
}

// A box of a treemap, whose area is `value`. low and high: bounds, in units of the event; equal: exact. With a base
// `sides` is the cost of the box (of callees and callers: of the function, inclusive) on all sides.
export interface MapBox {
  sides: Value[];
  parent: number; depth: number; label: string; func: number; name: Name | null; file: string; line: number;
    value: number;
  low: bigint; high: bigint; x: number; y: number; w: number; h: number;
}
// cycle: the number of the cycle that a node represents, with the names of its functions; else 0.
export interface GraphPicture {
  nodes: { name: Name | null; depth: number; above: boolean; cycle: number; members: string[]; self: Value[];
    inclusive: Value[]; x: number; y: number; w: number }[];
  boxes: { label: string; full: string; funcs: number; self: Value; x: number; y: number; w: number; h: number }[];
  // calledOn, costOn: by side, of a call that is one edge of the program; else none.
  edges: { from: number; to: number; calls: Value; value: Value; calledOn: Value[]; costOn: Value[];
    points: [number, number][] }[];
  width: number; height: number; leftOut: number; notDrawn: number; crossings: number;
}

const BOXES = 5000; // functions of a treemap
const ABOVE = 0xfffffffe; // a graph's other callers
const LOOKED = 60;  // of the hottest lines, for those that are shown with their source
const SOME = 256;   // of them, asked for at a time

// The groups that the call graph draws frames around.
const graphGroups: Record<string, GroupBy> = { object: GroupBy.Object, file: GroupBy.File, namespace: GroupBy.Namespace,
  cycle: GroupBy.Cycle };

const sides = [Side.New, Side.Old, Side.Difference];

// The causes of Cy, and their colours.
const causes: [string, number][] = [["CyBase", 0], ["CyFront", 5], ["CyBad", 3], ["CyMem", 1], ["CyTLB", 2], ["CyCore", 4]];

// By the last letters of an event: the kind of wait that its misses cause.
const kinds: [string, RegExp][] = [
  ["instructions", /^Ir$/], ["L1 misses", /^(I1mr|D1mr|D1mw)$/], ["last-level misses", /^(ILmr|DLmr|DLmw)$/],
  ["mispredictions", /^(Bcm|Bim)$/], ["bus locks", /^Ge$/],
];
const rateFormulas: [string, string, string][] = [
  ["L1 miss rate", "I1mr D1mr D1mw", "Ir Dr Dw"], ["LL miss rate", "ILmr DLmr DLmw", "Ir Dr Dw"],
  ["mispredict rate", "Bcm Bim", "Bc Bi"],
];

// 0, 1, 2, ... With callbacks a million of them takes a tenth of a second.
function upTo(n: number): Uint32Array {
  const all = new Uint32Array(n);
  for (let i = 0; i < n; i++) all[i] = i;
  return all;
}

// Those that the mask has.
function only(rows: Uint32Array, mask: Uint8Array): Uint32Array {
  const some = new Uint32Array(rows.length);
  let n = 0;
  for (let i = 0; i < rows.length; i++) {
    const f = rows[i]!;
    some[n] = f;
    n += mask[f]!;
  }
  return some.slice(0, n);
}

// Requests that need functions and calls only. All others wait for lines, sources and code.
export const early: ReadonlySet<keyof Api> = new Set<keyof Api>(["summary", "define", "select", "partTotals", "shown", "sorted",
  "order", "name", "names", "find", "table", "why", "rows", "groups", "neighbours", "reach", "path", "edges", "layers",
  "func", "string", "flame", "graph", "dropHot", "startupOf", "found", "cyclic", "seriesTotals", "seriesOrder", "seriesTable"]);

const ORDERS = 8; // in the cache: 4 MB each for a million functions

export class Api {
  private readonly formulas: number[] = []; // by event; 0: not usable
  private readonly defined: EventInfo[] = [];
  private cycles = -1;
  private readonly whyParts: (Summary["why"][0] & { formula: number })[] = [];
  private readonly rateParts: { name: string; formula: number }[] = [];
  private readonly arrays = new Map<number, Uint32Array>();
  private readonly texts = new Map<number, Map<number, string>>(); // lines by file and side
  private opened = false;
  private cycle: Summary["cyclic"] | undefined;
  private shorts: { of: number; names: Names } | null = null;
  private frames: { of: number; mask: Uint8Array; count: number } | null = null;
  private mask: { key: string; mask: Uint8Array } | null = null;
  private readonly orders = new Map<string, Uint32Array>(); // of all functions, the last one asked for behind
  private hot: { key: string; handle: number; count: number; order: Uint32Array; half: number } | null = null;

  private readonly series: Series;

  constructor(private readonly core: Core) {
    this.series = new Series(core);
    for (let e = 0; e < core.number(What.AllEvents); e++)
      this.formulas.push(core.event(e).usable ? core.formulaOf(e) : 0);
    this.split();
  }

  // The parts of estimated cycles: counted causes, else the terms of CEst by what they wait for. And rates.
  private split(): void {
    const core = this.core, names = new Map<string, number>();
    let terms: string[] = [];
    for (let e = core.number(What.AllEvents) - 1; e >= 0; e--) {
      const { name, formula } = core.event(e);
      if (!formula) names.set(name, e);
      else if (name === "CEst") terms = formula.split(" + ");
    }
    if (names.has("Cy") && causes.every(([name]) => names.has(name))) {
      this.cycles = names.get("Cy")!;
      for (const [name, colour] of causes) {
        const event = names.get(name)!;
        this.whyParts.push({ name: core.event(event).long.replace(/^cycles of /, "") || name, colour, event, formula: this.formulas[event]! });
      }
      terms = [];
    }
    kinds.forEach(([name, pattern], colour) => {
      const of = terms.filter((term) => pattern.test(term.split(" ")[1] ?? ""));
      const made = of.length ? core.formula(of.join(" + ")) : { at: 0 };
      if ("handle" in made) this.whyParts.push({ name, colour, event: -1, formula: made.handle });
    });
    if (this.whyParts.length < 2) this.whyParts.length = 0;
    for (const [name, above, below] of rateFormulas) {
      const [a, b] = [above, below].map((list) => list.split(" ").filter((event) => names.has(event)).join(" + "));
      const made = a && b ? core.formula("(" + a + ") / (" + b + ")") : { at: 0 };
      if ("handle" in made) this.rateParts.push({ name, formula: made.handle });
    }
  }

  private array(what: number): Uint32Array {
    let a = this.arrays.get(what);
    const core = this.core, funcs = core.number(What.Funcs), edges = core.number(What.Edges);
    if (!a) {
      a = core.array(what, what === 8 || what === 9 ? funcs + 1 : what === 6 || what === 7 ||
        what === 10 ? edges : funcs);
      if (core.number(What.Linked)) this.arrays.set(what, a); // before, functions are still to come
    }
    return a;
  }

  private eventInfo(e: number): EventInfo {
    const counted = this.core.number(What.AllEvents);
    return e < counted ? this.core.event(e) : this.defined[e - counted]!;
  }

  private form(event: number): number {
    const formula = this.formulas[event];
    if (!formula) throw new Error("there is no such event");
    return formula;
  }

  summary(): Summary {
    const core = this.core;
    return {
      title: core.facts("title")[0] ?? "", profiles: core.facts("profile"), base: core.facts("base"),
      remarks: core.facts("remark"), leftOut: core.facts("left-out"), generator: core.facts("generator")[0] ?? "",
      written: Number(core.facts("written")[0] ?? 0), folders: core.facts("source-folder"),
      has: core.number(What.Has), funcs: core.number(What.Funcs), edges: core.number(What.Edges),
      order: core.number(What.Order),
      events: this.formulas.map((formula, e) => ({
        ...this.eventInfo(e), ...(formula ? core.formulaKind(formula) : { scale: 1, ratio: false }),
        total: formula ? sides.map((side) => core.total(formula, side)) : [],
      })),
      parts: Array.from({ length: core.number(What.Parts) }, (_, i) => core.part(i)),
      cycles: this.cycles, why: this.whyParts.map(({ name, colour, event }) => ({ name, colour, event })), rates: this.rateParts.map((rate) => rate.name),
      runs: this.series.runs, cyclic: null, opened: this.opened,
    };
  }

  // Defines an event. Its number, or the offset at which the formula is invalid.
  define(name: string, text: string): { event: number } | { at: number } {
    const there = this.defined.findIndex((event) => event.name === name && event.formula === text);
    if (there >= 0) return { event: this.core.number(What.AllEvents) + there };
    const made = this.core.formula(text);
    if ("at" in made) return made;
    this.defined.push({ name, long: "", formula: text, usable: true });
    this.formulas.push(made.handle);
    return { event: this.formulas.length - 1 };
  }

  // Selects parts (null: all, else those with true), and whether a cycle is one function.
  select(parts: boolean[] | null, cycles: boolean): void {
    const n = this.core.number(What.Parts), all = parts ?? Array.from({ length: n }, () => true);
    this.core.choose(all);
    this.core.cycles(cycles);
    this.opened = !cycles;
    this.series.select(all);
    this.orders.clear();
    this.mask = null;
    this.forget();
  }

  // The cycle with the highest self cost, and its share of the program's. To be asked for before cycles are opened.
  cyclic(): Summary["cyclic"] {
    const { core } = this;
    if (this.cycle !== undefined || !core.number(What.Linked) || this.opened) return this.cycle ?? null;
    const form = this.form(core.number(What.Order)), of = this.array(3), funcs = new Map<number, number>();
    for (const n of of) if (n) funcs.set(n, (funcs.get(n) ?? 0) + 1);
    this.cycle = null;
    if (!funcs.size) return null;
    const place = new Map([...funcs.keys()].map((n, i) => [n, i])), total = core.total(form, Side.New).approx;
    const sums = core.groups(form, Side.New, of.map((n) => place.get(n) ?? NONE), new Uint32Array(0), place.size);
    for (const [n, i] of place) {
      const share = total ? sums[i]!.approx / total : 0;
      if (share > (this.cycle?.share ?? 0)) this.cycle = { share, funcs: funcs.get(n)! };
    }
    return this.cycle;
  }

  // Drops what the core computed for other parts.
  private forget(): void {
    this.arrays.clear();
    this.dropHot();
  }

  // ---- The runs of a series ----

  private runs(of: Of, event: number): ReturnType<Series["column"]> {
    return this.series.column(of, this.form(event), () => this.forget());
  }

  // Of each run the program's costs, by event.
  seriesTotals(events: number[]): Value[][] {
    return this.series.totals(events.map((e) => this.form(e)), () => this.forget());
  }

  seriesOrder(filter: Filter, of: Of, event: number, by: SeriesBy, descending: boolean): Uint32Array {
    const mask = this.masked(filter), rows = upTo(this.shown()), form = this.form(event);
    return this.series.sort(this.runs(of, event), this.core.formulaKind(form).scale, mask ? only(rows, mask) : rows, by,
      descending);
  }

  // What functions cost in each run: by function, run.
  seriesTable(funcs: Uint32Array, of: Of, event: number): { names: Name[]; values: Value[][] } {
    const { runs } = this.runs(of, event);
    return { names: this.names(funcs), values: Array.from(funcs, (f) => runs.map((run) => run.get(f))) };
  }

  partTotals(event: number): Value[] {
    if (event >= this.core.number(What.Events)) return [];
    return Array.from({ length: this.core.number(What.Parts) }, (_, i) => this.core.partTotal(i, event));
  }

  // ---- Functions ----

  // The functions that can be shown: all, or the most expensive until everything is loaded.
  shown(): number { return this.core.number(this.core.number(What.Linked) ? What.Funcs : What.Top); }

  // Functions sorted by a value; their numbers.
  sorted(event: number, of: Of, side: Side, text: string, fields: number): Uint32Array {
    let rows = upTo(this.shown());
    if (text) rows = only(rows, this.core.match(text, fields));
    return this.core.sort(rows, { of, side, formula: this.formulas[event]!, descending: true });
  }

  private textMask(text: string): Uint8Array {
    if (text.startsWith("!")) return text.length > 1 ? this.textMask(text.slice(1)).map((hit) =>
      1 - hit) : new Uint8Array(this.core.number(What.Funcs)).fill(1);
    const core = this.core, prefix = /^(name|file|object):/.exec(text)?.[1];
    const wanted = prefix ? text.slice(prefix.length + 1) : text;
    const field = prefix === "file" ? Field.File : prefix === "object" ? Field.Object : Field.Name;
    const re = regex(wanted);
    // A search text with upper case is case-sensitive.
    if (!re) return core.match(wanted, field | (/[A-Z]/.test(wanted) ? Field.Case : 0));
    const of = this.array(field === Field.Name ? 2 : field === Field.File ? 1 : 0);
    const hit = new Int8Array(core.number(What.Strings));
    return Uint8Array.from(of, (s) => {
      if (s === NONE) return 0;
      if (!hit[s]) hit[s] = re.test(core.string(s)) ? 1 : -1;
      return hit[s] === 1 ? 1 : 0;
    });
  }

  // ---- Names ----

  // A name, a string, as it is shown: distinct from those of all functions once these are known.
  private short(string: number, name: string): string {
    if (!isBracketed(name)) return name;
    const of = this.shown();
    if (this.shorts?.of !== of)
      this.shorts = { of, names: new Names((s) => Array.from(this.core.alike(s), (other) => this.core.string(other))) };
    return this.shorts.names.short(string, name);
  }

  // By function: 1 where it is a start-up frame; and how many there are.
  private startup(): { mask: Uint8Array; count: number } {
    const of = this.shown();
    if (this.frames?.of === of) return this.frames;
    const { core } = this, mask = new Uint8Array(core.number(What.Funcs)), is = new Map<number, number>();
    const pieces = core.number(What.Linked) ? startupPieces.map((text) => core.match(text, Field.Name)) : null;
    const names = this.array(2);
    let count = 0;
    for (let f = 0; f < of; f++) {
      const s = names[f]!;
      if (s === NONE || (pieces && !pieces[0]![f] && !pieces[1]![f] && !pieces[2]![f])) continue;
      let one = is.get(s);
      if (one === undefined) is.set(s, one = isStartup(core.string(s)) ? 1 : 0);
      mask[f] = one;
      count += one;
    }
    return this.frames = { of, mask, count };
  }

  // Without start-up frames, or with the first of them only.
  private fold(rows: Uint32Array, how: Filter["startup"]): Uint32Array {
    if (!how) return rows;
    const { mask, count } = this.startup();
    if (!count) return rows;
    const rest = rows.filter((f) => mask[f] === 0);
    if (!rest.length || rest.length === rows.length) return rows;
    if (how === "none") return rest;
    const at = rows.findIndex((f) => mask[f] === 1), out = new Uint32Array(rest.length + 1);
    out.set(rest.subarray(0, at));
    out[at] = rows[at]!;
    out.set(rest.subarray(at), at + 1);
    return out;
  }

  // The functions that a text finds, and their self cost.
  found(text: string, event: number): { mask: Uint8Array; count: number; self: Value } {
    const mask = this.textMask(text), of = Uint32Array.from(mask, (hit) => hit ? 0 : NONE);
    return { mask, count: mask.reduce((n, hit) => n + hit, 0),
      self: this.core.groups(this.form(event), Side.New, of, new Uint32Array(0), 1)[0]! };
  }

  // How many start-up frames there are, and the functions of a list that are.
  startupOf(funcs: Uint32Array): { count: number; is: boolean[] } {
    const { mask, count } = this.startup();
    return { count, is: Array.from(funcs, (f) => mask[f] === 1) };
  }

  // By function: 1 where it is shown. null: all are.
  private masked(filter: Filter): Uint8Array | null {
    if (!filter.text && filter.focus === NONE && !filter.hide.length && !filter.focusText && !filter.without?.length) return null;
    const key = JSON.stringify([filter, this.core.number(What.Linked)]);
    if (this.mask?.key === key) return this.mask.mask;
    const funcs = this.core.number(What.Funcs);
    const mask = filter.text ? this.textMask(filter.text) : new Uint8Array(funcs).fill(1);
    if (filter.focus !== NONE && this.core.number(What.Linked)) {
      const around = new Uint8Array(funcs);
      for (const callers of [false, true])
        for (const f of this.core.reach(filter.focus, callers, Side.Difference).funcs) around[f] = 1;
      this.keep(mask, around);
    }
    if (filter.focusText) {
      const seeds = this.textMask(filter.focusText);
      this.keep(mask, this.core.number(What.Linked) ? this.core.around(seeds, Side.Difference) : seeds);
    }
    for (const text of filter.without ?? []) this.keep(mask, this.textMask(text).map((hit) => 1 - hit));
    for (const f of filter.hide) mask[f] = 0;
    this.mask = { key, mask };
    return mask;
  }

  private keep(mask: Uint8Array, other: Uint8Array): void { for (let f = 0; f < mask.length; f++) mask[f] &= other[f]!; }

  order(filter: Filter, by: Order): Uint32Array {
    const mask = this.masked(filter), rows = this.allBy(by);
    return this.fold(mask ? only(rows, mask) : rows, filter.text ? undefined : filter.startup);
  }

  // All functions in an order. The sort is stable, so a filtered list needs no sort of its own.
  private allBy(by: Order): Uint32Array {
    const formula = by.event === undefined || by.of === Of.Called ? 0 : this.form(by.event);
    const key = [formula, by.of, by.side, by.field, by.descending, by.magnitude, this.shown()].join();
    let rows = this.orders.get(key);
    if (rows) this.orders.delete(key);
    rows ??= this.core.sort(upTo(this.shown()), {
      of: by.of ?? Of.Self, side: by.side ?? Side.New, field: by.field ?? Field.Value, descending: by.descending,
      magnitude: by.magnitude ?? false, formula,
    });
    this.orders.set(key, rows);
    for (const oldest of this.orders.keys()) if (this.orders.size > ORDERS) this.orders.delete(oldest);
    return rows;
  }

  name(f: number): Name {
    const core = this.core, info = core.func(f), name = core.string(info.name);
    return {
      func: f, hash: BigInt.asUintN(64, info.hash).toString(16).padStart(16, "0"), object: core.string(info.object),
      file: core.string(info.file), name, line: Number(info.line), addr: info.addr,
      cycle: info.cycle, short: this.short(info.name, name), startup: isStartup(name),
    };
  }

  // The function of a hash, or NONE.
  find(hash: string): number { return /^[0-9a-f]{16}$/.test(hash) ? this.core.find(BigInt("0x" + hash)) : NONE; }

  private column(c: Column, index: Uint32Array): Value[] {
    const core = this.core, counts = c.of === Of.Called || c.of === Of.Calls;
    const values = core.values(counts ? 0 : this.form(c.event), c.of, c.side, index);
    // The first block has inclusive costs of all events for the most expensive functions only. Those of the others
    // are not zero but not yet known.
    if ((c.of === Of.Inclusive || c.of === Of.PerCall) && c.event !== core.number(What.Order) &&
      !core.number(What.Linked)) {
      const known = core.number(What.TopInclusive);
      index.forEach((f, i) => { if (f >= known) values[i] = { exact: null, approx: NaN }; });
    }
    return c.of === Of.PerCall && c.side !== Side.Factor ? this.divided(values, c, index) : values;
  }

  // Costs per call are exact where they are whole, as those of one call.
  private divided(values: Value[], c: Column, index: Uint32Array): Value[] {
    if (c.side === Side.Difference || this.core.formulaKind(this.form(c.event)).scale !== 1) return values;
    const cost = this.core.values(this.form(c.event), Of.Inclusive, c.side, index), calls = this.core.values(0, Of.Called, c.side, index);
    return values.map((v, i) => {
      const a = cost[i]!.exact, n = calls[i]!.exact;
      return a !== null && n !== null && n > 0n && a % n === 0n && !Number.isNaN(v.approx) ? { exact: a / n, approx: v.approx } : v;
    });
  }

  table(funcs: Uint32Array, columns: Column[]): Table {
    return { names: Array.from(funcs, (f) => this.name(f)), values: columns.map((c) => this.column(c, funcs)) };
  }

  // Of the program (null) or of functions: by side, part of the bar, function; and the rates in the same form.
  why(funcs: Uint32Array | null, of: Of, upTo: Side): { parts: Value[][][]; rates: Value[][][] } {
    const index = funcs ?? new Uint32Array(1), what = funcs ? of : Of.Total;
    const all = (list: { formula: number }[]): Value[][][] => sides.filter((side) => side <= upTo).map((side) =>
      list.map((part) => this.core.values(part.formula, what, side, index)));
    return { parts: all(this.whyParts), rates: all(this.rateParts) };
  }

  rows(funcs: Uint32Array): Row[] {
    const core = this.core;
    const by = (of: Of): Value[][][] => this.formulas.map((formula) =>
      formula ? sides.map((side) => core.values(formula, of, side, funcs)) : []);
    const self = by(Of.Self), inclusive = by(Of.Inclusive);
    const called = sides.map((side) => core.values(0, Of.Called, side, funcs));
    return Array.from(funcs, (f, i) => {
      const info = core.func(f);
      return {
        func: f, object: core.string(info.object), file: core.string(info.file), name: core.string(info.name),
        cycle: info.cycle, called: called.map((v) => v[i]!), self: self.map((e) => e.map((v) => v[i]!)),
        inclusive: inclusive.map((e) => e.map((v) => v[i]!)),
      };
    });
  }

  // Groups with their self costs, in the order of the core: groups before those in them. And the group of each of
  // the functions that the filter leaves, by function.
  groups(by: GroupBy, filter: Filter, columns: Column[]): { groups: GroupRow[]; of: Uint32Array } {
    const core = this.core, { items, of } = core.tree(by), mask = this.masked(filter);
    if (mask) for (let f = 0; f < of.length; f++) if (!mask[f]) of[f] = NONE;
    const parent = Uint32Array.from(items, (g) => g.parent), funcs = new Uint32Array(items.length);
    for (const g of of) if (g !== NONE) funcs[g]++;
    for (let g = items.length; g-- > 0;) if (parent[g] !== NONE) funcs[parent[g]!] += funcs[g]!;
    const values = columns.map((c) => core.groups(this.form(c.event), c.side, of, parent, items.length));
    const groups = items.map((g, id) => ({
      id, parent: g.parent, funcs: funcs[id]!, values: values.map((v) => v[id]!),
      label: g.string === NONE ? "???" : by === 4 ? "cycle " + g.string : core.piece(g.string, g.from, g.size),
    }));
    return { groups: groups.filter((g) => g.funcs > 0), of };
  }

  // The share of an event in functions with a name, and in those whose source is in the report.
  sure(event: number): { names: Value; sources: Value; total: Value } {
    const core = this.core, name = this.array(2), file = this.array(1), here = new Map<number, boolean>();
    const source = (s: number): boolean => {
      if (s === NONE) return false;
      if (!here.has(s)) here.set(s, [0, 4].includes(core.sourceState(s, Side.New)));
      return here.get(s)!;
    };
    // The address replaces an unknown name.
    const address = core.match("0x", Field.Name | Field.Case), none = new Uint32Array(0);
    const known = name.map((s, f) => s === NONE || (address[f] && core.string(s).startsWith("0x")) ? NONE : 0);
    const with_ = file.map((s) => source(s) ? 0 : NONE);
    const of = (group: Uint32Array): Value => core.groups(this.form(event), Side.New, group, none, 1)[0]!;
    return { names: of(known), sources: of(with_), total: core.total(this.form(event), Side.New) };
  }

  // ---- Around a function ----

  private neighbour(edge: number, func: number, distance: number, events: number[], upTo: Side): Neighbour {
    const index = Uint32Array.of(edge), use = sides.concat(Side.Factor).filter((side) => side <= upTo);
    return {
      name: this.name(func), edge, distance, calls: use.map((side) => this.core.values(0, Of.Calls, side, index)[0]!),
      cost: events.map((e) => use.map((side) => this.core.values(this.form(e), Of.Edge, side, index)[0]!)),
    };
  }

  // Direct callers or callees, the most expensive first, at most `most`; and their number.
  neighbours(func: number, callers: boolean, events: number[], upTo: Side, most: number): { all: number;
    rows: Neighbour[] } {
    const first = this.array(callers ? 9 : 8), edgeOf = this.array(10), other = this.array(callers ? 6 : 7);
    let edges = new Uint32Array(first[func + 1]! - first[func]!);
    for (let i = 0; i < edges.length; i++) edges[i] = callers ? edgeOf[first[func]! + i]! : first[func]! + i;
    edges = this.core.sort(edges, {
      of: Of.Edge, side: upTo > Side.New ? Side.Difference : Side.New, formula: this.form(events[0]!), descending: true,
      magnitude: true,
    });
    return {
      all: edges.length,
      rows: Array.from(edges.slice(0, most), (e) => this.neighbour(e, other[e]!, 1, events, upTo)),
    };
  }

  // Functions on the way to (callers) or from one, the nearest first.
  reach(func: number, callers: boolean, side: Side): { funcs: Uint32Array; distance: Uint32Array } {
    return this.core.reach(func, callers, side);
  }

  // The most expensive path to a function: its calls, from the outermost.
  // By the costs of the profile; what they are on all sides up to one.
  path(func: number, event: number, upTo: Side): { caller: Name; callee: Name; calls: Value[]; cost: Value[] }[] {
    const use = sides.filter((side) => side <= upTo);
    const edges = this.core.path(func, this.form(event), Side.New), callers = this.array(6), callees = this.array(7);
    const cost = use.map((side) => this.core.values(this.form(event), Of.Edge, side, edges));
    const calls = use.map((side) => this.core.values(0, Of.Calls, side, edges));
    return Array.from(edges, (e, i) => ({
      caller: this.name(callers[e]!), callee: this.name(callees[e]!), calls: calls.map((v) => v[i]!), cost: cost.map((v) => v[i]!),
    }));
  }

  edges(first: number, count: number): Edge[] {
    const core = this.core;
    const index = Uint32Array.from({ length: Math.min(count, core.number(What.Edges) - first) }, (_, i) => first + i);
    const callers = this.array(6), callees = this.array(7);
    const calls = sides.map((side) => core.values(0, Of.Calls, side, index));
    const cost = this.formulas.map((formula) =>
      formula ? sides.map((side) => core.values(formula, Of.Edge, side, index)) : []);
    return Array.from(index, (e, i) => ({
      caller: callers[e]!, callee: callees[e]!, calls: calls.map((v) => v[i]!),
      cost: cost.map((x) => x.map((v) => v[i]!)),
    }));
  }

  // ---- Lines and instructions ----

  // Self costs by line and instruction, of one function or (NONE) of all, told apart as `by` says.
  lines(func: number, by: number): Line[] {
    const usable = this.formulas.filter((formula) => formula !== 0);
    const { rows, values } = this.detail(Detail.Places, func, NONE, by, usable, sides);
    return rows.map((row, i) => ({
      func: row.func, file: this.core.string(row.file), line: row.line, addr: row.addr,
      self: values.map((side) => side.map((v) => v[i]!)),
    }));
  }

  // Rows, and by formula, side, row their values.
  private detail(kind: Detail, func: number, file: number, by: number, formulas: number[], use: Side[]):
    { rows: ReturnType<Core["detailRow"]>[]; values: Value[][][] } {
    const core = this.core, { handle, count } = core.detailOpen(kind, func, file, by, formulas);
    try {
      return {
        rows: Array.from({ length: count }, (_, i) => core.detailRow(handle, i)),
        values: formulas.map((formula) => use.map((side) => core.detailValues(handle, formula, side, 0, count))),
      };
    } finally {
      core.detailPut(handle);
    }
  }

  // Called when no view shows lines any more: millions of them are large.
  dropHot(): void {
    if (this.hot) this.core.detailPut(this.hot.handle);
    this.hot = null;
  }

  // All lines, or instructions, that the filter leaves, by magnitude of an event on a side, the largest first or last: how
  // many, and how many make half of it (0: who knows). Then hotRows(). `events` are those that will be asked for: of one
  // alone only that is read. With a filter rows are of one function each; in groups of functions (`grouped`) what is
  // sought in names of files is sought in those of the functions.
  hotLines(by: number, events: number[], order: { event: number; side: Side; descending: boolean }, filter: Filter,
    grouped = false): { count: number; half: number } {
    const keep = this.lineMask(filter, grouped), key = JSON.stringify([by, order, events, filter, grouped]);
    if (this.hot?.key !== key) {
      this.dropHot();
      const asked = [...new Set([...events, order.event])].map((e) => this.form(e));
      const { handle, count } = this.core.detailOpen(Detail.Places, NONE, NONE, keep ? by | By.Func : by, asked);
      this.hot = { key, handle, count, order: new Uint32Array(0), half: 0 };
      const sorted = this.core.detailOrder(handle, count, this.form(order.event), order.side);
      const rows = keep ? sorted.order.filter((i) => keep(this.core.detailRow(handle, i))) : sorted.order;
      this.hot = { key, handle, count: rows.length, order: order.descending ? rows : rows.reverse(),
        half: keep || !order.descending ? 0 : sorted.half };
    }
    return { count: this.hot.count, half: this.hot.half };
  }

  // Which lines a filter leaves; null: all. What is sought in names of files is sought in those of the lines.
  private lineMask(filter: Filter, grouped: boolean): ((row: { func: number; file: number }) => boolean) | null {
    const file = grouped ? null : /^(!?)file:(.*)$/.exec(filter.text), funcs = this.masked(file ? { ...filter, text: "" } : filter);
    if (!file) return funcs && ((row) => funcs[row.func] === 1);
    const wanted = file[2]!, re = regex(wanted), exact = /[A-Z]/.test(wanted), hit = new Map<number, boolean>();
    return (row) => {
      let is = hit.get(row.file);
      if (is === undefined) {
        const name = row.file === NONE ? "" : this.core.string(row.file);
        is = (re ? re.test(name) : (exact ? name : name.toLowerCase()).includes(wanted)) !== (file[1] === "!");
        hit.set(row.file, is);
      }
      return is && (!funcs || funcs[row.func] === 1);
    };
  }

  // A line's text, where the report has it. Of the last files that were asked for it is at hand.
  private text(file: number, side: Side, line: number): string {
    if (file === NONE) return "";
    const key = file * 2 + side;
    let lines = this.texts.get(key);
    if (!lines) {
      if (this.texts.size > 50) this.texts.clear();
      this.texts.set(key, lines = new Map());
      for (const piece of this.core.source(file, side).pieces)
        piece.text.split("\n").forEach((text, i) => lines!.set(piece.first + i, text));
    }
    return lines.get(line) ?? "";
  }

  // The function of each row, in their order: of rows that are of one function each.
  hotFuncs(): Uint32Array {
    const { core, hot } = this;
    return hot ? hot.order.map((i) => core.detailRow(hot.handle, i).func) : new Uint32Array(0);
  }

  // Rows by their places in the order.
  hotRows(rows: Uint32Array, columns: Column[]): LineRow[] {
    const core = this.core, hot = this.hot;
    if (!hot) return [];
    return Array.from(rows.filter((k) => k < hot.order.length), (k) => {
      const i = hot.order[k]!;
      const row = core.detailRow(hot.handle, i);
      return {
        func: row.func === NONE ? null : this.name(row.func), file: core.string(row.file), fileNumber: row.file,
        line: Number(row.line), gone: row.toLine !== 0n, addr: row.addr,
        text: this.text(row.file, row.toLine ? Side.Old : Side.New, Number(row.line)),
        values: columns.map((c) => core.detailValues(hot.handle, this.form(c.event), c.side, i, 1)[0]!),
      };
    });
  }

  // For each event of a list: how many lines make half of it.
  halves(events: number[], side: Side): { lines: number; half: number[] } {
    const { handle, count } = this.core.detailOpen(Detail.Places, NONE, NONE, By.Line, events.map((e) => this.form(e)));
    try {
      return { lines: count, half: events.map((e) => this.core.detailOrder(handle, count, this.form(e), side).half) };
    } finally {
      this.core.detailPut(handle);
    }
  }

  // The hottest lines of an event, each with the lines around it, and none beside another: first those with a source, three without one at most.
  snippets(event: number, most: number): Snippet[] {
    const order = { event, side: Side.New, descending: true }, cell = [{ of: Of.Self, event, side: Side.New }];
    const whys = this.cycles < 0 ? [] : this.whyParts.map((part) => part.event);
    const { count } = this.hotLines(By.Line | By.Func, [event], order, { text: "", focus: NONE, hide: [] });
    const rows = this.hotRows(Uint32Array.from({ length: Math.min(count, LOOKED) }, (_, i) => i), cell);
    this.dropHot();
    const picked: LineRow[] = [];
    for (const known of [true, false])
      for (const r of rows) {
        if (picked.length >= (known ? most : 3)) break;
        if (r.line > 0 && r.fileNumber !== NONE && (r.text !== "") === known && r.values[0]!.approx > 0 &&
          !picked.some((p) => p.fileNumber === r.fileNumber && Math.abs(p.line - r.line) <= 2)) picked.push(r);
      }
    const costs = new Map<number, Map<number, Value[]>>();
    for (const { fileNumber } of picked)
      if (!costs.has(fileNumber)) costs.set(fileNumber, new Map(this.fileLines(fileNumber, NONE, [event, ...whys], Side.New).lines.map(
        (l) => [l.line, l.values.map((v) => v[Side.New]!)])));
    return picked.map((p) => ({
      func: p.func, file: p.file, line: p.line, value: costs.get(p.fileNumber)!.get(p.line)?.[0] ?? p.values[0]!,
      why: costs.get(p.fileNumber)!.get(p.line)?.slice(1) ?? [],
      lines: [-1, 0, 1].flatMap((by) => {
        const line = p.line + by, text = this.text(p.fileNumber, Side.New, line) || null;
        return line > 0 && (text !== null || by === 0)
          ? [{ line, text, value: costs.get(p.fileNumber)!.get(line)?.[0] ?? null }] : [];
      }),
    }));
  }

  // Files by their functions' self cost, the most expensive first.
  files(event: number, most: number): { name: string; value: Value }[] {
    const core = this.core, { items, of } = core.tree(GroupBy.File), none = new Uint32Array(0);
    const values = core.groups(this.form(event), Side.New, of, none, items.length);
    return values.map((_, i) => i).sort((a, b) => values[b]!.approx - values[a]!.approx).slice(0, most).map((i) => ({
      name: items[i]!.string === NONE ? "" : core.string(items[i]!.string), value: values[i]!,
    }));
  }

  // The number of a file's name, or NONE.
  fileOf(name: string): number {
    const found = this.core.stringOf(name);
    if (found !== NONE || !name.includes("\ufffd")) return found;
    // What was not UTF-8 is only equal once it is text.
    for (let s = 0; s < this.core.number(What.Strings); s++) if (this.core.string(s) === name) return s;
    return NONE;
  }

  // What a file (or NONE: the places without one) costs by line, and the calls from there: of all functions or of one.
  fileLines(file: number, func: number, events: number[], upTo: Side): {
    lines: { line: number; addr: bigint; func: number; values: Value[][] }[]; sites: Site[];
  } {
    const core = this.core, formulas = events.map((e) => this.form(e));
    const use = sides.filter((side) => side <= upTo);
    const at = this.detail(Detail.Places, func, file, By.Line, formulas, use);
    const calls = this.detail(Detail.Calls, func, file, By.Line | By.Func, formulas, use);
    return {
      lines: at.rows.map((row, i) => ({
        line: Number(row.line), addr: row.addr, func: row.func, values: at.values.map((e) => e.map((v) => v[i]!)),
      })),
      sites: calls.rows.map((row, i) => ({
        line: Number(row.line), addr: row.addr, func: this.name(row.func), callee: this.name(row.callee),
        calls: [...row.calls], cost: calls.values.map((e) => e.map((v) => v[i]!)),
      })),
    };
  }

  // Functions that have places in a file, with the lines they are in there: where inlined code comes from.
  fileFuncs(file: number): { line: number; func: Name }[] {
    const { rows } = this.detail(Detail.Places, NONE, file, By.Line | By.Func, [this.form(0)], []);
    const names = new Map<number, Name>();
    return rows.map((row) => {
      if (!names.has(row.func)) names.set(row.func, this.name(row.func));
      return { line: Number(row.line), func: names.get(row.func)! };
    });
  }

  // What functions cost in other files than their own: code that was inlined into them. By function, the most expensive
  // first.
  inlined(funcs: Uint32Array, events: number[], upTo: Side): { func: Name; file: string; values: Value[][] }[] {
    const core = this.core, formulas = events.map((e) => this.form(e)), use = sides.filter((side) => side <= upTo);
    return Array.from(funcs).flatMap((f) => {
      const { rows, values } = this.detail(Detail.Places, f, NONE, 0, formulas, use), own = core.func(f).file;
      return rows.map((row, i) => ({ file: row.file, values: values.map((e) => e.map((v) => v[i]!)) })).filter(
        ({ file }) => file !== NONE && file !== own).sort((a, b) =>
        Math.abs(b.values[0]![0]!.approx) - Math.abs(a.values[0]![0]!.approx)).map(({ file, values: v }) =>
        ({ func: this.name(f), file: core.string(file), values: v }));
    });
  }

  // A function's instructions: costs, the lines that they are of, calls, jumps.
  funcCode(func: number, events: number[], upTo: Side): {
    state: number; insns: Insn[]; at: { addr: bigint; values: Value[][] }[];
    lines: { addr: bigint; line: number; file: string }[]; sites: Site[]; jumps: Jump[];
  } {
    const core = this.core, formulas = events.map((e) => this.form(e)), use = sides.filter((side) => side <= upTo);
    const at = this.detail(Detail.Places, func, NONE, By.Addr, formulas, use);
    const lines = this.detail(Detail.Places, func, NONE, By.Addr | By.Line, [this.form(0)], []);
    const calls = this.detail(Detail.Calls, func, NONE, By.Addr | By.Func, formulas, use);
    const jumps = this.detail(Detail.Jumps, func, NONE, By.Addr, [], []);
    return {
      ...core.code(func),
      at: at.rows.map((row, i) => ({ addr: row.addr, values: at.values.map((e) => e.map((v) => v[i]!)) })),
      lines: lines.rows.map((row) => ({ addr: row.addr, line: Number(row.line), file: core.string(row.file) })),
      sites: calls.rows.map((row, i) => ({
        line: Number(row.line), addr: row.addr, func: this.name(row.func), callee: this.name(row.callee),
        calls: [...row.calls], cost: calls.values.map((e) => e.map((v) => v[i]!)),
      })),
      jumps: jumps.rows.map((row) => ({
        line: Number(row.line), addr: row.addr, toFunc: this.name(row.callee), toLine: Number(row.toLine),
        toAddr: row.toAddr, executed: [...row.calls], followed: [...row.followed],
      })),
    };
  }

  // The text of a file (a string's number) on a side, and where its two versions are equal.
  source(file: number, side: Side): Source { return this.core.source(file, side); }

  align(file: number): Uint32Array { return this.core.align(file); }

  flow(func: number): Flow { return this.core.flow(func); }

  // Places nodes of given sizes in layers.
  layers(nodes: { w: number; h: number }[], edges: { from: number; to: number; weight: number }[], gapX: number,
    gapY: number): ReturnType<Core["layered"]> {
    return this.core.layered(nodes, edges, gapX, gapY, new Uint32Array(nodes.length).fill(NONE), [], [0, 0, 0, 0]);
  }

  code(func: number): { state: number; insns: Insn[] } { return this.core.code(func); }

  func(f: number): Func { return this.core.func(f); }

  string(s: number): string { return this.core.string(s); }

  // ---- Pictures ----

  flame(event: number, side: Side, root: number, kind: Flame, limits: FlameLimits, most: number,
    filter: Filter | null = null): Stacks {
    const made = this.core.flame(this.form(event), side, root, kind, limits, most, filter && this.masked(filter));
    return { ...made, boxes: this.foldStacks(made.boxes, !!filter?.startup) };
  }

  // Consecutive start-up frames of a stack become the first of them. Boxes come after the ones that they are on.
  private foldStacks(boxes: FlameBox[], fold: boolean): Stack[] {
    const { mask, count } = this.startup(), out: Stack[] = [], to: number[] = [];
    for (const b of boxes) {
      const at = b.parent === NONE ? NONE : to[b.parent]!, below = at === NONE ? null : out[at]!;
      if (fold && count > 1 && below && mask[b.func] && mask[below.func]) {
        below.folded++;
        to.push(at);
        continue;
      }
      to.push(out.length);
      out.push({ ...b, parent: at, depth: below ? below.depth + 1 : 0, folded: 0 });
    }
    return out;
  }

  names(funcs: Uint32Array): Name[] { return Array.from(funcs, (f) => this.name(f)); }

  // Boxes in boxes. "structure": folders, files, functions, and lines of functions that are large enough; else callees
  // or callers of a function, as a flame graph has them.
  treemap(kind: string, event: number, side: Side, root: number, filter: Filter, w: number, h: number, upTo: Side):
    { boxes: MapBox[]; total: Value } {
    const use = upTo > Side.New ? [...sides, Side.Factor] : [];
    const core = this.core, formula = this.form(event), whole = core.total(formula, side);
    const total = kind === "structure" || root === NONE ? whole : core.values(formula, Of.Inclusive, side,
      Uint32Array.of(root))[0]!;
    // What has less than some pixels of area cannot be seen.
    let boxes = kind === "structure" ? this.structure(event, side, filter,
      total.approx / (w * h) * 6, use) : this.stacks(kind, event, side, root, use, { ...filter, text: "" });
    boxes = this.place(boxes, total.approx, w, h);
    if (kind === "structure") {
      this.addLines(boxes, event, side, use);
      boxes = this.place(boxes, total.approx, w, h);
    }
    const there = new Map<number, number>();
    boxes.forEach((b, i) => { if (b.w > 1.5 && b.h > 1.5) there.set(i, there.size); });
    return {
      total, boxes: boxes.filter((_, i) => there.has(i)).map((b) => {
        const name = b.func === NONE ? null : this.name(b.func);
        return { ...b, parent: there.get(b.parent) ?? NONE, name, label: name ? name.name || "???" : b.label };
      }),
    };
  }

  // Siblings by size, parents first: level by level.
  private place(boxes: MapBox[], whole: number, w: number, h: number): MapBox[] {
    const order = boxes.map((_, i) => i).sort((a, b) => boxes[a]!.depth - boxes[b]!.depth ||
      boxes[b]!.value - boxes[a]!.value);
    const to = new Uint32Array(boxes.length), sorted = order.map((i, k) => {
      to[i] = k;
      return boxes[i]!;
    });
    for (const b of sorted) if (b.parent !== NONE) b.parent = to[b.parent]!;
    const rects = this.core.nest(Float64Array.from(sorted, (b) => b.value), Uint32Array.from(sorted, (b) => b.parent),
      whole, w, h, 15, 1, 6);
    sorted.forEach((b, i) => { [b.x, b.y, b.w, b.h] = [rects[i * 4]!, rects[i * 4 + 1]!, rects[i * 4 + 2]!,
      rects[i * 4 + 3]!]; });
    return sorted;
  }

  private box(parent: number, depth: number, label: string, func: number, v: Value): MapBox {
    return {
      sides: [], parent, depth, label, func, name: null, file: "", line: 0, value: Math.max(0, v.approx), low: v.exact ?? 0n,
        high: v.exact ?? 0n,
      x: 0, y: 0, w: 0, h: 0,
    };
  }

  private structure(event: number, side: Side, filter: Filter, least: number, use: Side[]): MapBox[] {
    const { groups, of } = this.groups(GroupBy.Folder, filter, [side, ...use].map((s) => ({ of: Of.Self, event, side: s })));
    const at = new Map<number, number>(), boxes: MapBox[] = [];
    for (const g of groups) {
      const parent = g.parent === NONE ? NONE : at.get(g.parent)!;
      at.set(g.id, boxes.length);
      boxes.push({ ...this.box(parent, parent === NONE ? 0 : boxes[parent]!.depth + 1, g.label, NONE, g.values[0]!),
        sides: g.values.slice(1) });
    }
    const there = only(upTo(of.length), Uint8Array.from(of, (g) => g === NONE ? 0 : 1));
    const all = this.core.sort(there, { of: Of.Self, side, formula: this.form(event), descending: true }).slice(0, BOXES);
    // In batches, the most expensive first: functions too small to be visible are not requested.
    for (let first = 0, seen = true; seen && first < all.length; first += SOME) {
      const values = this.core.values(this.form(event), Of.Self, side, all.subarray(first, first + SOME));
      const some = all.subarray(first, first + values.filter((v) => v.approx > least).length);
      seen = some.length === values.length;
      const others = use.map((s) => this.core.values(this.form(event), Of.Self, s, some));
      some.forEach((f, i) => {
        const parent = at.get(of[f]!)!;
        boxes.push({ ...this.box(parent, boxes[parent]!.depth + 1, "", f, values[i]!), sides: others.map((v) => v[i]!) });
      });
    }
    return boxes;
  }

  private addLines(boxes: MapBox[], event: number, side: Side, use: Side[]): void {
    const large = boxes.map((_, i) => i).filter((i) => boxes[i]!.func !== NONE && boxes[i]!.w > 50 && boxes[i]!.h > 40);
    for (const i of large.slice(0, 60)) {
      const b = boxes[i]!, own = this.core.func(b.func).file;
      const { rows, values } = this.detail(Detail.Places, b.func, NONE, use.length ? By.Line | By.Align : By.Line,
        [this.form(event)], [side, ...use]);
      rows.forEach((row, k) => {
        const v = values[0]![0]![k]!, file = this.core.string(row.file);
        if (v.approx <= 0 || !row.line) return;
        const others = values[0]!.slice(1).map((of) => of[k]!);
        const box = this.box(i, b.depth + 1, (row.file !== own ? file.slice(file.lastIndexOf("/") + 1) + ":" : "") +
          row.line, NONE, v);
        boxes.push({ ...box, file, line: Number(row.line), sides: others });
      });
    }
  }

  private stacks(kind: string, event: number, side: Side, root: number, use: Side[], filter: Filter): MapBox[] {
    const flame = this.flame(event, side, root, kind === "callers" ? Flame.Up : Flame.Down,
      [1 / 2000, 0, 0, 0], 4000, filter);
    const funcs = Uint32Array.from(flame.boxes, (b) => b.func);
    const others = use.map((s) => this.core.values(this.form(event), Of.Inclusive, s, funcs));
    return flame.boxes.map((b, i) => ({
      ...this.box(b.parent, b.depth, "", b.func, { exact: null, approx: b.width * flame.total.approx }), low: b.low,
        high: b.high, sides: others.map((v) => v[i]!),
    }));
  }

  // Groups that frame nodes: by node its box, and the boxes. "cycle": of cycles that are opened.
  private boxes(by: string, nodes: { func: number; cycle: number }[], event: number, side: Side): {
    group: Uint32Array; boxes: GraphPicture["boxes"];
  } {
    const group = new Uint32Array(nodes.length).fill(NONE), boxes: GraphPicture["boxes"] = [], kind = graphGroups[by];
    if (kind === undefined) return { group, boxes };
    const core = this.core, { groups, of } = this.groups(kind, { text: "", focus: NONE, hide: [] },
      [{ of: Of.Self, event, side }]), at = new Map<number, number>(), rows = new Map(groups.map((g) => [g.id, g]));
    const label = (g: GroupRow): string => g.parent === NONE || kind !== GroupBy.Namespace ? g.label
      : label(rows.get(g.parent)!) + "::" + g.label;
    // A folded cycle is in a box when all its functions are.
    const cycles = new Map<number, number>();
    if (nodes.some((n) => n.cycle)) this.array(3).forEach((cycle, f) => {
      if (cycle) cycles.set(cycle, (cycles.get(cycle) ?? of[f]!) === of[f]! ? of[f]! : NONE);
    });
    nodes.forEach((n, i) => {
      const id = n.cycle ? cycles.get(n.cycle)! : n.func < core.number(What.Funcs) ? of[n.func]! : NONE,
        g = rows.get(id);
      if (!g || g.label === "???") return;
      if (!at.has(id)) {
        at.set(id, boxes.length);
        const full = label(g);
        boxes.push({ full, label: kind === GroupBy.Namespace ? full : full.slice(full.lastIndexOf("/") + 1) || full,
          funcs: g.funcs, self: g.values[0]!, x: 0, y: 0, w: 0, h: 0 });
      }
      group[i] = at.get(id)!;
    });
    return { group, boxes };
  }

  // What the functions of folded cycles cost themselves, and who they are: by number of the cycle.
  private folded(event: number, nodes: { cycle: number }[], use: Side[]): Map<number, { self: Value[];
    members: string[] }> {
    const core = this.core, out = new Map<number, { self: Value[]; members: string[] }>();
    const numbers = [...new Set(nodes.map((n) => n.cycle).filter(Boolean))];
    if (!numbers.length) return out;
    const place = new Map(numbers.map((n, i) => [n, i])), members: string[][] = numbers.map(() => []),
      name = this.array(2);
    const of = Uint32Array.from(this.array(3), (cycle, f) => {
      const i = place.get(cycle);
      if (i !== undefined) members[i]!.push(this.short(name[f]!, core.string(name[f]!)));
      return i ?? NONE;
    });
    const sums = use.map((side) => core.groups(this.form(event), side, of, new Uint32Array(0), numbers.length));
    numbers.forEach((n, i) => out.set(n, { self: sums.map((v) => v[i]!), members: members[i]! }));
    return out;
  }

  // What a filter leaves, without start-up frames, unless one of them is the function.
  private program(filter: Filter, func: number): Uint8Array | null {
    const mask = this.masked(filter), { mask: frames, count } = this.startup();
    if (!filter.startup || !count || count === frames.length || (func !== NONE && frames[func])) return mask;
    return frames.map((is, f) => is ? 0 : mask ? mask[f]! : 1);
  }

  // Calls by other callers, where these are start-up frames only.
  private dropCallers(g: ReturnType<Core["graph"]>): void {
    const others = g.nodes.findIndex((n) => n.func === ABOVE), { mask, count } = this.startup();
    if (others < 0 || !count) return;
    const first = this.array(9), edgeOf = this.array(10), callers = this.array(6), there = new Set(g.nodes.map((n) => n.func));
    g.edges = g.edges.filter((e) => {
      const f = g.nodes[e.to]!.func;
      if (e.from !== others || f >= mask.length) return true;
      for (let i = first[f]!; i < first[f + 1]!; i++) {
        const caller = callers[edgeOf[i]!]!;
        if (!mask[caller] && !there.has(caller)) return true;
      }
      return first[f] === first[f + 1];
    });
    if (g.edges.some((e) => e.from === others || e.to === others)) return;
    g.nodes.splice(others, 1);
    for (const e of g.edges) {
      if (e.from > others) e.from--;
      if (e.to > others) e.to--;
    }
  }

  // A call graph around a function or (NONE) of all, laid out. Costs of nodes on all sides.
  // `way`: where callers are, "left", "below" or else above. `fold`: cycles of so many functions are one node; `by`: groups that are framed.
  graph(event: number, side: Side, focus: number, up: number, down: number, least: number, leastCall: number,
    most: number, filter: Filter, upTo: Side, way = "", fold = 0, by = ""):
    GraphPicture {
    const core = this.core, formula = this.form(event), total = Math.abs(core.total(formula,
      side === Side.Difference ? Side.New : side).approx);
    const g = core.graph({
      formula, side, focus, up, down, leastNode: least * total, leastEdge: leastCall * total, most,
        mask: this.program(filter, focus), fold,
    });
    if (filter.startup) this.dropCallers(g);
    // The most expensive calls come first, and only these are drawn.
    const drawn = Math.max(60, g.nodes.length * 3), notDrawn = Math.max(0, g.edges.length - drawn);
    g.edges.length = Math.min(g.edges.length, drawn);
    const use = sides.filter((s) => s <= upTo), all = core.number(What.Funcs),
      cycles = this.folded(event, g.nodes, use);
    const nodes = g.nodes.map((n) => {
      const of = n.func < all, values = (what: Of): Value[] => of ? use.map((s) => core.values(formula, what, s,
        Uint32Array.of(n.func))[0]!) : [], cycle = cycles.get(n.cycle);
      return {
        name: of ? this.name(n.func) : null, depth: n.depth, above: n.func === ABOVE, cycle: n.cycle,
        members: cycle?.members ?? [], self: cycle?.self ?? values(Of.Self), inclusive: values(Of.Inclusive),
        x: 0, y: 0, w: 0,
      };
    });
    // Pixels of a name and of two shares.
    for (const n of nodes) n.w = Math.min(30, Math.max(17, n.cycle ? 26 : n.name?.name.length ?? 0)) * 7 + 16;
    // The core lays out layers one below the other: other ways are turned from that. A box has its label above.
    const left = way === "left", { group, boxes } = this.boxes(by, g.nodes, event, side);
    const laid = core.layered(nodes.map((n) => left ? { w: 40, h: n.w } : { w: n.w, h: 40 }),
      g.edges.map((e) => ({ from: e.from, to: e.to, weight: Math.max(1,
        Math.abs(e.value.approx) / Math.max(1, total) * 10) })), 24, 60, group, boxes.map((b) => {
        const w = Math.min(40, b.label.length + 10) * 7;
        return left ? { w: 0, h: w } : { w, h: 0 };
      }), left ? [24, 10, 10, 10] : way === "below" ? [10, 10, 10, 24] : [10, 24, 10, 10]);
    const both = (edge: number, of: number, what: Of): Value[] => upTo === Side.New || edge >= core.number(What.Edges) ? []
      : sides.map((s) => core.values(of, what, s, Uint32Array.of(edge))[0]!);
    const turned = (x: number, y: number): [number, number] =>
      left ? [y, x] : way === "below" ? [x, laid.height - y] : [x, y];
    return {
      nodes: nodes.map((n, i) => {
        const [x, y] = turned(laid.nodes[i]!.x, laid.nodes[i]!.y);
        return { ...n, x, y };
      }),
      boxes: boxes.map((b, i) => {
        const { x, y, w, h } = laid.boxes[i]!;
        if (left) return { ...b, x: y, y: x, w: h, h: w };
        return { ...b, x, y: way === "below" ? laid.height - y - h : y, w, h };
      }),
      edges: g.edges.map((e, i) => ({ from: e.from, to: e.to, calls: e.calls, value: e.value,
        calledOn: both(e.edge, 0, Of.Calls), costOn: both(e.edge, formula, Of.Edge),
        points: laid.edges[i]!.map(([x, y]) => turned(x, y)) })),
      width: left ? laid.height : laid.width, height: left ? laid.width : laid.height, leftOut: g.leftOut, notDrawn, crossings: laid.crossings,
    };
  }
}
