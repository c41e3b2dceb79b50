// SPDX-License-Identifier: MIT
//
// Objects of the data: which of them miss, as a table and as a treemap; of one object its places, and the lines that miss in it.
import { Side } from "./core";
import type { Value } from "./core";
import type { Name } from "./api";
import { sideNames } from "./app";
import type { App, Shown, View } from "./app";
import { BLOCKS, used, values, walked, weighed, weight } from "./data";
import type { Data, DataObject, Miss, Pair, Rest, Side as Touch, Walk } from "./data";
import { base, button, clip, h, number, percent } from "./element";
import { regex } from "./pattern";
import { Picture } from "./picture";
import { zoomOf } from "./state";
import { squarify } from "./squarify";
import { Table } from "./table";
import type { Column, Row } from "./table";

const HIGH = 560; // of the treemap, pixels
const BOXES = 500;
const PARTS = 40; // of the bar
const WIDE = 10;  // columns of numbers that fit beside names

// ---- Names and links ----

export function objectLink(app: App, o: DataObject, main = false): HTMLElement {
  const a = h("a", { href: app.href({ v: "data", ob: o.key }), title: o.name + (o.file ? " (" + o.file + ")" : "") +
    (o.module ? " [" + o.module + "]" : ""), class: main ? "main" : null, "data-object": o.id }, h("bdi", {}, clip(o.name)));
  if (clip(o.name) !== o.name) (a.firstChild as HTMLElement).dataset["full"] = o.name;
  return a;
}

function objectNamed(app: App, o: DataObject): HTMLElement {
  const where = [o.file && base(o.file) + (o.line ? ":" + o.line : ""), o.module && base(o.module)].filter(Boolean).join(", ");
  return h("span", { class: "named" }, objectLink(app, o, true), where ? h("bdi", { class: "where" }, clip(where)) : null);
}

// The name of a field, else its offset or line.
function placeText(data: Data, miss: Miss): string {
  return miss.name ? clip(miss.name) : data.addresses ? "+0x" + miss.at.toString(16) : miss.line ? (miss.file ? base(miss.file) : "line") + ":" + miss.line : "the object";
}

function walkText(w: Walk): HTMLElement { return h("bdi", { class: "walk" }, walked(w)); }

// ---- Columns: each event on all sides, with its share ----

class Counts {
  readonly columns: Column[] = [];

  // `whole`: by event, what the shares are of.
  constructor(private readonly app: App, private readonly data: Data, private readonly whole: bigint[], of: string, sort: boolean) {
    const named = (side: Side): string => this.both ? ", " + sideNames[side] : "";
    data.events.forEach(({ name }, e) => {
      for (const side of this.sides)
        this.columns.push({ id: e + "." + side, title: name + named(side), ...(sort ? { sort: e + "." + side } : {}) });
      this.columns.push({ id: e + ".share", title: "%", tip: "of " + name + " of " + of });
    });
  }

  private get both(): boolean { return this.data.files.length > 1; }
  private get sides(): Side[] { return this.both ? [Side.Old, Side.New, Side.Difference] : [Side.New]; }

  row(counts: bigint[][], id: string): { cells: (Node | string | null)[]; of: string[] } {
    const cells: (Node | string | null)[] = [], of: string[] = [];
    this.data.events.forEach(({ scale }, e) => {
      const v = values(counts, e);
      for (const side of this.sides) {
        cells.push(this.app.text(side, v, scale));
        of.push(["data", e, side, id].join(":"));
      }
      cells.push(this.app.shareOf(v[0]!.approx, Number(this.whole[e])));
      of.push("");
    });
    return { cells, of };
  }
}

// Names come after the numbers; before them where they would not be visible.
function lay<T>(data: Data, numbers: T[], [name, ...more]: T[]): T[] {
  return data.files.length > 1 || numbers.length > WIDE || matchMedia("(max-width: 40rem)").matches ? [name!, ...numbers, ...more] : [...numbers, ...more, name!];
}

