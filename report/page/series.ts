// SPDX-License-Identifier: MIT
//
// The runs of a series: the cost of each function in each run. The core has one selection of parts, so every run is
// selected once and its values are stored; then the user's selection applies again. Everything here runs in the
// worker.
import { Core, Of, Side, What } from "./core";
import type { Value } from "./core";

const KEPT = 4;         // columns (a cost in an event) of all runs: 17 bytes for each function and run
const CHUNK = 1 << 16;  // functions per request

// The values of all functions. Most fit 64 bits; `wide` has the exact values of the others.
class Kept {
  private readonly approx: Float64Array;
  private readonly narrow: BigInt64Array;
  private readonly kind: Uint8Array; // 0: narrow, 1: not exact, 2: wide
  private readonly wide = new Map<number, bigint>();

  constructor(count: number) {
    this.approx = new Float64Array(count);
    this.narrow = new BigInt64Array(count);
    this.kind = new Uint8Array(count);
  }

  set(i: number, v: Value): void {
    this.approx[i] = v.approx;
    if (v.exact === null) {
      this.kind[i] = 1;
    } else if (BigInt.asIntN(64, v.exact) === v.exact) {
      this.narrow[i] = v.exact;
    } else {
      this.kind[i] = 2;
      this.wide.set(i, v.exact);
    }
  }

  get(i: number): Value {
    const kind = this.kind[i]!;
    return { exact: kind === 0 ? this.narrow[i]! : kind === 1 ? null : this.wide.get(i)!, approx: this.approx[i]! };
  }

  // Below, equal to or above zero: the order of this value and the other.
  compare(i: number, other: Kept, k: number): number {
    const rough = this.approx[i]! - other.approx[k]!;
    if (Math.abs(rough) > Math.abs(this.approx[i]!) * 1e-9) return rough;
    const a = this.get(i).exact, b = other.get(k).exact;
    return a === null || b === null ? rough : a < b ? -1 : a > b ? 1 : 0;
  }
}

interface Column { runs: Kept[] }

export interface Run { name: string; parts: number[] }
// The sort key of a table: a run's number, or the difference between the last and the first.
export type By = number | "difference";

export function difference(last: Value | undefined, first: Value | undefined, scale: number): Value | undefined {
  if (!last || !first) return undefined;
  if (last.exact === null || first.exact === null) return { exact: null, approx: last.approx - first.approx };
  const exact = last.exact - first.exact;
  return { exact, approx: Number(exact) / scale };
}

export class Series {
  readonly runs: Run[] = [];
  private readonly kept = new Map<string, Column>();
  private selected: boolean[];

  constructor(private readonly core: Core) {
    let next = 0;
    for (const text of core.facts("run")) {
      const space = text.indexOf(" "), count = Number(text.slice(0, space));
      this.runs.push({ name: text.slice(space + 1), parts: Array.from({ length: count }, () => next++) });
    }
    if (next > core.number(What.Parts)) this.runs.length = 0;
    this.selected = Array.from({ length: core.number(What.Parts) }, () => true);
  }

  // The selected parts.
  select(parts: boolean[]): void {
    this.selected = parts;
    this.kept.clear();
  }

  // Selects each run alone. `changed` is called when the core has dropped its cached columns.
  private each<T>(changed: () => void, ask: () => T): T[] {
    try {
      return this.runs.map(({ parts }) => {
        const own = new Set(parts);
        this.core.choose(this.selected.map((is, i) => is && own.has(i)));
        return ask();
      });
    } finally {
      this.core.choose(this.selected);
      changed();
    }
  }

  // What the program costs, by event (a formula) and run.
  totals(formulas: number[], changed: () => void): Value[][] {
    const by = this.each(changed, () => formulas.map((formula) => this.core.total(formula, Side.New)));
    return formulas.map((_, e) => by.map((run) => run[e]!));
  }

  column(of: Of, formula: number, changed: () => void): Column {
    const key = of + "," + formula, { core } = this;
    let column = this.kept.get(key);
    if (column) return column;
    const all = core.number(What.Funcs), index = Uint32Array.from({ length: Math.min(all, CHUNK) }, (_, i) => i);
    column = { runs: this.each(changed, () => {
      const run = new Kept(all);
      for (let first = 0; first < all; first += CHUNK) {
        const some = index.slice(0, Math.min(CHUNK, all - first)).map((i) => i + first);
        core.values(formula, of, Side.New, some).forEach((v, i) => run.set(first + i, v));
      }
      return run;
    }) };
    for (const oldest of this.kept.keys()) if (this.kept.size >= KEPT) this.kept.delete(oldest);
    this.kept.set(key, column);
    return column;
  }

  // The functions `rows`, the largest first or last; the sort is stable.
  sort(column: Column, scale: number, rows: Uint32Array, by: By, descending: boolean): Uint32Array {
    const sign = descending ? -1 : 1, last = column.runs[column.runs.length - 1]!, first = column.runs[0]!;
    if (by !== "difference") {
      const run = column.runs[by] ?? first;
      return rows.slice().sort((a, b) => sign * run.compare(a, run, b));
    }
    const change = new Kept(this.core.number(What.Funcs));
    for (const f of rows) change.set(f, difference(last.get(f), first.get(f), scale)!);
    return rows.slice().sort((a, b) => sign * change.compare(a, change, b));
  }
}
