// SPDX-License-Identifier: MIT
//
// What `quern run --curve=yes` has written into the header of a profile: misses as of the size of a cache, and how the lines that
// were touched grew.
import type { PartInfo } from "./core";

const KEY = "Curve ";

export interface Line { name: string; misses: number[] }
export interface Curve {
  sample: number;                            // one line in so many was followed
  sizes: number[];                           // bytes
  lines: Line[];                             // D1 reads, D1 writes, I1, LL
  machine: { name: string; size: number }[]; // its caches
  line: number;                              // bytes of a line
  growth: { data: number[]; code: number[] } | null; // by the end of each of equal pieces of the run
}

// The other lines of a header, without the walks, fields, blocks, use and sharing of a profile of the data, of which there may be thousands.
export function withoutCurve(descs: string[]): string[] {
  return descs.filter((desc) => !desc.startsWith(KEY) && !/^(Walk|Walk at|Field|Blocks|Sharing|Sharing order|Use|Use sample): /.test(desc));
}

function numbers(descs: string[], name: string): number[] {
  const found = descs.find((desc) => desc.startsWith(KEY + name + ":"));
  const all = found ? found.slice(KEY.length + name.length + 1).trim().split(" ").filter(Boolean).map(Number) : [];
  return all.every((n) => n >= 0 && Number.isFinite(n)) ? all : [];
}

function machineOf(descs: string[]): Curve["machine"] {
  return descs.flatMap((desc) => {
    const found = /^(\w+) cache:\s+(\d+) B/.exec(desc);
    return found ? [{ name: found[1]!, size: Number(found[2]) }] : [];
  });
}

function growthOf(descs: string[]): Curve["growth"] {
  const data = numbers(descs, "lines of data"), code = numbers(descs, "lines of code");
  if (!data.length || data.length !== code.length) return null;
  return { data, code };
}

function sum(parts: PartInfo[], sizes: number[], names: string[]): number[] {
  return sizes.map((_, i) => parts.reduce((all, part) =>
    all + names.reduce((n, name) => n + (numbers(part.descs, name)[i] ?? 0), 0), 0));
}

// Of these parts, each a process, a thread or a dump: misses add up, the growth is told of a single one. null: none has a curve.
export function curveOf(parts: PartInfo[]): Curve | null {
  const have = parts.filter((part) => numbers(part.descs, "sizes").length > 1), first = have[0];
  if (!first) return null;
  const sizes = numbers(first.descs, "sizes"), line = /, (\d+) B,/.exec(first.descs.find((desc) => desc.startsWith("LL cache:")) ?? "");
  const lines = ([["D1 reads", ["D1mr"]], ["D1 writes", ["D1mw"]], ["I1", ["I1mr"]], ["LL", ["DLmr", "DLmw", "ILmr"]]] as const)
    .map(([name, of]) => ({ name, misses: sum(have, sizes, [...of]) }));
  return {
    sample: numbers(first.descs, "sample")[0] ?? 1, sizes, lines, machine: machineOf(first.descs), line: line ? Number(line[1]) : 64,
    growth: have.length === 1 ? growthOf(first.descs) : null,
  };
}