// What is beyond the limits of a file.
function restRow(data: Data, count: Counts, rest: Rest, what: string, more: number, blank = 0): Row[] {
  if (!rest.n) return [];
  const row = count.row(rest.counts, "rest"), blanks = Array.from({ length: blank }, () => null), text = h("span", {}, rest.n.toLocaleString("en") + " " + what);
  return [{ cells: lay<Node | string | null>(data, [...row.cells, ...blanks], [text, ...Array.from({ length: more }, () => null)]),
    of: lay(data, [...row.of, ...blanks.map(() => "")], Array.from({ length: more + 1 }, () => "")) }];
}

async function showRows(table: Table, rows: Row[]): Promise<void> {
  await table.show({ count: rows.length, load: (first, count) => Promise.resolve(rows.slice(first, first + count)) });
}

// ---- Advice ----

export function adviceList(app: App, data: Data, of: DataObject | null = null): HTMLElement | null {
  const all = data.advice.filter((a) => !of || a.object === of);
  return all.length ? h("ul", { class: "advice" }, ...all.map((a) => h("li", {}, h("bdi", {}, a.text), " ",
    a.object && !of ? objectLink(app, a.object) : null, " ", a.file && a.line ? h("a",
      { href: app.href({ v: "source", w: a.file, l: String(a.line) }) }, h("bdi", {}, base(a.file) + ":" + a.line)) : null))) : null;
}

// ---- Lines that threads share ----

function touchNode(app: App, t: Touch, of: DataObject | null): HTMLElement {
  const at = (t.file ? base(t.file) : "???") + ":" + (t.line || "?");
  return h("span", { class: "named" }, t.object && t.object !== of ? objectLink(app, t.object) : null, " ", h("b", {}, h("bdi", {}, clip(t.place))),
    t.writes ? " written by " : " read by ", h("bdi", {}, clip(t.func)), " ",
    t.file && t.line ? h("a", { href: app.href({ v: "source", w: t.file, l: String(t.line) }) }, h("bdi", {}, at)) : h("bdi", {}, at));
}

// Those of an object, or all. Null: there are none.
async function sharedLines(app: App, data: Data, of: DataObject | null): Promise<HTMLElement | null> {
  const pairs = data.pairs.filter((p) => !of || p.sides.some((t) => t.object === of));
  if (!pairs.length) return null;
  const table = new Table({ label: "Lines that threads share", id: "quern-data-shared", columns: [
    { id: "count", title: "Invalidations", tip: "how often a thread found that another one had written the line since" },
    { id: "most", title: "At most", tip: "how many there could have been, had the two threads taken turns" },
    { id: "kind", title: "Sharing", name: true }, { id: "one", title: "One thread", name: true }, { id: "other", title: "The other", name: true }] });
  await showRows(table, pairs.map((p: Pair): Row => ({ cells: [p.invalidations.toLocaleString("en"), p.most.toLocaleString("en"),
    p.same ? "true" : "false", touchNode(app, p.sides[0], of), touchNode(app, p.sides[1], of)], of: ["", "", "", "", ""] })));
  return h("section", { class: "shared" }, h("h3", {}, "Lines that threads share ", table.csvButton("sharing")),
    h("p", { class: "note" }, data.serialized ? "One thread ran at a time." : "The threads ran at the same time: these numbers depend on timing."), table.element);
}

// ---- All objects ----

function matches(text: string): (o: DataObject) => boolean {
  const [, not, kind, wanted] = /^(!?)(?:(name|file|object):)?(.*)$/s.exec(text)!, re = regex(wanted!), exact = /[A-Z]/.test(wanted!);
  return (o) => {
    const of = kind === "file" ? o.file : kind === "object" ? o.module : o.name;
    return (re ? re.test(of) : (exact ? of : of.toLowerCase()).includes(wanted!)) !== (not === "!");
  };
}

