// SPDX-License-Identifier: MIT
//
// The profile of the data in a report (docs/report-format.md): objects, the places in them, the lines that miss in them, walks,
// advice. All of it is input: what is not as it should be is an error, and text is only ever set as text.
import type { Value } from "./core";
import { decode, inflate } from "./file";

export interface Walk { how: string; count: bigint; steps: bigint }
// A place in an object (func -1), or a line of the code that misses in it. Counts by side (profile, base), event.
export interface Miss { object: DataObject; func: number; file: string; line: number; at: bigint; name: string; walk: Walk | null; counts: bigint[][] }
export interface Rest { n: number; counts: bigint[][] }
export interface DataObject {
  id: number; key: string; // number, and hash of its names
  name: string; file: string; module: string; line: number;
  walk: [Walk | null, Walk | null]; counts: bigint[][];
  blocks: (bigint[] | null)[]; // of an allocation, by side: blocks, bytes, bytes when they were most
  use: (Use | null)[];         // by side
  places: Miss[]; morePlaces: Rest; misses: Miss[]; moreMisses: Rest;
}
export interface DataFunc { name: string; file: string; object: string; func: number } // func: of the report, or -1
export interface Advice { text: string; object: DataObject | null; func: number; file: string; line: number }
// Of lines that were fetched and followed, the bytes that were used.
export interface Use { lines: number; bytes: number }
// Two references of threads to one line, either of which has invalidated it for the other.
export interface Side { object: DataObject | null; place: string; writes: boolean; func: string; file: string; line: number }
export interface Pair { same: boolean; invalidations: bigint; most: bigint; sides: [Side, Side] }
export interface Data {
  files: string[]; events: { name: string; scale: number }[]; addresses: boolean; total: bigint[][];
  line: number; oneIn: number; // bytes of a line; of so many fetched ones one was followed
  objects: DataObject[]; left: Rest; funcs: DataFunc[]; advice: Advice[]; pairs: Pair[]; serialized: boolean;
  byFunc: Map<number, Miss[]>; byLine: Map<string, Miss[]>; // by function of the report; by "file:line"
}

export const BLOCKS = ["Blocks", "Bytes", "Bytes at most"] as const;

type Raw = unknown[];

function bad(): never { throw new Error("its form is not known"); }
function list(v: unknown): Raw { return Array.isArray(v) ? v as Raw : bad(); }
function int(v: unknown): number { return typeof v === "number" && Number.isFinite(v) ? v : bad(); }
function text(v: unknown): string { return typeof v === "string" ? v : bad(); }
function big(v: unknown): bigint { return typeof v === "number" || typeof v === "string" ? BigInt(v) : bad(); }

// FNV-1a, as in groups.ts: an object keeps its address in the next report.
function hash(s: string): string {
  let x = 0x811c9dc5;
  for (let i = 0; i < s.length; i++) x = Math.imul(x ^ s.charCodeAt(i), 0x01000193);
  return (x >>> 0).toString(36);
}

// Of both sides; of one, the other is zero.
function counts(v: unknown, events: number): bigint[][] {
  const sides = list(v).map((side) => text(side).split(" ").filter(Boolean).map(BigInt));
  if (!sides.length || sides.some((side) => side.length !== events)) bad();
  return [sides[0]!, sides[1] ?? sides[0]!.map(() => 0n)];
}

function walk(v: unknown): Walk | null {
  if (v === 0) return null;
  const [how, count, steps] = list(v);
  return { how: text(how), count: big(count), steps: big(steps) };
}

function blocksOf(v: unknown): bigint[] | null {
  if (v === 0) return null;
  const n = text(v).split(" ").map(BigInt);
  return n.length === BLOCKS.length ? n : bad();
}

function useOf(v: unknown): Use | null {
  if (v === 0) return null;
  const [lines, bytes] = text(v).split(" ").map(Number);
  return lines! > 0 && bytes! >= 0 ? { lines: lines!, bytes: bytes! } : bad();
}

