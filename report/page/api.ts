// SPDX-License-Identifier: MIT
//
// What views ask the worker for: answers as large as a screen, already as text and numbers. Each method is a request; its
// result is copied to the page.
import { Core, Detail, NONE, Of, Side, What } from "./core";
import type { EventInfo, Flame, FlameBox, Func, Insn, PartInfo, Source, Value } from "./core";

export interface Summary {
  title: string; profiles: string[]; base: string[]; remarks: string[]; leftOut: string[]; generator: string;
  has: number; funcs: number; edges: number; order: number;
  events: (EventInfo & { scale: number; ratio: boolean; total: Value[] })[]; // totals: profile, base, difference
  parts: PartInfo[];
}

export interface Row {
  func: number; object: string; file: string; name: string; cycle: [number, number];
  called: Value[];      // by side
  self: Value[][];      // by event, side
  inclusive: Value[][]; // by event, side
}

export interface Edge { caller: number; callee: number; calls: Value[]; cost: Value[][] }

export interface Line { func: number; file: string; line: bigint; addr: bigint; self: Value[][] }

const sides = [Side.New, Side.Old, Side.Difference];

export class Api {
  private readonly formulas: number[] = []; // by event; 0: not usable

  constructor(private readonly core: Core) {
    for (let e = 0; e < core.number(What.AllEvents); e++)
      this.formulas.push(core.event(e).usable ? core.formulaOf(e) : 0);
  }

  summary(): Summary {
    const core = this.core;
    return {
      title: core.facts("title")[0] ?? "", profiles: core.facts("profile"), base: core.facts("base"),
      remarks: core.facts("remark"), leftOut: core.facts("left-out"), generator: core.facts("generator")[0] ?? "",
      has: core.number(What.Has), funcs: core.number(What.Funcs), edges: core.number(What.Edges),
      order: core.number(What.Order),
      events: this.formulas.map((formula, e) => ({
        ...core.event(e), ...(formula ? core.formulaKind(formula) : { scale: 1, ratio: false }),
        total: formula ? sides.map((side) => core.total(formula, side)) : [],
      })),
      parts: Array.from({ length: core.number(What.Parts) }, (_, i) => core.part(i)),
    };
  }

  // The functions that can be shown: all, or before everything is loaded the dearest.
  shown(): number { return this.core.number(this.core.number(What.Linked) ? What.Funcs : What.Top); }

  // Functions sorted by a value; their numbers.
  sorted(event: number, of: Of, side: Side, text: string, fields: number): Uint32Array {
    let rows = Uint32Array.from({ length: this.shown() }, (_, i) => i);
    if (text) {
      const mask = this.core.match(text, fields);
      rows = rows.filter((f) => mask[f] === 1);
    }
    return this.core.sort(rows, { of, side, formula: this.formulas[event]!, descending: true });
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

  edges(first: number, count: number): Edge[] {
    const core = this.core;
    const index = Uint32Array.from({ length: Math.min(count, core.number(What.Edges) - first) }, (_, i) => first + i);
    const callers = core.array(6, core.number(What.Edges)), callees = core.array(7, core.number(What.Edges));
    const calls = sides.map((side) => core.values(0, Of.Calls, side, index));
    const cost = this.formulas.map((formula) =>
      formula ? sides.map((side) => core.values(formula, Of.Edge, side, index)) : []);
    return Array.from(index, (e, i) => ({
      caller: callers[e]!, callee: callees[e]!, calls: calls.map((v) => v[i]!),
      cost: cost.map((x) => x.map((v) => v[i]!)),
    }));
  }

  // Self costs by line and instruction, of one function or (NONE) of all, told apart as `by` says.
  lines(func: number, by: number): Line[] {
    const usable = this.formulas.filter((formula) => formula !== 0);
    const all = sides.map((side) => this.core.detail(Detail.Places, func, NONE, by, usable, side));
    return all[0]!.rows.map((row, i) => ({
      func: row.func, file: this.core.string(row.file), line: row.line, addr: row.addr,
      self: usable.map((_, e) => all.map((side) => side.values[e]![i]!)),
    }));
  }

  // The text of a file (a string's number) on a side, and where its two versions are equal.
  source(file: number, side: Side): Source { return this.core.source(file, side); }

  align(file: number): Uint32Array { return this.core.align(file); }

  code(func: number): { state: number; insns: Insn[] } { return this.core.code(func); }

  func(f: number): Func { return this.core.func(f); }

  string(s: number): string { return this.core.string(s); }

  // Functions on the way to (callers) or from one, the nearest first.
  reach(func: number, callers: boolean, side: Side): { funcs: Uint32Array; distance: Uint32Array } {
    return this.core.reach(func, callers, side);
  }

  flame(event: number, side: Side, root: number, kind: Flame, least: number, most: number):
    { boxes: FlameBox[]; total: Value } {
    return this.core.flame(this.formulas[event]!, side, root, kind, least, most);
  }
}