// The key of an object in an order; numbers the largest first. By itself, the page's event if the data has it, else all D1 misses.
function keyOf(app: App, data: Data, id: string): (o: DataObject) => number | string {
  const own = data.events.findIndex(({ name }) => name === app.eventName(app.event)), both = data.files.length > 1;
  const [e, side] = (id || (own < 0 ? "" : own + "." + (both ? Side.Difference : Side.New))).split(".").map(Number);
  if (id === "name") return (o) => o.name;
  if (id === "use") return (o) => o.use[0] ? o.use[0].bytes / o.use[0].lines : -1;
  if (id.startsWith("block")) return (o) => Number(o.blocks[0]?.[Number(id.slice(5))] ?? -1n);
  if (data.events[e!] && side! <= Side.Difference) return (o) => {
    const v = values(o.counts, e!)[side!]!.approx;
    return side === Side.Difference ? Math.abs(v) : v;
  };
  return (o) => both ? Math.abs(weight(data, o.counts) - weight(data, o.counts, 1)) : weight(data, o.counts);
}

class DataView implements Shown {
  readonly element = h("div");
  private table: Table | null = null;
  private picture: Picture | null = null;
  private chosen = "";

  async update(app: App): Promise<boolean> {
    const data = app.data!, key = app.state.ob ?? "", object = data.objects.find((o) => o.key === key);
    this.picture?.end();
    this.picture = this.table = null;
    this.element.replaceChildren();
    if (key && !object) this.element.append(h("p", { class: "note" }, "This report has no such object: the link belongs to another report."));
    if (object) await this.one(app, data, object);
    else await this.all(app, data);
    if (key !== this.chosen && this.element.isConnected) {
      scrollTo(0, 0);
      this.element.closest("main")?.focus({ preventScroll: true });
    }
    this.chosen = key;
    return true;
  }

  private async all(app: App, data: Data): Promise<void> {
    const { element } = this, n = data.objects.length + data.left.n;
    element.append(h("h2", {}, "Data: which objects miss"));
    const said = h("p", { role: "status", class: "count" });
    let test: (o: DataObject) => boolean = () => true, shown = data.objects;
    try {
      if (app.state.q) test = matches(app.state.q);
    } catch (e) {
      said.textContent = (e as Error).message;
    }
    shown = shown.filter(test);
    said.textContent ||= (app.state.q ? shown.length.toLocaleString("en") + " of " : "") + n.toLocaleString("en") + " objects, from " +
      data.files.join(" compared with ");
    const bar = h("div", { class: "bar" }, button(app.state.t ? "Table" : "Treemap", () => app.set({ t: app.state.t ? "" : "1" })));
    if (app.state.p) element.append(h("p", { class: "note" }, "The objects are those of the whole run: their misses are not known by part."));
    const advice = adviceList(app, data);
    if (advice) element.append(advice);
    element.append(bar, said);
    if (app.state.t) this.map(app, data, shown, bar);
    else await this.list(app, data, shown, bar);
    const shared = await sharedLines(app, data, null);
    if (shared) element.append(shared);
  }

  private async list(app: App, data: Data, shown: DataObject[], bar: HTMLElement): Promise<void> {
    const s = app.state.s ?? "", id = s.slice(1), down = s[0] !== "+", key = keyOf(app, data, id);
    const sorted = shown.map((o) => ({ o, k: key(o) })).sort((a, b) => {
      const c = typeof a.k === "string" ? a.k < (b.k as string) ? -1 : a.k > (b.k as string) ? 1 : 0 : a.k - (b.k as number);
      return (down ? -c : c) || a.o.id - b.o.id;
    });
    const count = new Counts(app, data, data.total[0]!, "the program", true);
    const blocks = data.objects.some((o) => o.blocks[0]) ? BLOCKS : [], lines = data.objects.some((o) => o.use[0]);
    const use: Column[] = lines ? [{ id: "use", title: "Used", sort: "use",
      tip: "of each " + data.line + " bytes that were fetched into D1, how many were used before they were evicted" + (data.oneIn > 1 ? ", by a sample of one line in " + data.oneIn : "") }] : [];
    const table = this.table = new Table({
      label: "Objects of the data", id: "quern-data", columns: lay(data, [...count.columns, ...blocks.map((title, i) =>
        ({ id: "block" + i, title, sort: "block" + i })), ...use], [{ id: "name", title: "Object", name: true, sort: "name" },
        { id: "walk", title: "Walked", name: true, tip: "how the steps from one miss to the next go, and the share of which that is so" }]),
      sorted: id ? { id, descending: down } : null,
      onSort: (by) => app.set({ s: (by === id ? (down ? "+" : "-") : by === "name" ? "+" : "-") + by }, true),
    });
    bar.append(table.csvButton("data"));
    this.element.append(table.element);
    await showRows(table, [...sorted.map(({ o }): Row => {
      const row = count.row(o.counts, String(o.id)), w = o.walk[0];
      const sizes = blocks.map((_, i) => o.blocks[0]?.[i]?.toLocaleString("en") ?? null);
      const bytes = use.map(() => o.use[0] ? used(o.use[0]) : null);
      return { cells: lay(data, [...row.cells, ...sizes, ...bytes], [objectNamed(app, o), w ? walkText(w) : null]),
        of: lay(data, [...row.of, ...blocks.map((_, i) => o.blocks[0] ? ["blocks", i, 0, o.id].join(":") : ""), ...use.map(() => "")], ["", ""]) };
    }), ...(app.state.q ? [] : restRow(data, count, data.left, "objects with fewer misses", 1, blocks.length + use.length))]);
  }