export function parse(json: string): Data {
  const raw = JSON.parse(json) as Record<string, unknown>;
  const strings = list(raw["strings"]).map(text), events = list(raw["events"]).map((e) => {
    const [name, scale] = list(e);
    return { name: text(name), scale: int(scale) };
  });
  const string = (v: unknown): string => int(v) ? strings[int(v) - 1] ?? bad() : "";
  const rest = (n: unknown, c: unknown): Rest => ({ n: int(n), counts: counts(c, events.length) });
  const funcs = list(raw["funcs"]).map((f): DataFunc => {
    const [name, file, object, func] = list(f);
    return { name: string(name), file: string(file), object: string(object), func: int(func) };
  });
  const row = (object: DataObject, v: unknown): Miss => {
    const [func, file, line, at, w, ...c] = list(v);
    if (int(func) >= funcs.length) bad();
    return { object, func: int(func), file: string(file), line: int(line), at: big(at), name: typeof w === "string" ? w : "",
      walk: typeof w === "string" ? null : walk(w), counts: counts(c, events.length) };
  };
  const used = new Map<string, number>();
  const objects = list(raw["objects"]).map((o, id): DataObject => {
    const [name, file, module, line, now, old, c, places, n, more, misses, m, moreMisses, blocks, oldBlocks, use, oldUse] = list(o);
    const names = [string(name) || "???", string(file), string(module)] as const, key = hash(names.join("\0")), again = used.get(key) ?? 0;
    used.set(key, again + 1);
    const object: DataObject = {
      id, key: again ? key + "-" + again : key, name: names[0], file: names[1], module: names[2], line: int(line),
      blocks: [blocksOf(blocks), blocksOf(oldBlocks)], use: [useOf(use), useOf(oldUse)], walk: [walk(now), walk(old)], counts: counts(c, events.length), places: [], misses: [], morePlaces: rest(n, more), moreMisses: rest(m, moreMisses),
    };
    object.places = list(places).map((v) => row(object, v));
    object.misses = list(misses).map((v) => row(object, v));
    return object;
  });
  const byFunc = new Map<number, Miss[]>(), byLine = new Map<string, Miss[]>();
  const add = <K>(map: Map<K, Miss[]>, k: K, miss: Miss): void => {
    const all = map.get(k);
    if (all) all.push(miss);
    else map.set(k, [miss]);
  };
  for (const object of objects)
    for (const miss of object.misses) {
      add(byFunc, funcs[miss.func]!.func, miss);
      add(byLine, miss.file + ":" + miss.line, miss);
    }
  byFunc.delete(-1);
  const sideOf = (v: unknown): Side => {
    const [object, place, writes, func, file, line] = list(v);
    return { object: objects[int(object)] ?? null, place: text(place), writes: writes === 1, func: text(func), file: text(file), line: int(line) };
  };
  const [n, ...left] = list(raw["left"]), [line, oneIn] = list(raw["use"]).map(int);
  return {
    files: list(raw["files"]).map(text), events, addresses: raw["addresses"] === 1, total: counts(raw["total"], events.length),
    line: line ?? bad(), oneIn: oneIn ?? bad(), objects, left: rest(n, left), funcs, byFunc, byLine, serialized: raw["serialized"] === 1,
    pairs: list(raw["sharing"]).map((p): Pair => {
      const [same, invalidations, most, one, two] = list(p);
      return { same: same === 1, invalidations: big(invalidations), most: big(most), sides: [sideOf(one), sideOf(two)] };
    }),
    advice: list(raw["advice"]).map((a) => {
      const [said, object, func, file, line] = list(a);
      return { text: text(said), object: objects[int(object)] ?? null, func: funcs[int(func)]?.func ?? -1, file: string(file), line: int(line) };
    }),
  };
}

// That of this file; null: there is none.
export async function read(): Promise<Data | null> {
  const e = document.getElementById("quern-data");
  if (!e) return null;
  const bytes = await inflate(decode(e.textContent!.trim()));
  if (bytes.length !== Number(e.dataset["size"])) throw new Error("it has another size than it says");
  e.remove(); // frees its text
  return parse(new TextDecoder().decode(bytes));
}

// ---- Numbers ----

// New, old, difference, factor, in the order of Side.
export function values(counts: bigint[][], event: number): Value[] {
  const of = (v: bigint): Value => ({ exact: v, approx: Number(v) }), now = counts[0]![event]!, old = counts[1]![event]!;
  return [of(now), of(old), of(now - old), { exact: null, approx: old ? Number(now) / Number(old) : NaN }];
}

// The events that count what misses D1, or the first one.
export function weighed(data: Data): number[] {
  const d1 = data.events.flatMap((e, i) => e.name.startsWith("D1m") ? [i] : []);
  return d1.length ? d1 : [0];
}

export function weight(data: Data, counts: bigint[][], side = 0): number {
  return weighed(data).reduce((sum, e) => sum + Number(counts[side]![e] ?? 0n), 0);
}

// "12.5": bytes of a line on average, to a tenth.
export function used(u: Use): string {
  return String(Math.round(u.bytes * 10 / u.lines) / 10);
}

// "stride 5,600, 99 %": the share is rounded down, as `quern annotate` does.
export function walked(w: Walk): string {
  const share = w.steps ? w.count * 100n / w.steps : 0n;
  return w.how.replace(/\d+/, (n) => BigInt(n).toLocaleString("en")) + ", " + share + " %";
}