  private map(app: App, data: Data, found: DataObject[], bar: HTMLElement): void {
    const e = data.events.findIndex((event) => event.name === (app.state.k ?? app.eventName(app.event))), select = h("select", { "aria-label": "Area" });
    const size = data.objects.some((o) => o.blocks[0]), bytes = size && app.state.k === "bytes";
    select.append(h("option", { value: "" }, "D1 misses"), ...data.events.map(({ name }) => h("option", { value: name }, name)),
      ...(size ? [h("option", { value: "bytes" }, "Bytes at most")] : []));
    select.value = bytes ? "bytes" : e < 0 ? "" : data.events[e]!.name;
    select.addEventListener("change", () => app.set({ k: select.value || "D1" }));
    bar.append(h("label", {}, "Area ", select));
    const both = data.files.length > 1, old = (o: DataObject): number => bytes ? Number(o.blocks[1]?.[2] ?? 0n) : e < 0 ? weight(data, o.counts, 1) : Number(o.counts[1]![e]!);
    const of = (o: DataObject): number => bytes ? Number(o.blocks[0]?.[2] ?? 0n) : e < 0 ? weight(data, o.counts) : Number(o.counts[0]![e]!), scale = bytes || e < 0 ? 1 : data.events[e]!.scale,
      name = bytes ? "the bytes of all allocations" : e < 0 ? weighed(data).map((i) => data.events[i]!.name).join(" + ") : data.events[e]!.name;
    const boxes = data.objects.map((o) => ({ o, v: of(o) })).filter(({ v }) => v > 0).sort((a, b) => b.v - a.v).slice(0, BOXES);
    const all = bytes ? boxes.reduce((sum, { v }) => sum + v, 0) : e < 0 ? weight(data, data.total) : Number(data.total[0]![e]!);
    if (!boxes.length) {
      this.element.append(h("p", { class: "note" }, "No object has a miss in " + name + "."));
      return;
    }
    const width = Math.max(280, (document.getElementById("quern-main")?.clientWidth ?? 1000) - 2);
    const places = squarify(boxes.map(({ v }) => v), boxes.reduce((sum, { v }) => sum + v, 0), width, HIGH);
    const picture = this.picture = new Picture("Treemap of the objects", boxes.map(({ o, v }, i) => ({
      ...places[i]!, parent: 0xffffffff, depth: 0, label: o.name, href: app.href({ v: "data", ob: o.key }), hash: "", func: o.id,
      name: () => o.name + ", " + percent(v, all) + " of " + name + ", exactly " + number({ exact: BigInt(v), approx: v }, scale),
      heat: both ? (v - old(o)) / Math.max(v, old(o)) : Math.sqrt(v / boxes[0]!.v), change: both, hatched: false,
    })), false, HIGH, undefined, zoomOf(app.state));
    if (app.state.q) {
      const mask = new Uint8Array(data.objects.length);
      for (const o of found) mask[o.id] = 1;
      picture.highlight(mask);
    }
    bar.append(...picture.buttons("data"));
    this.element.append(h("p", { class: "note" }, (bytes ? "Areas are bytes of an allocation's blocks when they were most." : "Areas are misses in " + name + ".") + (both ? " Orange: more than before, blue: fewer." : "")), picture.element);
  }

  // ---- One object ----

  private async one(app: App, data: Data, o: DataObject): Promise<void> {
    const { element } = this;
    element.append(h("p", {}, h("a", { href: app.href({ v: "data" }) }, "All objects")), h("h2", {}, h("bdi", {}, o.name)),
      h("p", { class: "where" }, o.file ? o.line ? h("a", { href: app.href({ v: "source", w: o.file, l: String(o.line) }) },
        h("bdi", {}, o.file + ":" + o.line)) : h("bdi", {}, o.file) : null, o.module ? h("bdi", {}, " in " + o.module) : null));
    const advice = adviceList(app, data, o);
    if (advice) element.append(advice);
    const both = data.files.length > 1;
    for (const side of both ? [1, 0] : [0])
      if (o.walk[side]) element.append(h("p", {}, "Walked" + (both ? side ? ", old" : ", new" : "") + ": ", h("b", {}, walkText(o.walk[side]!))));
    for (const side of both ? [1, 0] : [0]) {
      const b = o.blocks[side];
      const n = (i: number): HTMLElement => h("b", { "data-q": ["blocks", i, side, o.id].join(":") }, b![i]!.toLocaleString("en"));
      if (b) element.append(h("p", { class: "allocated" }, "Allocated" + (both ? side ? ", old" : ", new" : "") + ": ", n(0),
        b[0] === 1n ? " block of " : " blocks of ", n(1), " bytes, at most ", n(2), " at a time"));
    }
    for (const side of both ? [1, 0] : [0]) {
      const u = o.use[side];
      if (u) element.append(h("p", { class: "used" }, "Used of each line fetched" + (both ? side ? ", old" : ", new" : "") + ": ", h("b", {}, used(u)),
        " of " + data.line + " bytes, by " + (data.oneIn > 1 ? "a sample of " : "") + u.lines.toLocaleString("en") + (u.lines === 1 ? " line" : " lines")));
    }
    const count = new Counts(app, data, data.total[0]!, "the program", false), total = new Table({ label: "Misses in it", id: "quern-data-total",
      columns: count.columns });
    const row = count.row(o.counts, String(o.id));
    await showRows(total, [{ cells: row.cells, of: row.of }]);
    element.append(h("section", {}, h("h3", {}, "Misses in it, and their shares of the program"), total.element));
    await this.misses(app, data, o);
    await this.places(app, data, o);
    const shared = await sharedLines(app, data, o);
    if (shared) element.append(shared);
  }

  private async misses(app: App, data: Data, o: DataObject): Promise<void> {
    const count = new Counts(app, data, o.counts[0]!, "the object", false);
    const table = this.table = new Table({ label: "Who misses in it", id: "quern-data-misses", columns: lay(data, count.columns,
      [{ id: "func", title: "Function", name: true }, { id: "walk", title: "Walks", name: true }, { id: "line", title: "Line", name: true }]) });
    const names = await namesOf(app, data, o.misses);
    this.element.append(h("section", {}, h("h3", {}, "Who misses in it: " + (o.misses.length + o.moreMisses.n).toLocaleString("en") + " lines ",
      table.csvButton("misses")), table.element));
    await showRows(table, [...o.misses.map((m, i): Row => {
      const r = count.row(m.counts, o.id + "-" + i), f = data.funcs[m.func]!, n = names.get(f.func);
      return { cells: lay(data, r.cells, [n ? app.named(n) : h("bdi", {}, clip(f.name || "???")), m.walk ? walkText(m.walk) : null,
        lineLink(app, m)]), of: lay(data, r.of, ["", "", ""]) };
    }), ...restRow(data, count, o.moreMisses, "lines with fewer misses", 2)]);
  }

  private async places(app: App, data: Data, o: DataObject): Promise<void> {
    const section = h("section", {}, h("h3", {}, data.addresses ? "Where in it" : "Places in it"));
    this.element.append(section);
    if (o.places.length + o.morePlaces.n < 2) {
      section.append(h("p", { class: "note" }, ...(o.places[0]?.name ? ["All misses are in ", h("bdi", {}, clip(o.places[0].name)), "."]
        : ["The profile does not tell the parts of this object apart."])));
      return;
    }
    const all = weight(data, o.counts), most = Math.max(1, ...o.places.map((p) => weight(data, p.counts)));
    const shown = new Set([...o.places].sort((a, b) => weight(data, b.counts) - weight(data, a.counts)).slice(0, PARTS));
    const bar = h("div", { class: "parts", role: "img", "aria-label": "D1 misses by place, in the order of places" });
    for (const p of o.places) {
      const v = weight(data, p.counts);
      if (!shown.has(p) || v <= 0) continue;
      const part = h("span", { class: "heat", title: placeText(data, p) + ": " + percent(v, all) }, h("bdi", {}, placeText(data, p)));
      part.style.flexGrow = String(v / most);
      part.style.setProperty("--heat", String(Math.sqrt(v / most)));
      bar.append(part);
    }
    const count = new Counts(app, data, o.counts[0]!, "the object", false);
    const table = new Table({ label: "Places in it", id: "quern-data-places", columns: lay(data, count.columns, [{ id: "place", title: "Place", name: true }]) });
    section.append(bar, table.element);
    await showRows(table, [...o.places.map((p, i): Row => {
      const r = count.row(p.counts, o.id + "+" + i);
      return { cells: lay<Node | string | null>(data, r.cells, [h("bdi", { title: p.name ? "+0x" + p.at.toString(16) : null }, placeText(data, p))]), of: lay(data, r.of, [""]) };
    }), ...restRow(data, count, o.morePlaces, "places with fewer misses", 0)]);
  }

  focus(): void {
    if (this.table) this.table.focus();
    else this.picture?.focusItem();
  }

  key(key: string): boolean { return this.picture?.press(key) ?? false; }

  end(): void { this.picture?.end(); }
}

function lineLink(app: App, m: Miss): HTMLElement {
  const text = (m.file ? base(m.file) : "???") + ":" + (m.line || "?");
  return m.file && m.line ? h("a", { href: app.href({ v: "source", w: m.file, l: String(m.line) }), title: m.file + ":" + m.line }, h("bdi", {}, clip(text)))
    : h("bdi", {}, clip(text));
}

// By number of the report.
async function namesOf(app: App, data: Data, misses: Miss[]): Promise<Map<number, Name>> {
  const funcs = [...new Set(misses.map((m) => data.funcs[m.func]!.func))].filter((f) => f >= 0);
  const { names } = await app.client.ask("table", Uint32Array.from(funcs), []);
  return new Map(funcs.map((f, i) => [f, names[i]!]));
}

// ---- In other views ----

// Sums by object, most misses first.
function byObject(data: Data, misses: Miss[]): LineData[] {
  const all = new Map<DataObject, LineData>();
  for (const m of misses) {
    const sum = all.get(m.object);
    if (!sum) {
      all.set(m.object, { object: m.object, counts: m.counts.map((side) => [...side]), most: m });
      continue;
    }
    m.counts.forEach((side, s) => side.forEach((v, e) => { sum.counts[s]![e]! += v; }));
    if (weight(data, m.counts) > weight(data, sum.most.counts)) sum.most = m;
  }
  return [...all.values()].sort((a, b) => weight(data, b.counts) - weight(data, a.counts));
}

// The objects that a function misses in; null: none.
export async function dataOfFunction(app: App, f: number): Promise<HTMLElement | null> {
  const { data } = app, all = data ? byObject(data, data.byFunc.get(f) ?? []) : [];
  if (!data || !all.length) return null;
  const whole = data.events.map((_, e) => all.reduce((sum, o) => sum + o.counts[0]![e]!, 0n));
  const count = new Counts(app, data, whole, "the function", false);
  const table = new Table({ label: "Objects that it misses in", id: "quern-function-data", columns: lay(data, count.columns,
    [{ id: "name", title: "Object", name: true }, { id: "walk", title: "Walks", name: true }]) });
  await showRows(table, all.map(({ object, counts, most }): Row => {
    const r = count.row(counts, f + "-" + object.id);
    return { cells: lay(data, r.cells, [objectNamed(app, object), most.walk ? walkText(most.walk) : null]), of: lay(data, r.of, ["", ""]) };
  }));
  return h("section", { "data-part": "data" }, h("h3", {}, "Objects of the data that it misses in: " + all.length + " ", table.csvButton("objects")),
    table.element, data.left.n || data.objects.some((o) => o.moreMisses.n) ? h("p", { class: "note" },
      "Without lines that have so few of an object's misses that they are not in this report.") : null);
}

export interface LineData { object: DataObject; counts: bigint[][]; most: Miss }

// The objects that a line misses in, most misses first.
export function dataOfLine(app: App, file: string, line: number): LineData[] {
  const misses = line ? app.data?.byLine.get(file + ":" + line) : undefined;
  return misses ? byObject(app.data!, misses) : [];
}

// The cells of an event of the page: its count and share, where the data has it.
export function dataValues(app: App, d: LineData, e: number): { v: Value[]; scale: number } | null {
  const at = app.data!.events.findIndex(({ name }) => name === app.eventName(e));
  return at < 0 ? null : { v: values(d.counts, at), scale: app.data!.events[at]!.scale };
}

// "misses in OBJECT: 88.9 % of its D1 misses, stride 4,096, 99 %".
export function dataSaid(app: App, d: LineData): HTMLElement {
  const data = app.data!, share = percent(weight(data, d.counts), weight(data, d.object.counts));
  return h("span", { class: "call" }, "misses in ", objectLink(app, d.object, true), h("span", { class: "where" },
    share + " of its D1 misses" + (d.most.walk ? ", " + walked(d.most.walk) : "")));
}

const FIRST = 5;

// Of the first screen: those with most misses.
export function dataSection(app: App): HTMLElement | null {
  const { data } = app;
  if (!data || !data.objects.length) return null;
  const all = weight(data, data.total), both = data.files.length > 1, table = h("table", { "aria-label": "Objects that miss most" }), body = h("tbody");
  const head = ["D1 misses", "%", ...(both ? ["difference"] : []), "Object"], of = weighed(data), scale = data.events[of[0]!]!.scale;
  table.append(h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col", class: text === "Object" ? "name" : "num" }, text)))), body);
  for (const o of data.objects.slice(0, FIRST)) {
    const sum = o.counts.map((side) => [of.reduce((v, e) => v + side[e]!, 0n)]), v = values(sum, 0);
    if (!v[0]!.approx && !v[1]!.approx) continue;
    body.append(h("tr", {}, h("td", { class: "num", "data-q": "data:d1:0:" + o.id }, number(v[0], scale)), h("td", { class: "num" }, app.shareOf(v[0]!.approx, all)),
      both && h("td", { class: "num" + (v[2]!.approx > 0 ? " more" : v[2]!.approx < 0 ? " less" : ""), "data-q": "data:d1:2:" + o.id },
        app.text(Side.Difference, v, scale)), h("td", { class: "name" }, h("span", { class: "place" }, objectNamed(app, o),
        o.walk[0] ? h("span", { class: "tag" }, walkText(o.walk[0])) : null))));
  }
  return h("section", { class: "most data" }, h("h2", {}, "What to look at: the objects that miss most"), adviceList(app, data), table,
    h("p", {}, h("a", { href: app.href({ v: "data" }) }, "All objects")));
}

async function show(app: App): Promise<Shown> {
  const view = new DataView();
  await view.update(app);
  return view;
}

export const dataView: View = { key: "data", title: "Data", when: (app) => app.ready && app.data !== null, show };
